"""SDMX structures of released tables, as messages of SDMX-JSON 2. Public. Each table is a dataflow
with a structure of its own; codes are written as they are published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from discreet.publication import ATTRIBUTES as SDMX_ATTRIBUTES
from discreet.publication import (
    LANGUAGES,
    MEASURE,
    ListedCode,
    StructureDimension,
    structure_dimensions,
)
from discreet.tables import CellStatus, ProtectedTable
from discreet_service.releases import ListedTable

AGENCY, VERSION = "DISCREET", "1.0"
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_@$-]")
_SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/develop/structure-message/tools/"
    "schemas/2.0.0/sdmx-json-structure-schema.json"
)
#: Of what can be named: where it stands in the model of SDMX.
_URNS = {
    **dict.fromkeys(("Dataflow", "DataStructure"), "urn:sdmx:org.sdmx.infomodel.datastructure"),
    "Codelist": "urn:sdmx:org.sdmx.infomodel.codelist",
    **dict.fromkeys(("ConceptScheme", "Concept"), "urn:sdmx:org.sdmx.infomodel.conceptscheme"),
}
#: What attributes say, with a code list of the codes that published tables have, if any.
ATTRIBUTES: Mapping[str, StructureDimension] = {
    name: StructureDimension(
        name=name,
        titles=one.titles,
        codelist=f"CL_{name}" if one.codes else "",
        codes=tuple(
            ListedCode(code, labels=texts)
            for code, texts in one.codes.items()
            if code in {status.sdmx[name == "CONF_STATUS"] for status in CellStatus}
        ),
    )
    for name, one in SDMX_ATTRIBUTES.items()
    if name != "COMMENT_DSET"
}


def named(texts: Mapping[str, str], language: str) -> dict[str, Any]:
    """A name in a language, and in all."""
    name = texts.get(language) or next(iter(texts.values()))
    return {"name": name, "names": dict(texts)}


def identifier(text: str) -> str:
    """A text as an identifier of SDMX.

    >>> identifier("census-2026.population by sex")
    'census-2026_population_by_sex'
    """
    return _NOT_IN_IDS.sub("_", text)


def flow_ids(tables: Iterable[str]) -> dict[str, str]:
    """Identifier of each table's dataflow → table; no two have the same.

    >>> flow_ids(["a.b", "a_b"])
    {'a_b': 'a.b', 'a_b_2': 'a_b'}
    """
    found: dict[str, str] = {}
    for table in tables:
        bare = name = identifier(table)
        number = 2
        while name in found:
            name, number = f"{bare}_{number}", number + 1
        found[name] = table
    return found


def urn(kind: str, name: str, item: str = "") -> str:
    """The URN of something that this agency maintains."""
    inner = f".{item}" if item else ""
    return f"{_URNS[kind]}.{kind}={AGENCY}:{name}({VERSION}){inner}"


@dataclass(frozen=True, kw_only=True)
class SdmxTable:
    """A released table as SDMX sees it."""

    flow: str  # Identifier of its dataflow and of its data structure
    table: ProtectedTable
    #: From when on, and by whom, it may be passed on, as far as its release states it
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Identifiers of its dimensions: the names of its variables."""
        names = tuple(dimension.name for dimension in self.table.spanning)
        return (*names, MEASURE) if self.table.figures else names

    @cached_property
    def listed(self) -> tuple[StructureDimension, ...]:
        """Its dimensions with their headings and code lists."""
        listed: dict[str, StructureDimension] = {}
        for at, one in enumerate(structure_dimensions(self.table, self.flow)):
            own = f"CL_{self.flow}_{identifier(one.name)}"
            name = own if own not in listed else f"{own}_{at}"
            listed[name] = replace(one, codelist=name)
        return tuple(listed.values())

    def data_structure(self, language: str) -> dict[str, Any]:
        """Its data structure."""
        scheme = f"CS_{self.flow}"

        def component(name: str, codelist: str, kind: str = "String") -> dict[str, Any]:
            local: dict[str, Any] = {"format": {"dataType": kind}}
            if codelist:
                local = {"enumeration": urn("Codelist", codelist),
                         "enumerationFormat": {"dataType": "String"}}  # fmt: skip
            return {"id": name, "conceptIdentity": urn("Concept", scheme, name),
                    "localRepresentation": local}  # fmt: skip

        dimensions = [
            {**component(one.name, one.codelist), "position": at}
            for at, one in enumerate(self.listed)
        ]
        attributes = [
            {
                **component(name, one.codelist, "Integer" if name == "DECIMALS" else "String"),
                "usage": "optional",
                "measureRelationship": ["OBS_VALUE"],
                "attributeRelationship": {"observation": {}},
            }
            for name, one in ATTRIBUTES.items()
        ]
        measure = {**component("OBS_VALUE", "", "Double"), "usage": "optional"}
        return {
            **_maintained(self.flow, self.table.titles or self._own_titles, language),
            "dataStructureComponents": {
                "dimensionList": {"id": "DimensionDescriptor", "dimensions": dimensions},
                "measureList": {"id": "MeasureDescriptor", "measures": [measure]},
                "attributeList": {"id": "AttributeDescriptor", "attributes": attributes},
            },
        }

    @property
    def _own_titles(self) -> dict[str, str]:
        return {item: self.table.title(item) for item in LANGUAGES}

    def concept_scheme(self, language: str) -> dict[str, Any]:
        """The concepts of its components."""
        texts = {one.name: one.titles for one in self.listed}
        texts["OBS_VALUE"] = {"en": "Value", "de": "Wert"}
        texts |= {name: one.titles for name, one in ATTRIBUTES.items()}
        return {
            **_maintained(f"CS_{self.flow}", self._own_titles, language),
            "concepts": [{"id": name, **named(each, language)} for name, each in texts.items()],
        }

    def structures(self, kind: str, language: str) -> list[dict[str, Any]]:
        """Its data structure, its concept scheme, or its code lists, with hierarchies of codes."""
        if kind == "datastructure":
            return [self.data_structure(language)]
        if kind == "conceptscheme":
            return [self.concept_scheme(language)]
        return [code_list(one, language) for one in self.listed]


def listed_codes(dimension: StructureDimension, language: str) -> list[dict[str, Any]]:
    """The codes of a dimension, in the order of the table."""
    return [
        {"id": one.code, **named(one.labels, language)}
        | ({"parent": one.above} if one.above else {})
        for one in dimension.codes
    ]


def code_list(dimension: StructureDimension, language: str) -> dict[str, Any]:
    """The code list of a dimension, or of an attribute."""
    codes = listed_codes(dimension, language)
    return {**_maintained(dimension.codelist, dimension.titles, language), "codes": codes}


def _maintained(name: str, texts: Mapping[str, str], language: str) -> dict[str, Any]:
    return {"id": name, "agencyID": AGENCY, "version": VERSION} | named(texts, language)


def dataflow(flow: str, listed: ListedTable, language: str) -> dict[str, Any]:
    """The dataflow of a table."""
    texts = listed.titles or {language: listed.name}
    return {**_maintained(flow, texts, language), "structure": urn("DataStructure", flow)}


def message(
    content: Mapping[str, Sequence[Any]], language: str, prepared: str, *, schema: str = _SCHEMA
) -> dict[str, Any]:
    """A message of SDMX-JSON."""
    return {
        "meta": {
            "schema": schema,
            "id": "discreet",
            "test": False,
            "prepared": prepared,
            "contentLanguages": [language, *(item for item in LANGUAGES if item != language)],
            "sender": {"id": AGENCY},
        },
        "data": {kind: list(each) for kind, each in content.items() if each},
    }
