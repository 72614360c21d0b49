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
from typing import TYPE_CHECKING, Any

from discreet.errors import Problem, PublicationError, raise_all
from discreet.publication.vocabulary import LANGUAGES, labels_of

if TYPE_CHECKING:
    from xml.etree import ElementTree

    import polars as pl

    from discreet.tables import ProtectedTable

#: The dimension of tables with several figures.
MEASURE = "MEASURE"
#: What names of variables, and codes, are made of.
_NAME, _CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*"), re.compile(r"[A-Za-z0-9_@$-]+")
#: How files name a structure: agency, name and version.
REFERENCE = re.compile(
    r"([A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*):([\w@$-]+)\((\d+(?:\.\d+)*)\)", re.ASCII
)
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
    """What SDMX calls tables, variables and codes that have other names here.

    Args:
        structures: Table → its dataflow, as "AGENCY:NAME(1.0)"; after the table where none is said.
        dimensions: Variable → name of its dimension.
        codes: Variable → code → code of SDMX; those that are not listed stay as they are.
        constant: Further dimensions, each with the code of all figures, such as TIME_PERIOD.
    """

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
        file = Path(path)
        try:
            document = tomllib.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            what, hint = "the names cannot be read", "a TOML file in UTF-8"
            raise PublicationError(what, code="names", where=str(file), hint=hint) from None
        known = [item.name for item in fields(cls)]
        sound = set(document) <= set(known) and all(
            isinstance(one, dict)
            and all(
                isinstance(item, dict) and all(isinstance(code, str) for code in item.values())
                if name == "codes"
                else isinstance(item, str)
                for item in one.values()
            )
            for name, one in document.items()
        )
        if not sound:
            what = "this is no list of names"
            hint = f"sections with texts in quotes: {', '.join(known)} (codes.VARIABLE)"
            raise PublicationError(what, code="names", where=str(file), hint=hint)
        return cls(**document)

    def lines(self, lines: pl.DataFrame) -> pl.DataFrame:
        """Lines of observations by the names of SDMX."""
        import polars as pl

        frame = lines.with_columns(
            pl.col(name).replace(codes) for name, codes in self.codes.items() if name in lines
        )
        return frame.rename(self.dimensions, strict=False).with_columns(
            pl.lit(code).alias(name) for name, code in self.constant.items()
        )

    def dimension(self, each: StructureDimension) -> StructureDimension:
        """A dimension by the names of SDMX."""
        known = self.codes.get(each.name, {})
        codes = tuple(
            ListedCode(known.get(one.code, one.code), known.get(one.above, one.above), one.labels)
            for one in each.codes
        )
        return replace(each, name=self.dimensions.get(each.name, each.name), codes=codes)


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
        said = names or SdmxNames()
        stated = said.structures.get(table.name) or own_reference(table.name)
        agency, name, version = parsed_reference(stated)
        dimensions = [
            StructureDimension(
                name=item.name,
                titles={language: item.title(language) for language in LANGUAGES},
                codelist=f"CL_{name}_{item.name}",
                codes=_codes(item),
            )
            for item in table.spanning
        ]
        if table.figures:
            figures = [
                ListedCode(figure.name, labels={lang: figure.title(lang) for lang in LANGUAGES})
                for figure in table.figures
            ]
            titles = {"en": "Figure", "de": "Kennzahl"}
            dimensions.append(_listed(name, MEASURE, titles, figures))
        dimensions = [said.dimension(dimension) for dimension in dimensions]
        for key, code in said.constant.items():
            dimensions.append(
                _listed(name, key, {"en": key}, [ListedCode(code, labels={"en": code})])
            )
        _check_names(table.name, dimensions)
        time = "TIME_PERIOD"
        return cls(
            agency=agency,
            name=name,
            version=version,
            titles={language: table.title(language) for language in LANGUAGES},
            dimensions=tuple(dimensions),
            period=time if time in said.constant else "",
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
        what, hint = "this is no name of a structure", 'such as "OFFICE:POPULATION(1.0)"'
        raise PublicationError(what, code="structure", where=text[:80], hint=hint)
    return match[1], match[2], match[3]


def _codes(dimension: Any) -> tuple[ListedCode, ...]:
    labels = {language: labels_of(dimension, language) for language in LANGUAGES}
    parents = dimension.parents.tolist()
    return tuple(
        ListedCode(
            code,
            dimension.codes[parents[at]] if parents[at] >= 0 else "",
            {language: texts[at] or code for language, texts in labels.items()},
        )
        for at, code in enumerate(dimension.codes)
    )


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
            problems.append(
                Problem(f"{dimension.name} would be two things", table, "name it otherwise")
            )
        if len(set(codes)) < len(codes):
            problems.append(
                Problem(f"two codes of {dimension.name} would be one", table, "name both")
            )
        if not _NAME.fullmatch(dimension.name):
            message = f"{dimension.name!r} cannot be the name of a dimension"
            problems.append(Problem(message, table, "letters, digits, _ and - after a letter"))
        bad = [code for code in codes if not _CODE.fullmatch(code)]
        if bad:
            message = f"{len(bad):,} codes of {dimension.name} are none of SDMX, such as {bad[0]!r}"
            hint = "codes of SDMX have letters, digits, _, @, $ and -: say what it calls them"
            problems.append(Problem(message, table, hint))
    raise_all(
        PublicationError, problems, code="structure", many="{} names are none of SDMX", where=table
    )


# -- structure messages of others -------------------------------------------------


def read_structures(path: str | os.PathLike[str]) -> list[DataStructure]:
    """The data structures of a message: SDMX-ML 2.1 or 3.0, or SDMX-JSON 2.0.

    Code lists must stand in the same file, as they do with `references=descendants`.

    Raises:
        PublicationError: If it is no such message, or names code lists that it has not.
    """
    from xml.etree import ElementTree

    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = f"the structure cannot be read ({error.strerror})"
        raise PublicationError(reason, code="structure", where=str(file)) from None
    if len(content) > _LARGEST:
        reason = "the structure is larger than 64 MB"
        raise PublicationError(reason, code="structure", where=str(file))
    message = _of_json if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else _of_xml
    try:
        found = message(content)
    except (ElementTree.ParseError, ValueError, KeyError, TypeError, RecursionError):
        found = []
    if not found:
        reason = "there is no data structure in this file"
        hint = "it needs the message of a structure with its code lists: SDMX-ML or SDMX-JSON"
        raise PublicationError(reason, code="structure", where=str(file), hint=hint)
    problems = [
        Problem(f"{each.name}: there is no code list {one.codelist}", str(file), "add it")
        for each in found
        for one in each.dimensions
        if one.codelist and not one.codes
    ]
    raise_all(
        PublicationError,
        problems,
        code="structure",
        many="{} code lists are missing",
        where=str(file),
    )
    return found


def _ordered(codes: Sequence[ListedCode]) -> tuple[ListedCode, ...]:
    """Codes in the order of a tree, each behind the one above it; nothing is left out."""
    below: dict[str, list[ListedCode]] = {}
    known = {item.code for item in codes}
    if len(known) < len(codes):
        raise ValueError("a code stands twice")
    for code in codes:
        below.setdefault(code.above if code.above in known else "", []).append(code)
    found: list[ListedCode] = []
    waiting = below.get("", [])[::-1]
    while waiting:
        code = waiting.pop()
        found.append(replace(code, above=code.above if code.above in known else ""))
        waiting += below.get(code.code, [])[::-1]
    if len(found) < len(codes):
        raise ValueError("codes stand above each other in a circle")
    return tuple(found)


def _of_json(content: bytes) -> list[DataStructure]:
    data = json.loads(content)["data"]
    lists = {
        item["id"]: _ordered(
            [
                ListedCode(code["id"], code.get("parent") or "", _texts(code))
                for code in item.get("codes", [])
            ]
        )
        for item in data.get("codelists", [])
    }
    concepts = {
        concept["id"]: _texts(concept)
        for scheme in data.get("conceptSchemes", [])
        for concept in scheme.get("concepts", [])
    }

    def dimension(each: Mapping[str, Any]) -> StructureDimension:
        local = each.get("localRepresentation") or {}
        codelist = _target(local.get("enumeration") or "")
        titles = concepts.get(_item(each.get("conceptIdentity") or "")) or {"en": each["id"]}
        codes = lists.get(codelist, ())
        return StructureDimension(name=each["id"], titles=titles, codelist=codelist, codes=codes)

    def structure(each: Mapping[str, Any]) -> DataStructure:
        parts = each["dataStructureComponents"]
        listed = parts["dimensionList"]
        given = listed.get("dimensions") or []
        time = listed.get("timeDimension") or listed.get("timeDimensions") or []
        time = time if isinstance(time, list) else [time]
        attributes = (parts.get("attributeList") or {}).get("attributes") or []
        return DataStructure(
            agency=each["agencyID"],
            name=each["id"],
            version=str(each["version"]),
            titles=_texts(each),
            dimensions=tuple(dimension(one) for one in (*given, *time)),
            period=time[0]["id"] if time else "",
            attributes=tuple(one["id"] for one in attributes),
        )

    return [structure(item) for item in data.get("dataStructures", [])]


def _texts(each: Mapping[str, Any]) -> dict[str, str]:
    return dict(each.get("names") or ({"en": each["name"]} if "name" in each else {}))


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
    lists = {
        item.attrib["id"]: _ordered(
            [
                ListedCode(code.attrib["id"], _above(code), _names(code))
                for code in _all(item, "Code")
            ]
        )
        for item in _deep(root, "Codelist")
        if _all(item, "Code")
    }
    concepts = {item.attrib["id"]: _names(item) for item in _deep(root, "Concept")}
    return [
        _xml_structure(item, lists, concepts)
        for item in _deep(root, "DataStructure")
        if next(_deep(item, "DimensionList"), None) is not None
    ]


def _xml_structure(
    each: ElementTree.Element,
    lists: Mapping[str, tuple[ListedCode, ...]],
    concepts: Mapping[str, Mapping[str, str]],
) -> DataStructure:
    dimensions, period = [], ""
    (listed,) = _deep(each, "DimensionList")
    for one in listed:
        kind = one.tag.rpartition("}")[2]
        if kind not in ("Dimension", "TimeDimension", "MeasureDimension"):
            continue
        identity = next(_deep(one, "ConceptIdentity"), None)
        concept = "" if identity is None else _referred(identity, _item)
        name = one.attrib.get("id") or concept
        period = name if kind == "TimeDimension" else period
        enumeration = next(_deep(one, "Enumeration"), None)
        codelist = "" if enumeration is None else _referred(enumeration, _target)
        dimensions.append(
            StructureDimension(
                name=name,
                titles=concepts.get(concept) or {"en": name},
                codelist=codelist,
                codes=lists.get(codelist, ()),
            )
        )
    return DataStructure(
        agency=each.attrib["agencyID"],
        name=each.attrib["id"],
        version=each.attrib.get("version", "1.0"),
        titles=_names(each),
        dimensions=tuple(dimensions),
        period=period,
        attributes=tuple(
            one.attrib["id"] for one in _deep(each, "Attribute") if "id" in one.attrib
        ),
    )


def _deep(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (item for item in root.iter() if item.tag.rpartition("}")[2] == name)


def _all(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [item for item in root if item.tag.rpartition("}")[2] == name]


def _names(each: ElementTree.Element) -> dict[str, str]:
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    return {one.attrib.get(language, "en"): one.text or "" for one in _all(each, "Name")}


def _above(code: ElementTree.Element) -> str:
    """The parent of a code, which 2.1 refers to and 3.0 names."""
    found = next(iter(_all(code, "Parent")), None)
    return "" if found is None else _referred(found, str)


def _referred(each: ElementTree.Element, of_urn: Callable[[str], str]) -> str:
    """What an element refers to: by a Ref in 2.1, by a URN or name in 3.0."""
    inner = next(_deep(each, "Ref"), None)
    return inner.attrib["id"] if inner is not None else of_urn((each.text or "").strip())
