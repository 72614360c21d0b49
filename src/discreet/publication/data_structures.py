"""Data structures of SDMX: the dimensions of a table and their code lists, as exchanged.

In: a `ProtectedTable`, or a structure message that another office made. Out: a `DataStructure`:
names, code lists with their hierarchy, labels in all languages. Public: no figure stands here.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import Problem, PublicationError, raise_all
from discreet.publication.formats import REFERENCE
from discreet.publication.time_ranges import TimeRange, days_of
from discreet.publication.vocabulary import LANGUAGES, labels_of

if TYPE_CHECKING:
    from xml.etree import ElementTree

    import polars as pl

    from discreet.tables import ProtectedTable

#: The dimension of tables with several figures.
MEASURE = "MEASURE"
#: What names of variables, and codes, are made of.
_NAME, _CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*"), re.compile(r"[A-Za-z0-9_@$-]+")
#: Columns that are no dimensions.
_TAKEN = (
    *("STRUCTURE", "STRUCTURE_ID", "ACTION", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"),
    *("DECIMALS", "UNIT_MEASURE", "COMMENT_OBS", "COMMENT_DSET"),
)
_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class ListedCode:
    """A code of a code list: the code above it, empty for none, and language → label."""

    code: str
    above: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StructureDimension:
    """A dimension with its code list."""

    name: str
    titles: Mapping[str, str]  # language → heading
    codelist: str  # name of its code list; empty for the period, or free text
    codes: tuple[ListedCode, ...]  # the codes, each behind the one above it
    allowed: frozenset[str] = frozenset()  # the codes to be sent; all if empty

    @property
    def sent(self) -> tuple[str, ...]:
        """The codes to be sent, in their order."""
        codes = (item.code for item in self.codes)
        return tuple(code for code in codes if not self.allowed or code in self.allowed)


@dataclass(frozen=True, kw_only=True, slots=True)
class StructureAttribute:
    """An attribute of values and its codes; none for free text."""

    name: str
    required: bool = False
    codes: frozenset[str] = frozenset()
    whole: bool = False  # it is said once, of all values
    group: str = ""  # the group of dimensions that it is said of once; empty for none


@dataclass(frozen=True, slots=True)
class KeyRegion:
    """Cells that a constraint allows or excludes: by the codes of some dimensions."""

    codes: Mapping[str, frozenset[str]]
    included: bool = True
    times: Mapping[str, TimeRange] = field(default_factory=dict)  # and by periods


@dataclass(frozen=True, kw_only=True)
class SdmxNames:
    """SDMX names of tables, variables and codes that have other names here.

    Args:
        structures: Table → its dataflow, as "AGENCY:NAME(1.0)"; after the table where none is said.
        dimensions: Variable → name of its dimension.
        codes: Variable → code → code of SDMX; those that are not listed stay as they are.
        constant: Further dimensions and attributes, each with the code of all figures, such as
            TIME_PERIOD.
        messages: Structure messages of the receiver; the tables are held against them.
        roots: Dimension → the code that stands for all; only it and those below it are sent.
        national: Structures of which the codes of `roots` are sent only.
        adjustment: Dimension → its adjustment category: it and all above it are estimates.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid"}

    structures: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    constant: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    roots: Mapping[str, str] = field(default_factory=dict)
    national: tuple[str, ...] = ()
    adjustment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is about structures of a receiver without any."""
        if not self.messages and (self.roots or self.national or self.adjustment):
            message, hint = "names refer to missing structures", "add messages"
            raise PublicationError(message, code="names", where="messages", hint=hint)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SdmxNames:
        """Names from a TOML file with these sections.

        Raises:
            PublicationError: If it has other sections, or anything but texts.
        """
        from pydantic import TypeAdapter, ValidationError

        def refuse(message: str, hint: str) -> PublicationError:
            return PublicationError(message, code="names", where=os.fspath(path), hint=hint)

        try:
            document = tomllib.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            raise refuse("the names cannot be read", "a TOML file in UTF-8") from None
        try:
            names = TypeAdapter(cls).validate_python(document)
            beside = tuple(str(Path(path).parent / file) for file in names.messages)
            return replace(names, messages=beside)
        except ValidationError:
            lists = ("messages", "national")
            sections = ", ".join(item.name for item in fields(cls) if item.name not in lists)
            hint = (
                f"write sections with texts in quotes: {sections} (codes.VARIABLE); "
                f"above them lists of texts: {', '.join(lists)}"
            )
            raise refuse("not a list of names", hint) from None

    def check(self, structures: Sequence[DataStructure]) -> None:
        """Refuse names that the structures of the receiver do not have.

        Raises:
            PublicationError: Lists all of them.
        """
        codes: dict[str, set[str]] = {}
        for item in (item for one in structures for item in one.dimensions):
            codes.setdefault(item.name, set()).update(code.code for code in item.codes)
        every = set(codes) | {item.name for one in structures for item in one.attributes}
        known = [one.name for one in structures]
        stated = [
            (section, f"{name}={code}", code in codes.get(name, ()))
            for section, own in (("roots", self.roots), ("adjustment", self.adjustment))
            for name, code in own.items()
        ]
        stated += [("constant", name, name in every) for name in self.constant]
        stated += [("national", name, name in known) for name in self.national]
        problems = [
            Problem(f"{text!r} is not in the structures", section, "correct it, or remove it")
            for section, text, there in stated
            if not there
        ]
        if self.national and not self.roots:
            hint = "add the code of the country to [roots], such as GEO"
            problems.append(Problem("national structures need a root", "roots", hint))
        many = "{} names are unknown"
        raise_all(PublicationError, problems, code="names", many=many, where="names")

    def lines(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Lines of observations by the names of SDMX."""
        import polars as pl

        frame = lines.with_columns(
            pl.col(name).replace(codes) for name, codes in self.codes.items() if name in lines
        )
        return frame.rename(self.dimensions, strict=False).with_columns(
            pl.lit(code).alias(name) for name, code in self.constant.items()
        )

    def dimension(self, dimension: StructureDimension) -> StructureDimension:
        """A dimension by the names of SDMX."""
        known = self.codes.get(dimension.name, {})
        codes = tuple(
            ListedCode(known.get(one.code, one.code), known.get(one.above, one.above), one.labels)
            for one in dimension.codes
        )
        return replace(
            dimension, name=self.dimensions.get(dimension.name, dimension.name), codes=codes
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DataStructure:
    """Structure of an SDMX table."""

    agency: str  # who maintains it
    name: str
    version: str
    titles: Mapping[str, str]  # language → title
    dimensions: tuple[StructureDimension, ...]  # its dimensions, in their order
    period: str = ""  # the dimension of time; empty without one
    attributes: tuple[StructureAttribute, ...] = ()  # what is said beside values
    constraints: tuple[tuple[KeyRegion, ...], ...] = ()  # all of them hold
    sdmx: str = "2.1"  # the version of SDMX that it is written in
    #: Group → its dimensions, of which attributes are said once
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """Its name as files say it: "AGENCY:NAME(1.0)"."""
        return f"{self.agency}:{self.name}({self.version})"

    def within(self, names: SdmxNames) -> DataStructure:
        """The structure with the codes to be sent: those of roots and constraints."""

        def restricted(name: str, codes: frozenset[str]) -> frozenset[str]:
            for regions in self.constraints:
                inside = [one.codes.get(name, codes) for one in regions if one.included]
                codes &= frozenset().union(*inside) if inside else codes
                for one in regions:
                    alone = not one.included and set(one.codes) == {name} and not one.times
                    codes -= one.codes[name] if alone else frozenset()
            return codes

        dimensions = []
        for item in self.dimensions:
            codes = frozenset(code.code for code in item.codes)
            if root := names.roots.get(item.name):
                kept = {root} | _below(item.codes, root)
                cut = (one for one in item.codes if one.code in kept)
                top = (replace(one, above="") if one.code == root else one for one in cut)
                item = replace(item, codes=tuple(top))
                codes &= {root} if self.name in names.national else kept
            allowed = restricted(item.name, codes)
            if item.codes and not allowed:
                message = f"no code of {item.name} is left by the constraints and the root"
                hint = "correct [roots], or leave a constraint out"
                raise PublicationError(message, code="structure", where=self.name, hint=hint)
            dimensions.append(replace(item, allowed=allowed))
        attributes = [
            replace(one, codes=restricted(one.name, one.codes)) for one in self.attributes
        ]
        return replace(self, dimensions=tuple(dimensions), attributes=tuple(attributes))

    def allowed(self) -> pl.Expr:
        """Which lines have codes to be sent, and lie within all constraints."""
        import polars as pl

        listed = {item.name: [code.code for code in item.codes] for item in self.dimensions}

        def has(region: KeyRegion) -> pl.Expr:
            within = {name: list(filter(one.holds, listed[name]))
                      for name, one in region.times.items()}  # fmt: skip
            chosen = [*((name, sorted(own)) for name, own in region.codes.items()), *within.items()]
            parts = [pl.col(name).is_in(own) for name, own in chosen if name in listed]
            return pl.all_horizontal(pl.lit(True), *parts)

        allowed = {item.name: item.allowed for item in self.dimensions if item.allowed}
        rules = [has(KeyRegion(allowed))]
        for regions in self.constraints:
            rules += [~has(one) for one in regions if not one.included]
            inside = [has(one) for one in regions if one.included]
            rules += [pl.any_horizontal(inside)] if inside else []
        return pl.all_horizontal(rules)

    @classmethod
    def of(cls, table: ProtectedTable, names: SdmxNames | None = None) -> DataStructure:
        """The structure of a table.

        Raises:
            PublicationError: If a name or code has signs that SDMX does not know.

        >>> from discreet.publication.examples import census_example
        >>> found = DataStructure.of(census_example(), SdmxNames(constant={"TIME_PERIOD": "2026"}))
        >>> found.reference, [each.name for each in found.dimensions], found.period
        ('DISCREET:T1(1.0)', ['sex', 'age', 'TIME_PERIOD'], 'TIME_PERIOD')
        """
        stated = names or SdmxNames()
        reference = stated.structures.get(table.name) or own_reference(table.name)
        agency, name, version = parsed_reference(reference)
        time = "TIME_PERIOD"
        dimensions = [stated.dimension(one) for one in structure_dimensions(table, name)]
        for key, code in stated.constant.items():
            constant = ListedCode(code, labels={"en": code})
            one = _listed(name, key, {"en": key}, [constant])
            dimensions.append(replace(one, codelist="") if key == time else one)
        _check_names(table.name, dimensions)
        return cls(
            agency=agency,
            name=name,
            version=version,
            titles={language: table.title(language) for language in LANGUAGES},
            dimensions=tuple(dimensions),
            period=time if time in stated.constant else "",
        )


def structure_dimensions(table: ProtectedTable, flow: str) -> list[StructureDimension]:
    """The dimensions of a table with its own names and codes, for a dataflow."""
    dimensions = []
    for item in table.spanning:
        labels = {language: labels_of(item, language) for language in LANGUAGES}
        above = [item.codes[at] if at >= 0 else "" for at in item.parents.tolist()]
        codes = [
            ListedCode(code, above[at], {one: texts[at] or code for one, texts in labels.items()})
            for at, code in enumerate(item.codes)
        ]
        titles = {language: item.title(language) for language in LANGUAGES}
        dimensions.append(_listed(flow, item.name, titles, codes))
    if table.figures:
        figures = [
            ListedCode(figure.name, labels={lang: figure.title(lang) for lang in LANGUAGES})
            for figure in table.figures
        ]
        titles = {"en": "Figure", "de": "Kennzahl"}
        dimensions.append(_listed(flow, MEASURE, titles, figures))
    return dimensions


def own_reference(table: str) -> str:
    """Reference of a structure named after its table.

    >>> own_reference("people.by sex")
    'DISCREET:people_by_sex(1.0)'
    """
    return f"DISCREET:{re.sub(r'[^A-Za-z0-9_@$-]', '_', table)}(1.0)"


def parsed_reference(text: str) -> tuple[str, str, str]:
    """Agency, name and version.

    >>> parsed_reference("ESTAT:CENSUS_HC(2.0)")
    ('ESTAT', 'CENSUS_HC', '2.0')
    """
    match = REFERENCE.fullmatch(text)
    if match is None:
        message, hint = "not the name of a structure", 'such as "OFFICE:POPULATION(1.0)"'
        raise PublicationError(message, code="structure", where=text[:80], hint=hint)
    return match[1], match[2], match[3]


def _listed(
    flow: str, name: str, titles: Mapping[str, str], codes: Sequence[ListedCode]
) -> StructureDimension:
    return StructureDimension(
        name=name, titles=titles, codelist=f"CL_{flow}_{name}", codes=tuple(codes)
    )


def _check_names(table: str, dimensions: Sequence[StructureDimension]) -> None:
    """Refuse names and codes that no message of SDMX can hold; they are not changed silently."""
    problems = []
    names = [item.name for item in dimensions]
    for dimension in dimensions:
        codes = [code.code for code in dimension.codes]
        if names.count(dimension.name) > 1 or dimension.name in _TAKEN:
            message = f"{dimension.name} would have two meanings"
            problems.append(Problem(message, table, "choose another name"))
        if len(set(codes)) < len(codes):
            message = f"two codes of {dimension.name} would become equal"
            problems.append(Problem(message, table, "give names to both"))
        if not _NAME.fullmatch(dimension.name):
            message = f"{dimension.name!r} cannot be the name of a dimension"
            problems.append(Problem(message, table, "use letters, digits, _ and - after a letter"))
        bad = [code for code in codes if not _CODE.fullmatch(code)]
        if bad:
            message = (
                f"{len(bad):,} codes of {dimension.name} are not valid in SDMX, such as {bad[0]!r}"
            )
            hint = "give SDMX names with letters, digits, _, @, $ and -"
            problems.append(Problem(message, table, hint))
    many = "{} names are not valid in SDMX"
    raise_all(PublicationError, problems, code="structure", many=many, where=table)


# -- structure messages of others -------------------------------------------------


def read_structures(*paths: str | os.PathLike[str]) -> list[DataStructure]:
    """The data structures of messages: SDMX-ML 2.1 or 3.0, or SDMX-JSON.

    What one file refers to may stand in another: code lists, hierarchies, constraints. Each
    dataflow becomes a structure of its own name; structures without dataflows keep theirs.

    Raises:
        PublicationError: If a file is no such message, or if the files contradict each other or
            name code lists that none of them has.
    """
    message = _Messages()
    for path in paths:
        message.add(Path(path))
    where = ", ".join(map(str, paths))
    try:
        structures = message.structures()
    except (ValueError, KeyError, TypeError):
        structures = []
    if not structures and not message.problems:
        hint = "use a structure message with its code lists: SDMX-ML or SDMX-JSON"
        text = "no data structure in this file"
        raise PublicationError(text, code="structure", where=where, hint=hint)
    problems = message.problems + [
        Problem(f"{structure.name}: code list {one.codelist} not found", where, "add it")
        for structure in structures
        for one in structure.dimensions
        if one.codelist and not one.codes
    ]
    many = "{} mistakes in structures"
    raise_all(PublicationError, problems, code="structure", many=many, where=where)
    return structures


def _ordered(codes: Sequence[ListedCode]) -> tuple[ListedCode, ...]:
    """Codes in the order of a tree, each behind the one above it; nothing is left out."""
    below: dict[str, list[ListedCode]] = {}
    known = {item.code for item in codes}
    if len(known) < len(codes):
        raise ValueError("a code occurs twice")
    for code in codes:
        below.setdefault(code.above if code.above in known else "", []).append(code)
    ordered: list[ListedCode] = []
    waiting = below.get("", [])[::-1]
    while waiting:
        code = waiting.pop()
        ordered.append(replace(code, above=code.above if code.above in known else ""))
        waiting += below.get(code.code, [])[::-1]
    if len(ordered) < len(codes):
        raise ValueError("the hierarchy of codes has a circle")
    return tuple(ordered)


class _Messages:
    """What structure messages hold together, by the names of its parts."""

    def __init__(self) -> None:
        self.roots: list[tuple[ElementTree.Element, str]] = []
        self.problems: list[Problem] = []
        self.lists: dict[str, tuple[ListedCode, ...]] = {}
        self.limits: list[ElementTree.Element] = []  # constraints

    def add(self, file: Path) -> None:
        """Read one file."""
        from xml.etree import ElementTree

        def refuse(message: str, hint: str = "") -> PublicationError:
            return PublicationError(message, code="structure", where=str(file), hint=hint)

        try:
            content = file.read_bytes()
        except OSError as error:
            raise refuse(f"the structure cannot be read ({error.strerror})") from None
        if len(content) > _LARGEST:
            raise refuse("the structure is larger than 64 MB")
        try:
            if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
                self.roots.append((_element("Structures", json.loads(content)["data"]), "3.0"))
                return
            # Entities can be made to grow without end; messages of SDMX need none.
            if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
                raise ValueError("entities are not read")
            root = ElementTree.fromstring(content)  # noqa: S314
            self.roots.append((root, "2.1" if "/v2_1/" in root.tag else "3.0"))
        except (ElementTree.ParseError, ValueError, KeyError, TypeError, RecursionError):
            hint = "use a structure message with its code lists: SDMX-ML or SDMX-JSON"
            raise refuse("no data structure in this file", hint) from None

    def structures(self) -> list[DataStructure]:
        """Each structure or dataflow, with the constraints on it."""
        self._read_lists()
        concepts = {
            item.attrib["id"]: item for item in self._each("Concept") if "id" in item.attrib
        }
        found: dict[str, DataStructure] = {}
        for root, sdmx in self.roots:
            for item in _deep(root, "DataStructure"):
                if next(_deep(item, "DimensionList"), None) is not None:
                    self._put(found, replace(self._structure(item, concepts), sdmx=sdmx))
        self.limits += [*self._each("ContentConstraint"), *self._each("DataConstraint")]
        flows: dict[str, DataStructure] = {}
        used = set()
        for item in self._each("Dataflow"):
            name = _referred(_part(item, "Structure"), _target)
            if name in found:
                used.add(name)
                titles = _names(item) or found[name].titles
                self._put(flows, replace(found[name], **_identity(item), titles=titles))
            elif name:
                self._wrong(f"dataflow {item.attrib['id']}: structure {name} not found", "add it")
        for name, structure in found.items():
            if name not in used:
                self._put(flows, structure)
            for flow in [one for one in flows.values() if one.dimensions is structure.dimensions]:
                names = (flow.name, name)
                constraints = (*structure.constraints, *self._constraints(flow, names))
                flows[flow.name] = replace(flow, constraints=constraints)
        return list(flows.values())

    def _each(self, kind: str) -> Iterator[ElementTree.Element]:
        return (item for root, _ in self.roots for item in _deep(root, kind))

    def _wrong(self, message: str, hint: str = "") -> None:
        self.problems.append(Problem(message, "", hint))

    def _put(self, there: dict[str, DataStructure], structure: DataStructure) -> None:
        if there.setdefault(structure.name, structure) != structure:
            hint = "leave one of them out"
            self._wrong(f"{structure.name} occurs twice, with different contents", hint)

    def _read_lists(self) -> None:
        """Code lists, with the codes above those that only a hierarchy places."""
        above: dict[tuple[str, str], str] = {}
        for item in self._each("HierarchicalCode"):
            parent = self._of_hierarchy(item)
            for part in item:
                if _kind(part) == "HierarchicalCode":
                    key = self._of_hierarchy(part)
                    if above.setdefault(key, parent[1]) != parent[1]:
                        hint = "leave one of the hierarchies out"
                        self._wrong(f"{key[0]}: hierarchies place {key[1]} differently", hint)
        for item in self._each("Codelist"):
            name, codes = item.attrib.get("id", ""), []
            if _part(item, "CodelistExtension") is not None:
                self._wrong(f"{name} extends another code list", "write all of its codes")
            for code in (part for part in item if _kind(part) == "Code"):
                # The parent, which 2.1 refers to and 3.0 names.
                own = code.attrib["id"]
                over = _referred(_part(code, "Parent"), str) or above.get((name, own), "")
                codes.append(ListedCode(own, over, _names(code)))
            if codes:
                try:
                    ordered = _ordered(codes)
                except ValueError as error:
                    self._wrong(f"{name}: {error}")
                    continue
                if self.lists.setdefault(name, ordered) != ordered:
                    hint = "leave one of them out"
                    self._wrong(f"{name} occurs twice, with different codes", hint)

    def _of_hierarchy(self, item: ElementTree.Element) -> tuple[str, str]:
        """Code list and code that a hierarchy means."""
        code = _part(item, "Code")
        inner = None if code is None else next(_deep(code, "Ref"), None)
        if inner is not None:
            return inner.attrib.get("maintainableParentID", ""), inner.attrib["id"]
        urn = "" if code is None else (code.text or "").strip()
        return _target(urn), _item(urn)

    def _structure(
        self, item: ElementTree.Element, concepts: Mapping[str, ElementTree.Element]
    ) -> DataStructure:
        dimensions, attributes, period = [], [], ""

        def component(one: ElementTree.Element) -> tuple[str, str, str]:
            """Name, concept and code list; the list may stand at the concept."""
            concept = _referred(next(_deep(one, "ConceptIdentity"), None), _item)
            codelist = _referred(next(_deep(one, "Enumeration"), None), _target)
            if not codelist and _part(one, "LocalRepresentation") is None and concept in concepts:
                enumeration = next(_deep(concepts[concept], "Enumeration"), None)
                codelist = _referred(enumeration, _target)
            return one.attrib.get("id") or concept, concept, codelist

        times: dict[str, TimeRange] = {}
        for one in next(_deep(item, "DimensionList")):
            for form in _deep(one, "TextFormat") if _kind(one) == "TimeDimension" else ():
                edges = {edge: (text, True) for edge in ("start", "end")
                         if (text := form.attrib.get(f"{edge}Time"))}  # fmt: skip
                times |= {component(one)[0]: TimeRange(**edges)} if edges else {}
            if _kind(one) in ("Dimension", "TimeDimension", "MeasureDimension"):
                name, concept, codelist = component(one)
                period = name if _kind(one) == "TimeDimension" else period
                titles = _names(concepts[concept]) if concept in concepts else {}
                dimensions.append(
                    StructureDimension(
                        name=name,
                        titles=titles or {"en": name},
                        codelist=codelist,
                        codes=self.lists.get(codelist, ()),
                    )
                )
        for one in _deep(item, "Attribute"):
            name, _, codelist = component(one)
            required = one.attrib.get("assignmentStatus") or one.attrib.get("usage") or ""
            related = next(_deep(one, "AttributeRelationship"), ())
            attached = next((part for part in related if _kind(part) == "Group"), None)
            attributes.append(
                StructureAttribute(
                    name=name,
                    required=required.lower() == "mandatory",
                    codes=frozenset(code.code for code in self.lists.get(codelist, ())),
                    whole=any(_kind(part) in ("None", "Dataflow") for part in related),
                    group=_referred(attached, _item),
                )
            )
        measures = [
            one.attrib.get("id", "OBS_VALUE")
            for one in next(_deep(item, "MeasureList"), ())
            if _kind(one) in ("Measure", "PrimaryMeasure")
        ]
        if measures and measures != ["OBS_VALUE"]:
            what = f"{item.attrib['id']} has the measures {', '.join(measures)}"
            self._wrong(what, "only structures with one measure, OBS_VALUE, are read")
        return DataStructure(
            **_identity(item),
            titles=_names(item),
            dimensions=tuple(dimensions),
            period=period,
            attributes=tuple(attributes),
            constraints=((KeyRegion({}, times=times),),) if times else (),
            groups={
                one.attrib["id"]: tuple(
                    _referred(part, _item) for part in _deep(one, "DimensionReference")
                )
                for one in _deep(item, "Group")
                if "id" in one.attrib and next(_deep(one, "GroupDimension"), None) is not None
            },
        )

    def _constraints(
        self, structure: DataStructure, names: Sequence[str]
    ) -> Iterator[tuple[KeyRegion, ...]]:
        """The regions of each constraint on a dataflow or its structure; not of actual content."""
        listed = {item.name: item.codes for item in structure.dimensions}
        listed |= {item.name: tuple(map(ListedCode, item.codes)) for item in structure.attributes}
        for item in self.limits:
            attached = next(_deep(item, "ConstraintAttachment"), None)
            targets = () if attached is None else attached
            kinds = ("Dataflow", "DataStructure")
            on = {_referred(one, _target) for one in targets if _kind(one) in kinds}
            role = item.attrib.get("role") or item.attrib.get("type") or "Allowed"
            if on & set(names) and role.lower() == "allowed":
                regions = [
                    *((one, _stated(one, "include")) for one in _deep(item, "CubeRegion")),
                    *(
                        (key, _stated(keys, "isIncluded"))
                        for keys in _deep(item, "DataKeySet")
                        for key in _deep(keys, "Key")
                    ),
                ]
                yield tuple(self._region(one, included, listed) for one, included in regions)

    def _region(
        self,
        region: ElementTree.Element,
        included: bool,
        listed: Mapping[str, tuple[ListedCode, ...]],
    ) -> KeyRegion:
        codes: dict[str, frozenset[str]] = {}
        times: dict[str, TimeRange] = {}
        for part in region:
            if "id" not in part.attrib:
                continue
            name, chosen = part.attrib["id"], set[str]()
            if name not in listed:
                self._wrong(
                    f"a constraint refers to {name}, which its structure lacks", "remove it"
                )
            if (limits := next(_deep(part, "TimeRange"), None)) is not None:
                times[name] = self._time_range(name, limits)
                continue
            for value in _deep(part, "Value"):
                code, cascade = (value.text or "").strip(), value.attrib.get("cascadeValues", "")
                chosen |= {code} if cascade != "excluderoot" else set()
                if cascade in ("true", "excluderoot"):
                    chosen |= _below(listed.get(name, ()), code)
            if not _stated(part, "include"):
                chosen = {code.code for code in listed.get(name, ())} - chosen
            codes[name] = codes.get(name, frozenset()) | chosen
        return KeyRegion(codes, included, times)

    def _time_range(self, name: str, limits: ElementTree.Element) -> TimeRange:
        """The periods of a range; one that cannot be read is an error."""
        edges: dict[str, tuple[str, bool]] = {}
        for one in limits:
            period = (one.text or "").strip() or one.attrib.get("period", "")
            if _kind(one) in _EDGES and days_of(period) is not None:
                included = one.attrib.get("isInclusive", "true").lower() not in ("false", "0")
                edges[_EDGES[_kind(one)]] = period, included
        if not edges or len(edges) < len(limits):
            self._wrong(f"a time range for {name} has no period", "write periods such as 2021")
        return TimeRange(**edges)


#: Elements of time ranges, and which end they say.
_EDGES = {"BeforePeriod": "end", "EndPeriod": "end", "AfterPeriod": "start", "StartPeriod": "start"}


def _below(codes: Sequence[ListedCode], code: str) -> set[str]:
    """All codes below one; codes stand behind those above them.

    >>> sorted(_below([ListedCode("A"), ListedCode("B", "A"), ListedCode("C", "B")], "A"))
    ['B', 'C']
    """
    found = {code}
    for one in codes:
        found |= {one.code} if one.above in found else set()
    return found - {code}


def _element(kind: str, content: Any) -> ElementTree.Element:
    """What SDMX-JSON says, as an element of SDMX-ML 3.0."""
    from xml.etree import ElementTree

    element = ElementTree.Element(kind)
    if not isinstance(content, Mapping):
        element.text = str(content)
        return element
    texts = content.get("names") or ({"en": content["name"]} if "name" in content else {})
    for language, text in texts.items():
        ElementTree.SubElement(element, "Name", {_LANGUAGE: language}).text = text
    for key, inner in content.items():
        if key in ("name", "names"):
            continue
        if key == "value":
            element.text = str(inner)
        one = key[0].upper() + key[1:]
        if isinstance(inner, list):
            one = f"{one[:-3]}y" if one.endswith("ies") else one.removesuffix("s")
        elif not isinstance(inner, Mapping):
            element.set(key, str(inner).lower() if isinstance(inner, bool) else str(inner))
        element.extend(_element(one, x) for x in (inner if isinstance(inner, list) else [inner]))
    return element


_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def _identity(item: ElementTree.Element) -> dict[str, Any]:
    about = item.attrib
    version = about.get("version", "1.0")
    return {"agency": about["agencyID"], "name": about["id"], "version": version}


def _stated(element: ElementTree.Element, name: str) -> bool:
    return element.attrib.get(name, "true").lower() != "false"


def _target(reference: str) -> str:
    """The name of what a URN means, without agency and version."""
    return reference.rpartition(":")[2].partition("(")[0]


def _item(reference: str) -> str:
    return reference.rpartition(").")[2]


def _kind(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _deep(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (item for item in root.iter() if _kind(item) == name)


def _part(element: ElementTree.Element, name: str) -> ElementTree.Element | None:
    return next((part for part in element if _kind(part) == name), None)


def _names(element: ElementTree.Element) -> dict[str, str]:
    names = (part for part in element if _kind(part) == "Name")
    return {part.attrib.get(_LANGUAGE, "en"): part.text or "" for part in names}


def _referred(element: ElementTree.Element | None, of_urn: Callable[[str], str]) -> str:
    """What an element refers to: by a Ref in 2.1, by a URN or name in 3.0; empty for none."""
    if element is None:
        return ""
    inner = next(_deep(element, "Ref"), None)
    return inner.attrib["id"] if inner is not None else of_urn((element.text or "").strip())
