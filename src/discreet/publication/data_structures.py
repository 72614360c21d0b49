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


@dataclass(frozen=True, kw_only=True)
class SdmxNames:
    """SDMX names of tables, variables and codes that have other names here.

    Args:
        structures: Table → its dataflow, as "AGENCY:NAME(1.0)"; after the table where none is said.
        dimensions: Variable → name of its dimension.
        codes: Variable → code → code of SDMX; those that are not listed stay as they are.
        constant: Further dimensions, each with the code of all figures, such as TIME_PERIOD.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid"}

    structures: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    constant: Mapping[str, str] = field(default_factory=dict)

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
            return TypeAdapter(cls).validate_python(document)
        except ValidationError:
            sections = ", ".join(item.name for item in fields(cls))
            hint = f"write sections with texts in quotes: {sections} (codes.VARIABLE)"
            raise refuse("not a list of names", hint) from None

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
    """What a table of SDMX is spanned by."""

    agency: str  # who maintains it
    name: str
    version: str
    titles: Mapping[str, str]  # language → title
    dimensions: tuple[StructureDimension, ...]  # its dimensions, in their order
    period: str = ""  # the dimension of time; empty without one
    attributes: tuple[str, ...] = ()  # names of what is said beside values

    @property
    def reference(self) -> str:
        """Its name as files say it: "AGENCY:NAME(1.0)"."""
        return f"{self.agency}:{self.name}({self.version})"

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
        dimensions = []
        for item in table.spanning:
            labels = {language: labels_of(item, language) for language in LANGUAGES}
            above = [item.codes[at] if at >= 0 else "" for at in item.parents.tolist()]
            codes = tuple(
                ListedCode(
                    code, above[at], {one: texts[at] or code for one, texts in labels.items()}
                )
                for at, code in enumerate(item.codes)
            )
            titles = {language: item.title(language) for language in LANGUAGES}
            own = StructureDimension(
                name=item.name, titles=titles, codelist=f"CL_{name}_{item.name}", codes=codes
            )
            dimensions.append(own)
        if table.figures:
            figures = [
                ListedCode(figure.name, labels={lang: figure.title(lang) for lang in LANGUAGES})
                for figure in table.figures
            ]
            titles = {"en": "Figure", "de": "Kennzahl"}
            dimensions.append(_listed(name, MEASURE, titles, figures))
        dimensions = [stated.dimension(dimension) for dimension in dimensions]
        for key, code in stated.constant.items():
            constant = ListedCode(code, labels={"en": code})
            dimensions.append(_listed(name, key, {"en": key}, [constant]))
        _check_names(table.name, dimensions)
        time = "TIME_PERIOD"
        return cls(
            agency=agency,
            name=name,
            version=version,
            titles={language: table.title(language) for language in LANGUAGES},
            dimensions=tuple(dimensions),
            period=time if time in stated.constant else "",
        )


def own_reference(table: str) -> str:
    """What a structure is called that is named after its table.

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
    codelist = "" if name == "TIME_PERIOD" else f"CL_{flow}_{name}"
    return StructureDimension(name=name, titles=titles, codelist=codelist, codes=tuple(codes))


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


def read_structures(path: str | os.PathLike[str]) -> list[DataStructure]:
    """The data structures of a message: SDMX-ML 2.1 or 3.0, or SDMX-JSON 2.0.

    Code lists must stand in the same file, as they do with `references=descendants`.

    Raises:
        PublicationError: If it is no such message, or names code lists that it has not.
    """
    from xml.etree import ElementTree

    file = Path(path)

    def refuse(message: str, hint: str = "") -> PublicationError:
        return PublicationError(message, code="structure", where=str(file), hint=hint)

    try:
        content = file.read_bytes()
    except OSError as error:
        raise refuse(f"the structure cannot be read ({error.strerror})") from None
    if len(content) > _LARGEST:
        raise refuse("the structure is larger than 64 MB")
    message = _of_json if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else _of_xml
    try:
        structures = message(content)
    except (ElementTree.ParseError, ValueError, KeyError, TypeError, RecursionError):
        structures = []
    if not structures:
        hint = "use a structure message with its code lists: SDMX-ML or SDMX-JSON"
        raise refuse("no data structure in this file", hint)
    problems = [
        Problem(f"{structure.name}: code list {one.codelist} not found", str(file), "add it")
        for structure in structures
        for one in structure.dimensions
        if one.codelist and not one.codes
    ]
    many = "{} code lists are missing"
    raise_all(PublicationError, problems, code="structure", many=many, where=str(file))
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


def _of_json(content: bytes) -> list[DataStructure]:
    data = json.loads(content)["data"]

    def texts(item: Mapping[str, Any]) -> dict[str, str]:
        return dict(item.get("names") or ({"en": item["name"]} if "name" in item else {}))

    lists = {
        item["id"]: _ordered(
            [
                ListedCode(code["id"], code.get("parent") or "", texts(code))
                for code in item.get("codes", [])
            ]
        )
        for item in data.get("codelists", [])
    }
    concepts = {
        concept["id"]: texts(concept)
        for scheme in data.get("conceptSchemes", [])
        for concept in scheme.get("concepts", [])
    }
    structures = []
    for item in data.get("dataStructures", []):
        parts = item["dataStructureComponents"]
        listed = parts["dimensionList"]
        time = listed.get("timeDimension") or listed.get("timeDimensions") or []
        time = time if isinstance(time, list) else [time]
        dimensions = []
        for one in (*(listed.get("dimensions") or []), *time):
            local = one.get("localRepresentation") or {}
            codelist = _target(local.get("enumeration") or "")
            concept = _item(one.get("conceptIdentity") or "")
            dimensions.append(_dimension(one["id"], concept, codelist, concepts, lists))
        attributes = (parts.get("attributeList") or {}).get("attributes") or []
        structures.append(
            DataStructure(
                agency=item["agencyID"],
                name=item["id"],
                version=str(item["version"]),
                titles=texts(item),
                dimensions=tuple(dimensions),
                period=time[0]["id"] if time else "",
                attributes=tuple(one["id"] for one in attributes),
            )
        )
    return structures


def _dimension(
    name: str,
    concept: str,
    codelist: str,
    concepts: Mapping[str, Mapping[str, str]],
    lists: Mapping[str, tuple[ListedCode, ...]],
) -> StructureDimension:
    titles = concepts.get(concept) or {"en": name}
    codes = lists.get(codelist, ())
    return StructureDimension(name=name, titles=titles, codelist=codelist, codes=codes)


def _target(reference: str) -> str:
    """The name of what a URN means, without agency and version."""
    return reference.rpartition(":")[2].partition("(")[0]


def _item(reference: str) -> str:
    return reference.rpartition(").")[2]


def _of_xml(content: bytes) -> list[DataStructure]:
    from xml.etree import ElementTree

    # Entities can be made to grow without end; messages of SDMX need none.
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError("entities are not read")
    root = ElementTree.fromstring(content)  # noqa: S314
    lists = {}
    for item in _deep(root, "Codelist"):
        codes = []
        for code in (part for part in item if _kind(part) == "Code"):
            # The parent, which 2.1 refers to and 3.0 names.
            above = next((part for part in code if _kind(part) == "Parent"), None)
            codes.append(ListedCode(code.attrib["id"], _referred(above, str), _names(code)))
        if codes:
            lists[item.attrib["id"]] = _ordered(codes)
    concepts = {item.attrib["id"]: _names(item) for item in _deep(root, "Concept")}
    structures = []
    for item in _deep(root, "DataStructure"):
        listed = list(_deep(item, "DimensionList"))
        if not listed:
            continue
        dimensions, period = [], ""
        (ordered,) = listed
        for one in ordered:
            if _kind(one) in ("Dimension", "TimeDimension", "MeasureDimension"):
                concept = _referred(next(_deep(one, "ConceptIdentity"), None), _item)
                name = one.attrib.get("id") or concept
                period = name if _kind(one) == "TimeDimension" else period
                codelist = _referred(next(_deep(one, "Enumeration"), None), _target)
                dimensions.append(_dimension(name, concept, codelist, concepts, lists))
        attributes = [one.attrib for one in _deep(item, "Attribute")]
        structures.append(
            DataStructure(
                agency=item.attrib["agencyID"],
                name=item.attrib["id"],
                version=item.attrib.get("version", "1.0"),
                titles=_names(item),
                dimensions=tuple(dimensions),
                period=period,
                attributes=tuple(own["id"] for own in attributes if "id" in own),
            )
        )
    return structures


def _kind(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _deep(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (item for item in root.iter() if _kind(item) == name)


def _names(element: ElementTree.Element) -> dict[str, str]:
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    names = (part for part in element if _kind(part) == "Name")
    return {part.attrib.get(language, "en"): part.text or "" for part in names}


def _referred(element: ElementTree.Element | None, of_urn: Callable[[str], str]) -> str:
    """What an element refers to: by a Ref in 2.1, by a URN or name in 3.0; empty for none."""
    if element is None:
        return ""
    inner = next(_deep(element, "Ref"), None)
    return inner.attrib["id"] if inner is not None else of_urn((element.text or "").strip())
