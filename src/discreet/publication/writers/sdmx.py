"""SDMX-CSV 2.0 and 1.0, and SDMX-ML 2.1 and 3.0: observations and their structure, for exchange.

In: `ProtectedTable`, or lines of observations and their `DataStructure`. Out: UTF-8 text: lines of
observations, or messages of data, concepts and code lists. Public. OBS_STATUS and CONF_STATUS
say what a cell is; the dimension MEASURE tells several figures apart.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import polars as pl

from discreet.errors import PublicationError
from discreet.publication.cells import ListedCells, cell_chunks
from discreet.publication.data_structures import (
    MEASURE,
    DataStructure,
    ListedCode,
    own_reference,
)
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import footnotes
from discreet.publication.vocabulary import page_part
from discreet.publication.writers.csv import listed, values_column, write_frames
from discreet.tables import CellStatus, ProtectedTable

_SCHEMAS = "http://www.sdmx.org/resources/sdmxml/schemas/v"
_URN = "urn:sdmx:org.sdmx.infomodel"
#: When messages without a date were prepared: the same content gives the same bytes.
_UNDATED = "1970-01-01"


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedAttribute:
    """An attribute of values: its title, and code → labels if it has a code list."""

    titles: Mapping[str, str]
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    whole: bool = False


#: What lines say beside the value; those about the whole table once.
ATTRIBUTES: Mapping[str, StatedAttribute] = {
    name: StatedAttribute(**row) for name, row in tomllib.loads(page_part("sdmx.toml")).items()
}
#: The codes of CL_CONF_STATUS, with what they mean.
CONF_STATUS = ATTRIBUTES["CONF_STATUS"].codes


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
    conditions = {"EMBARGO_TIME": options.embargo, "CONF_REDIST": options.redistribution}
    columns |= {name: alike(text) for name, text in conditions.items() if text}
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
    grouped = {one.name: one.group for one in structure.attributes if one.group in structure.groups}
    # Readers look for what is said of groups where observations stand in series.
    series = structure.period if grouped else ""
    along = series or "AllDimensions"
    own = f"{flow}:ObsLevelDim:{along}"
    dimensioned = {"structureID": "S1", "namespace": own, "dimensionAtObservation": along}
    older = structure.sdmx == "2.1"
    target = _reference(structure, structure.name, "Dataflow") if older else flow
    yield _opening(
        "StructureSpecificData",
        {"ss": "data/structurespecific", "own": own},
        prepared,
        structure.agency,
        _element("message:Structure", dimensioned, _element("common:StructureUsage", {}, target)),
        version=structure.sdmx,
    )
    attributes = {one.name: one.whole for one in structure.attributes}
    attributes = attributes or {name: one.whole for name, one in ATTRIBUTES.items()}
    about = [dimension.name for dimension in structure.dimensions]
    of_all = [name for name, whole in attributes.items() if not whole and name not in grouped]
    about += ["OBS_VALUE", *of_all]
    chunks = [pl.concat(chunks)] if grouped else chunks  # what is said of groups comes first
    for number, lines in enumerate(chunks):
        if not number:
            stated = {
                "ss:structureRef": "S1",
                "xsi:type": "own:DataSetType",
                **({"ss:dataScope": "DataStructure"} if older else {}),
                "action": "Information",
            }
            whole = [n for n, once in attributes.items() if once and n in lines.columns]
            stated |= {name: str(lines[name][0]) for name in whole if lines.height}
            yield f"<message:DataSet{_attributes(stated)}>\n"
            if grouped:
                yield from _groups(structure, grouped, lines)
        names = [name for name in about if name in lines.columns]
        keys = [one.name for one in structure.dimensions if one.name != series] if series else []
        for key, part in (
            lines.select(names).group_by(keys, maintain_order=True)
            if keys
            else [((), lines.select(names))]
        ):
            yield f"<Series{_attributes(dict(zip(keys, key, strict=True)))}>\n" if keys else ""
            for row in part.drop(keys).iter_rows(named=True):
                texts = {name: str(value) for name, value in row.items() if value is not None}
                yield f"<Obs{_attributes(texts)}/>\n"
            yield "</Series>\n" if keys else ""
    yield "</message:DataSet>\n</message:StructureSpecificData>\n"


def _groups(
    structure: DataStructure, grouped: Mapping[str, str], lines: pl.DataFrame
) -> Iterator[str]:
    """What is said of groups of observations; two things of one group are an error."""
    for group, dimensions in structure.groups.items():
        names = [name for name, own in grouped.items() if own == group and name in lines.columns]
        if not names:
            continue
        rows = lines.select(*dimensions, *names).unique(maintain_order=True)
        rows = rows.filter(~pl.all_horizontal(pl.col(names).is_null()))
        if rows.select(dimensions).is_duplicated().any():
            message = f"{', '.join(names)} differ within the group {group}"
            hint = "give them one value per group, such as in [constant]"
            raise PublicationError(message, code="structure", where=structure.name, hint=hint)
        for row in rows.iter_rows(named=True):
            texts = {name: str(value) for name, value in row.items() if value is not None}
            yield f"<Group{_attributes({'xsi:type': f'own:{group}', **texts})}/>\n"


def structure_message(*structures: DataStructure, prepared: str = "") -> str:
    """Structures as a message, with their dataflows, concepts and code lists."""
    lists: dict[tuple[str, str], str] = {}
    for one in structures:
        listed = [(item.codelist, item.titles, item.codes) for item in one.dimensions]
        for name, attribute in ATTRIBUTES.items():
            codes = [ListedCode(code, "", labels) for code, labels in attribute.codes.items()]
            listed.append((f"CL_{name}" if codes else "", attribute.titles, tuple(codes)))
        for name, titles, items in listed:
            if name:
                lists.setdefault((one.agency, name), _code_list(one, name, titles, items))
    parts = {
        "Dataflows": map(_flow, structures),
        "Codelists": lists.values(),
        "Concepts": map(_concepts, structures),
        "DataStructures": map(_data_structure, structures),
    }
    spaces = {"str": "structure"}
    texts = [_element(f"str:{name}", {}, "\n", *inner) + "\n" for name, inner in parts.items()]
    return (
        _opening("Structure", spaces, prepared, structures[0].agency)
        + _element("message:Structures", {}, "\n", *texts)
        + "\n</message:Structure>\n"
    )


def _opening(
    kind: str,
    namespaces: Mapping[str, str],
    prepared: str,
    sender: str,
    structure: str = "",
    version: str = "2.1",
) -> str:
    """The head of a message; its namespaces are those of SDMX, or stand as they are."""
    schemas = f"{_SCHEMAS}{version.replace('.', '_')}"
    spaces = {
        "message": f"{schemas}/message",
        "common": f"{schemas}/common",
        "xsi": "http://www.w3.org/2001/XMLSchema-instance",
        **{
            short: long if long.startswith("urn:") else f"{schemas}/{long}"
            for short, long in namespaces.items()
        },
    }
    declared = _attributes({f"xmlns:{short}": long for short, long in spaces.items()})
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<message:{kind}{declared}>\n<message:Header>'
        "<message:ID>discreet</message:ID><message:Test>false</message:Test>"
        f"<message:Prepared>{prepared or _UNDATED}</message:Prepared>"
        f"{_element('message:Sender', {'id': sender})}{structure}</message:Header>\n"
    )


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f' {name}="{escape(text)}"' for name, text in attributes.items())


def _element(name: str, attributes: Mapping[str, str], *inner: str) -> str:
    """An element; one without content is closed at once."""
    opened = f"<{name}{_attributes(attributes)}"
    return f"{opened}>{''.join(inner)}</{name}>" if inner else f"{opened}/>"


def _maintained(structure: DataStructure, kind: str, name: str, *inner: str) -> str:
    about = {"id": name, "agencyID": structure.agency, "version": structure.version}
    return _element(f"str:{kind}", {**about, "isExternalReference": "false"}, *inner) + "\n"


def _names(titles: Mapping[str, str], else_: str) -> str:
    known = {language: text for language, text in titles.items() if text} or {"en": else_}
    return "".join(
        _element("common:Name", {"xml:lang": language}, escape(text))
        for language, text in known.items()
    )


def _code_list(
    structure: DataStructure, name: str, titles: Mapping[str, str], codes: Sequence[ListedCode]
) -> str:
    lines = []
    for code in codes:
        above = [_element("str:Parent", {}, _element("Ref", {"id": code.above}))]
        names = _names(code.labels, code.code)
        line = _element("str:Code", {"id": code.code}, names, *(above if code.above else ()))
        lines.append(f"{line}\n")
    return _maintained(structure, "Codelist", name, _names(titles, name), "\n", *lines)


def _concepts(structure: DataStructure) -> str:
    titles = {dimension.name: dimension.titles for dimension in structure.dimensions}
    titles["OBS_VALUE"] = {"en": "Value", "de": "Wert"}
    titles |= {name: one.titles for name, one in ATTRIBUTES.items()}
    lines = [
        _element("str:Concept", {"id": name}, _names(texts, name)) + "\n"
        for name, texts in titles.items()
    ]
    names = _names(structure.titles, structure.name)
    return _maintained(structure, "ConceptScheme", f"CS_{structure.name}", names, "\n", *lines)


def _reference(structure: DataStructure, name: str, kind: str, inside: str = "") -> str:
    """A reference to something that the same agency maintains, or to an item in it."""
    about = {"agencyID": structure.agency, "id": name}
    if inside:
        parent = {"maintainableParentID": inside, "maintainableParentVersion": structure.version}
        about = parent | about
    else:
        about["version"] = structure.version
    return _element("Ref", {**about, "class": kind})


def _flow(structure: DataStructure) -> str:
    used = _element("str:Structure", {}, _reference(structure, structure.name, "DataStructure"))
    names = _names(structure.titles, structure.name)
    return _maintained(structure, "Dataflow", structure.name, names, used)


def _component(structure: DataStructure, name: str, codelist: str, kind: str) -> str:
    """The concept of a dimension, an attribute or the measure, and its code list or kind."""
    concept = _reference(structure, name, "Concept", f"CS_{structure.name}")
    inner = _element("str:TextFormat", {"textType": kind})
    if codelist:
        inner = _element("str:Enumeration", {}, _reference(structure, codelist, "Codelist"))
    return _element("str:ConceptIdentity", {}, concept) + _element(
        "str:LocalRepresentation", {}, inner
    )


def _data_structure(structure: DataStructure) -> str:
    dimensions, attributes = [], []
    last = sorted(structure.dimensions, key=lambda dimension: dimension.name == structure.period)
    for place, dimension in enumerate(last, 1):
        time, name = dimension.name == structure.period, dimension.name
        kind = "ObservationalTimePeriod" if time else "String"
        own = _component(structure, name, dimension.codelist, kind)
        element = "str:TimeDimension" if time else "str:Dimension"
        dimensions.append(_element(element, {"id": name, "position": str(place)}, own) + "\n")
    measured = _element("str:PrimaryMeasure", {}, _element("Ref", {"id": "OBS_VALUE"}))
    for name, one in ATTRIBUTES.items():
        kind = "Integer" if name == "DECIMALS" else "String"
        own = _component(structure, name, f"CL_{name}" if one.codes else "", kind)
        about = _element("str:None", {}) if one.whole else measured
        related = _element("str:AttributeRelationship", {}, about)
        stated = {"id": name, "assignmentStatus": "Conditional"}
        attributes.append(_element("str:Attribute", stated, own, related) + "\n")
    value = _component(structure, "OBS_VALUE", "", "Double")
    measure = _element("str:PrimaryMeasure", {"id": "OBS_VALUE"}, value) + "\n"
    lists = {"Dimension": dimensions, "Attribute": attributes, "Measure": [measure]}
    components = [
        _element(f"str:{kind}List", {"id": f"{kind}Descriptor"}, "\n", *items) + "\n"
        for kind, items in lists.items()
    ]
    names = _names(structure.titles, structure.name)
    listed = _element("str:DataStructureComponents", {}, "\n", *components)
    return _maintained(structure, "DataStructure", structure.name, names, "\n", listed)
