"""SDMX-CSV 2.0 and 1.0, and SDMX-ML 2.1: observations and their structure, for exchange.

In: `ProtectedTable`, or lines of observations and their `DataStructure`. Out: UTF-8 text: lines of
observations, or messages of data, concepts and code lists. Public. OBS_STATUS and CONF_STATUS
say what a cell is; the dimension MEASURE tells several figures apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from discreet.publication.cells import ListedCells, cell_chunks
from discreet.publication.data_structures import (
    MEASURE,
    DataStructure,
    ListedCode,
    own_reference,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.writers.csv import listed, values_column, write_frames
from discreet.tables import CellStatus, ProtectedTable

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
_URN = "urn:sdmx:org.sdmx.infomodel"
#: When messages without a date were prepared: the same content gives the same bytes.
_UNDATED = "1970-01-01"


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedAttribute:
    """What is said beside values: its title, and code → labels where it has a code list."""

    titles: Mapping[str, str]
    codes: Mapping[str, Mapping[str, str]]
    whole: bool = False


#: The codes of CL_CONF_STATUS, with what they mean.
CONF_STATUS: Mapping[str, Mapping[str, str]] = {
    "F": {"en": "Free for publication", "de": "Frei"},
    "C": {"en": "Confidential, primary", "de": "Geheim, primär"},
    "A": {"en": "Confidential, primary: small counts", "de": "Geheim, primär: zu wenige"},
    "O": {
        "en": "Confidential, primary: dominance by one unit",
        "de": "Geheim, primär: Dominanz einer Einheit",
    },
    "T": {
        "en": "Confidential, primary: dominance by two units",
        "de": "Geheim, primär: Dominanz zweier Einheiten",
    },
    "G": {
        "en": "Confidential, primary: dominance by one or two units",
        "de": "Geheim, primär: Dominanz von einer oder zwei Einheiten",
    },
    "M": {
        "en": "Confidential, primary: other measures of concentration",
        "de": "Geheim, primär: andere Maße der Konzentration",
    },
    "D": {
        "en": "Confidential, secondary, set by the sender",
        "de": "Geheim, sekundär, vom Absender gesetzt",
    },
}
_OBS_STATUS: Mapping[str, Mapping[str, str]] = {
    "A": {"en": "Normal value", "de": "Normaler Wert"},
    "Q": {"en": "Missing value; suppressed", "de": "Fehlender Wert; unterdrückt"},
    "U": {"en": "Low reliability", "de": "Eingeschränkter Aussagewert"},
    "M": {"en": "Missing value; data cannot exist", "de": "Fehlender Wert; nicht möglich"},
}

#: What lines say beside the value; those about the whole table once.
ATTRIBUTES: Mapping[str, StatedAttribute] = {
    "OBS_STATUS": StatedAttribute(
        titles={"en": "Observation status", "de": "Beobachtungsstatus"}, codes=_OBS_STATUS
    ),
    "CONF_STATUS": StatedAttribute(
        titles={"en": "Confidentiality status", "de": "Geheimhaltungsstatus"}, codes=CONF_STATUS
    ),
    "DECIMALS": StatedAttribute(titles={"en": "Decimals", "de": "Nachkommastellen"}, codes={}),
    "UNIT_MEASURE": StatedAttribute(titles={"en": "Unit", "de": "Einheit"}, codes={}),
    "COMMENT_OBS": StatedAttribute(titles={"en": "Comment", "de": "Bemerkung"}, codes={}),
    "COMMENT_DSET": StatedAttribute(
        titles={"en": "Comment on all", "de": "Bemerkung zu allem"}, codes={}, whole=True
    ),
}


def write_sdmx(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the observations chunk by chunk."""
    structure = options.structure or own_reference(table.name)
    chunks = cell_chunks(table, options.complete)
    write_frames(path, (observations(table, cells, structure, options) for cells in chunks))


def observations(
    table: ProtectedTable, cells: ListedCells, structure: str, options: WriteOptions
) -> pl.DataFrame:
    """Cells of a table as lines of SDMX-CSV.

    >>> from discreet.publication.cells import stored_cells
    >>> from discreet.publication.examples import census_example
    >>> some = census_example()
    >>> observations(some, stored_cells(some), "OFFICE:POP(1.0)", WriteOptions()).columns[:5]
    ['STRUCTURE', 'STRUCTURE_ID', 'ACTION', 'sex', 'age']
    """
    figures = table.figures

    def alike(text: str | None) -> pl.Series:
        return pl.repeat(text, len(cells), dtype=pl.String, eager=True)

    def of_figures(texts: list[str] | list[str | None]) -> pl.Series:
        if not table.several_figures:
            return alike(texts[0])
        return pl.Series(texts, dtype=pl.String).gather(cells.index[-1])

    # The columns that say which structure the line belongs to.
    leading = {"STRUCTURE": "dataflow", "STRUCTURE_ID": structure, "ACTION": "I"}
    if options.sdmx == "1.0":
        leading = {"DATAFLOW": structure}
    columns = {name: alike(text) for name, text in leading.items()}
    for dimension, part in zip(table.spanning, cells.index, strict=False):
        columns[dimension.name] = listed(dimension.codes, options.formulas).gather(part)
    if figures:
        columns[MEASURE] = of_figures([figure.name for figure in figures])
    columns["OBS_VALUE"] = values_column(table, cells)
    for at, name in enumerate(("OBS_STATUS", "CONF_STATUS")):
        codes = pl.Series([status.sdmx[at] for status in CellStatus], dtype=pl.String)
        columns[name] = codes.gather(cells.status)
    decimals = [str(figure.decimals) for figure in figures] or [str(table.decimals)]
    columns["DECIMALS"] = of_figures(decimals)
    units = [figure.unit_text(options.language) or None for figure in figures]
    if any(units):
        columns["UNIT_MEASURE"] = of_figures(units)
    for notes in footnotes(table).column(cells, options.language).values():
        columns["COMMENT_OBS"] = notes
    return pl.DataFrame(columns)


def data_message(
    structure: DataStructure, chunks: Iterable[pl.DataFrame], *, prepared: str = ""
) -> Iterator[str]:
    """The observations as a message, piece by piece.

    >>> import polars as pl
    >>> from discreet.publication.examples import census_example
    >>> lines = pl.DataFrame({"sex": ["m"], "age": ["1"], "OBS_VALUE": ["20"]})
    >>> "".join(data_message(DataStructure.of(census_example()), [lines])).splitlines()[-3]
    '<Obs sex="m" age="1" OBS_VALUE="20"/>'
    """
    flow = f"{_URN}.datastructure.Dataflow={structure.reference}"
    own = f"{flow}:ObsLevelDim:AllDimensions"
    yield _opening(
        "StructureSpecificData",
        {"ss": f"{_SCHEMAS}/data/structurespecific", "own": own},
        prepared,
        structure.agency,
        f'<message:Structure structureID="S1" namespace={_quoted(own)} '
        'dimensionAtObservation="AllDimensions">'
        f"<common:StructureUsage>{_reference(structure, structure.name, 'Dataflow')}"
        "</common:StructureUsage></message:Structure>",
    )
    about = [dimension.name for dimension in structure.dimensions]
    about += ["OBS_VALUE", *(name for name, one in ATTRIBUTES.items() if not one.whole)]
    for number, lines in enumerate(chunks):
        if not number:
            whole = [
                name for name, one in ATTRIBUTES.items() if one.whole and name in lines.columns
            ]
            stated = (f" {name}={_quoted(lines[name][0])}" for name in whole if lines.height)
            yield (
                '<message:DataSet ss:structureRef="S1" xsi:type="own:DataSetType" '
                f'ss:dataScope="DataStructure" action="Information"{"".join(stated)}>\n'
            )
        names = [name for name in about if name in lines.columns]
        for row in lines.select(names).iter_rows():
            texts = (
                f" {name}={_quoted(str(value))}"
                for name, value in zip(names, row, strict=True)
                if value is not None
            )
            yield f"<Obs{''.join(texts)}/>\n"
    yield "</message:DataSet>\n</message:StructureSpecificData>\n"


def structure_message(*structures: DataStructure, prepared: str = "") -> str:
    """Structures as a message, with their dataflows, concepts and code lists."""
    lists: dict[tuple[str, str], str] = {}
    for one in structures:
        for dimension in one.dimensions:
            if dimension.codelist:
                text = _code_list(one, dimension.codelist, dimension.titles, dimension.codes)
                lists.setdefault((one.agency, dimension.codelist), text)
        for name, attribute in ATTRIBUTES.items():
            if attribute.codes:
                codes = [ListedCode(code, "", labels) for code, labels in attribute.codes.items()]
                text = _code_list(one, f"CL_{name}", attribute.titles, codes)
                lists.setdefault((one.agency, f"CL_{name}"), text)
    parts = {
        "Dataflows": map(_flow, structures),
        "Codelists": lists.values(),
        "Concepts": map(_concepts, structures),
        "DataStructures": map(_data_structure, structures),
    }
    spaces = {"str": f"{_SCHEMAS}/structure"}
    return "".join(
        [
            _opening("Structure", spaces, prepared, structures[0].agency),
            "<message:Structures>\n",
            *(f"<str:{name}>\n{''.join(texts)}</str:{name}>\n" for name, texts in parts.items()),
            "</message:Structures>\n</message:Structure>\n",
        ]
    )


def _opening(
    kind: str, namespaces: Mapping[str, str], prepared: str, sender: str, structure: str = ""
) -> str:
    """The head of a message."""
    spaces = {
        "message": f"{_SCHEMAS}/message",
        "common": f"{_SCHEMAS}/common",
        "xsi": "http://www.w3.org/2001/XMLSchema-instance",
        **namespaces,
    }
    declared = " ".join(f"xmlns:{short}={_quoted(long)}" for short, long in spaces.items())
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<message:{kind} {declared}>\n<message:Header>'
        "<message:ID>discreet</message:ID><message:Test>false</message:Test>"
        f"<message:Prepared>{prepared or _UNDATED}</message:Prepared>"
        f"<message:Sender id={_quoted(sender)}/>{structure}</message:Header>\n"
    )


def _maintained(structure: DataStructure, kind: str, name: str) -> str:
    return (
        f"<str:{kind} id={_quoted(name)} agencyID={_quoted(structure.agency)} "
        f'version={_quoted(structure.version)} isExternalReference="false">'
    )


def _names(titles: Mapping[str, str], else_: str) -> str:
    known = {language: text for language, text in titles.items() if text} or {"en": else_}
    return "".join(
        f"<common:Name xml:lang={_quoted(language)}>{escape(text)}</common:Name>"
        for language, text in known.items()
    )


def _code_list(
    structure: DataStructure, name: str, titles: Mapping[str, str], codes: Sequence[ListedCode]
) -> str:
    lines = [
        f"<str:Code id={_quoted(code.code)}>{_names(code.labels, code.code)}"
        + (f"<str:Parent><Ref id={_quoted(code.above)}/></str:Parent>" if code.above else "")
        + "</str:Code>\n"
        for code in codes
    ]
    head = _maintained(structure, "Codelist", name)
    return f"{head}{_names(titles, name)}\n{''.join(lines)}</str:Codelist>\n"


def _concepts(structure: DataStructure) -> str:
    titles = {dimension.name: dimension.titles for dimension in structure.dimensions}
    titles["OBS_VALUE"] = {"en": "Value", "de": "Wert"}
    titles |= {name: one.titles for name, one in ATTRIBUTES.items()}
    lines = [
        f"<str:Concept id={_quoted(name)}>{_names(texts, name)}</str:Concept>\n"
        for name, texts in titles.items()
    ]
    head = _maintained(structure, "ConceptScheme", f"CS_{structure.name}")
    return (
        f"{head}{_names(structure.titles, structure.name)}\n{''.join(lines)}</str:ConceptScheme>\n"
    )


def _reference(structure: DataStructure, name: str, kind: str, inside: str = "") -> str:
    """A reference to something that the same agency maintains, or to an item in it."""
    agency, version = _quoted(structure.agency), _quoted(structure.version)
    if inside:
        parent = f"maintainableParentID={_quoted(inside)} maintainableParentVersion={version}"
        return f'<Ref {parent} agencyID={agency} id={_quoted(name)} class="{kind}"/>'
    return f'<Ref agencyID={agency} id={_quoted(name)} version={version} class="{kind}"/>'


def _flow(structure: DataStructure) -> str:
    used = _reference(structure, structure.name, "DataStructure")
    return (
        f"{_maintained(structure, 'Dataflow', structure.name)}"
        f"{_names(structure.titles, structure.name)}"
        f"<str:Structure>{used}</str:Structure></str:Dataflow>\n"
    )


def _component(structure: DataStructure, name: str, codelist: str, kind: str) -> str:
    """The concept of a dimension, an attribute or the measure, and its code list or kind."""
    concept = _reference(structure, name, "Concept", f"CS_{structure.name}")
    inner = f'<str:TextFormat textType="{kind}"/>'
    if codelist:
        listed = _reference(structure, codelist, "Codelist")
        inner = f"<str:Enumeration>{listed}</str:Enumeration>"
    return (
        f"<str:ConceptIdentity>{concept}</str:ConceptIdentity>"
        f"<str:LocalRepresentation>{inner}</str:LocalRepresentation>"
    )


def _data_structure(structure: DataStructure) -> str:
    dimensions, attributes = [], []
    last = sorted(structure.dimensions, key=lambda dimension: dimension.name == structure.period)
    for place, dimension in enumerate(last, 1):
        time, name = dimension.name == structure.period, dimension.name
        kind = "ObservationalTimePeriod" if time else "String"
        element = "TimeDimension" if time else "Dimension"
        dimensions.append(
            f'<str:{element} id={_quoted(name)} position="{place}">'
            f"{_component(structure, name, dimension.codelist, kind)}</str:{element}>\n"
        )
    for name, one in ATTRIBUTES.items():
        kind = "Integer" if name == "DECIMALS" else "String"
        about = '<str:PrimaryMeasure><Ref id="OBS_VALUE"/></str:PrimaryMeasure>'
        attributes.append(
            f'<str:Attribute id="{name}" assignmentStatus="Conditional">'
            f"{_component(structure, name, f'CL_{name}' if one.codes else '', kind)}"
            f"<str:AttributeRelationship>{'<str:None/>' if one.whole else about}"
            "</str:AttributeRelationship></str:Attribute>\n"
        )
    measure = (
        f'<str:PrimaryMeasure id="OBS_VALUE">{_component(structure, "OBS_VALUE", "", "Double")}'
        "</str:PrimaryMeasure>\n"
    )
    return (
        f"{_maintained(structure, 'DataStructure', structure.name)}"
        f"{_names(structure.titles, structure.name)}\n<str:DataStructureComponents>\n"
        f'<str:DimensionList id="DimensionDescriptor">\n{"".join(dimensions)}</str:DimensionList>\n'
        f'<str:AttributeList id="AttributeDescriptor">\n{"".join(attributes)}</str:AttributeList>\n'
        f'<str:MeasureList id="MeasureDescriptor">\n{measure}</str:MeasureList>\n'
        "</str:DataStructureComponents></str:DataStructure>\n"
    )


def _quoted(text: str) -> str:
    """A text as the value of an attribute."""
    return f'"{escape(text)}"'
