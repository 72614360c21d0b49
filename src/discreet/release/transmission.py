"""`transmit`: the tables of a release for another office, confidential values included.

In: a programme with its data, and the finished release. Out: SDMX files in a folder outside of
the release, in which hidden cells have their true values and the codes of CL_CONF_STATUS that say
why they are hidden. CONFIDENTIAL: only their owner can read the files. Figures with noise stand
there as they are published, free, with a remark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.confidential import without_values
from discreet.derived import rounded
from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import atomic_path, file_digest, make_folder, write_text
from discreet.protection.protocol import all_of
from discreet.publication import (
    ATTRIBUTES,
    CONF_STATUS,
    MEASURE,
    DataStructure,
    SdmxNames,
    StructureCheck,
    WriteOptions,
    cell_chunks,
    check_lines,
    data_message,
    observations,
    printed_notes,
    read_structures,
    sent_lines,
    structure_message,
)
from discreet.release.programme.schema import TableEntry
from discreet.release.run.finished_releases import other_content, recounted
from discreet.release.run.inputs import open_inputs
from discreet.release.state.memory import EarlierTable, remembered_tables

if TYPE_CHECKING:
    import polars as pl

    from discreet.arrays import FloatArray
    from discreet.release.inputs import Inputs
    from discreet.tables import ProtectedTable, Table

#: The list of the files, with their digests.
LISTING = "transmission.json"
#: What names of files say, so that nobody takes them for those to publish.
_MARK = "CONFIDENTIAL"
_TRUE, _CONF = "discreet true", "discreet conf"
_ESTIMATED: Mapping[str, str] = {
    "en": "Status E marks estimates.",
    "de": "Status E kennzeichnet Schätzungen.",
}
_PROTECTED: Mapping[str, str] = {
    "en": "Protected by: {}. Free values are those published.",
    "de": "Schutz: {}. Freie Werte sind die veröffentlichten.",
}


@dataclass(frozen=True, kw_only=True)
class TransmittedTable:
    """Written files of a table, and numbers of cells by status."""

    files: tuple[str, ...]
    status: Mapping[str, int]
    checked: str = ""  # what was held against the receiver's structure


@dataclass(frozen=True, kw_only=True)
class Transmission:
    """The written files: the folder, and table → its files."""

    out: Path
    tables: Mapping[str, TransmittedTable]

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON; without values of cells."""
        tables = {
            name: {"files": list(each.files), "status": dict(each.status)}
            for name, each in self.tables.items()
        }
        return {"out": str(self.out), "tables": tables}

    def text(self) -> str:
        """As text."""
        lines = [f"The transmission is in {self.out}. CONFIDENTIAL: it contains true values."]
        for name, each in self.tables.items():
            told = [
                f"{count:,} {code} ({CONF_STATUS[code]['en']})"
                for code, count in each.status.items()
                if code != "F"
            ]
            told = [*told, *filter(None, [each.checked])] if told else [each.checked]
            lines.append(f"  {name}: {'; '.join(filter(None, told)) or 'nothing confidential'}")
        return "\n".join(lines)


@without_values
def transmit(
    programme: str | os.PathLike[str],
    release: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    names: SdmxNames | None = None,
    language: str = "en",
) -> Transmission:
    """Write the tables of a release for another office, with confidential values. CONFIDENTIAL.

    Args:
        programme: The programme file; its data are counted once more.
        release: The release folder, as it was made of these data.
        out: The folder of the files; it lies outside of the release.
        names: What SDMX calls tables, variables and codes that have other names here.
        language: Language of units and remarks.

    Raises:
        PublicationError: If the release is of other data, or was changed, or if names are none
            of SDMX; nothing is written then.
    """
    place, said = Path(out), names or SdmxNames()
    inner, outer = place.resolve(), Path(release).resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        message = "the transmission must not be in the folder of the release"
        hint = "choose another folder; the transmission is confidential"
        raise PublicationError(message, code="transmission-folder", where=str(place), hint=hint)
    inputs = open_inputs(programme)
    kept = remembered_tables(Path(release))
    changed = [Problem(text, str(release)) for text in other_content(inputs, kept, Path(release))]
    changed += [
        Problem(f"{name}: the release lacks this table", str(release))
        for name in inputs.programme.tables
        if name not in kept and not inputs.programme.method(name).auditable
    ]
    many = "the release differs from the programme in {} tables"
    where, code = str(release), "release-folder"
    raise_all(PublicationError, changed, code=code, many=many, where=where)
    tables = inputs.programme.tables
    spanning = {name for entry in tables.values() for name in entry.by or []} | set(ATTRIBUTES)
    spanning |= {MEASURE}
    coded = spanning - {"CONF_STATUS"}
    known = {"structures": set(tables), "dimensions": spanning, "codes": coded}
    problems = [  # names of what there is not would have no effect
        Problem(f"{name!r} not found", section, f"known: {', '.join(sorted(there))}")
        for section, there in known.items()
        for name in getattr(said, section)
        if name not in there
    ]
    raise_all(PublicationError, problems, code="names", many="{} names are unknown", where="names")
    structures = {
        name: DataStructure.of(kept[name].table, said) for name in inputs.programme.tables
    }
    required = _required(structures, said) if said.messages else {}
    every = _truth(inputs, kept)
    confidential = said.dimensions.get("CONF_STATUS", "CONF_STATUS")
    checks: dict[str, StructureCheck] = {}
    ways: dict[str, Callable[[], Iterator[pl.DataFrame]]] = {}
    for name, structure in structures.items():
        table, truth = kept[name].table, every.get(name)
        ways[name] = partial(_lines, inputs, table, truth, said, structure, language)
        if name in required:
            checks[name] = check_lines(required[name], ways[name](), confidential)
            ways[name] = partial(_sent, required[name], ways[name])
    unfit = [problem for check in checks.values() for problem in check.problems]
    many = "{} mistakes in what the structures of the receiver require"
    where = ", ".join(said.messages)
    raise_all(PublicationError, unfit, code="structure", many=many, where=where)
    make_folder(place, 0o700)
    written = {}
    for name, structure in (structures | required).items():
        date = inputs.programme.document.date or ""
        files, status = _write_table(place, name, structure, ways[name], confidential, date)
        if name not in required:  # the receiver has its own
            files.append(f"{name}.structure.xml")
            write_text(place / files[-1], structure_message(structure, prepared=date), private=True)
        checked = checks[name].text() if name in checks else ""
        written[name] = TransmittedTable(files=tuple(files), status=status, checked=checked)
    done = Transmission(out=place, tables=written)
    digests = {file: file_digest(place / file) for each in written.values() for file in each.files}
    listing = {"format": "discreet-transmission", "format_version": 1, _MARK: True}
    listing |= {"tables": done.described()["tables"], "sha256": digests}
    write_text(place / LISTING, json.dumps(listing, indent=2) + "\n", private=True)
    return done


def _write_table(
    place: Path,
    name: str,
    structure: DataStructure,
    lines: Callable[[], Iterator[pl.DataFrame]],
    confidential: str,
    date: str,
) -> tuple[list[str], dict[str, int]]:
    """Write the observations of a table; their files, and how many have which status."""
    # Each file is whole or not there, and only its owner can read it.
    files = [f"{name}.{_MARK}.sdmx.csv", f"{name}.{_MARK}.sdmx.xml"]
    status: dict[str, int] = {}
    with atomic_path(place / files[0], private=True) as path, path.open("wb") as csv:
        for number, frame in enumerate(lines()):
            frame.write_csv(csv, include_header=number == 0, line_terminator="\r\n")
            free = [("F", len(frame))]
            stated = confidential in frame.columns
            for code, count in frame[confidential].value_counts().rows() if stated else free:
                status[code] = status.get(code, 0) + count
    with (
        atomic_path(place / files[1], private=True) as path,
        path.open("w", encoding="utf-8", newline="\n") as xml,
    ):
        xml.writelines(data_message(structure, lines(), prepared=date))
    return files, dict(sorted(status.items()))


def _required(
    structures: Mapping[str, DataStructure], names: SdmxNames
) -> dict[str, DataStructure]:
    """Table → the structure of the receiver with the codes to be sent, if there are any."""
    stated = {one.reference: one for one in read_structures(*names.messages)}
    names.check(list(stated.values()))
    made = {own.reference for own in structures.values()}
    problems = [
        Problem(f"no table for {reference}", "", "add the table")
        for reference in stated
        if reference not in made
    ]
    required = {}
    for name, own in structures.items():
        if own.reference not in stated:
            message = f"no structure of the receiver for {own.reference}"
            problems.append(Problem(message, name, "remove the table"))
            continue
        receiver = stated[own.reference].within(names)
        components = {item.name for item in receiver.dimensions}
        components |= {item.name for item in receiver.attributes}
        for item in own.dimensions:
            if item.name not in components | set(names.constant):
                message = f"{own.reference} has no dimension {item.name}"
                problems.append(Problem(message, name, "rename it in [dimensions]"))
        spanned = {item.name: item.codes for item in own.dimensions}
        required[name] = replace(
            receiver,
            dimensions=tuple(  # squares and periods have no code list: the table lists them
                item if item.codelist else replace(item, codes=spanned.get(item.name, ()))
                for item in receiver.dimensions
            ),
        )
    many = "tables and structures of the receiver differ in {} places"
    where = ", ".join(names.messages)
    raise_all(PublicationError, problems, code="structure", many=many, where=where)
    return required


def _sent(
    receiver: DataStructure, lines: Callable[[], Iterator[pl.DataFrame]]
) -> Iterator[pl.DataFrame]:
    """What is sent of the lines. CONFIDENTIAL."""
    return (sent_lines(receiver, frame) for frame in lines())


def _truth(inputs: Inputs, kept: Mapping[str, EarlierTable]) -> dict[str, pl.DataFrame]:
    """Per table with hidden cells, true values and status of all cells. CONFIDENTIAL.

    The receiver publishes what is free: that must not open what is not.
    """
    frames, problems = {}, list[Problem]()
    for method in inputs.programme.methods:
        for group in inputs.programme.linked(method) if method.transmitted else ():
            counted, context = recounted(inputs, list(group))
            verdicts, findings = method.audited(inputs, counted, context, kept, None)
            problems += [Problem(text, ", ".join(group)) for text in findings]
            problems += [
                Problem(f"{value}: free cells disclose {cell}", names)
                for (names, value), verdict in verdicts.items()
                for cell in verdict.unprotected
            ]
            for name, cells in method.confidential_cells(inputs, counted, context).items():
                entry = inputs.programme.tables[name]
                table = counted[name][all_of(entry.where)]
                frames[name] = _true_cells(entry, table, cells, kept[name].table)
    raise_all(
        PublicationError,
        problems,
        code="open",
        many="free values of the transmission disclose {} suppressed cells",
        where=str(inputs.programme.path),
    )
    return frames


def _true_cells(
    entry: TableEntry,
    table: Table,
    cells: Mapping[str, tuple[FloatArray, Any]],
    published: ProtectedTable,
) -> pl.DataFrame:
    """True values of the cells of all figures, with the status of each if it is hidden."""
    import polars as pl

    codes = {
        each.name: pl.Series(each.codes, dtype=pl.String).gather(part)
        for each, part in zip(table.dimensions, table.index, strict=True)
    }
    values = {value: figures for value, (figures, _) in cells.items()}
    status: dict[str, Any] = {value: own for value, (_, own) in cells.items()}
    for name, ratio in entry.ratios.items():
        part, whole = (values[item or ""] for item in (ratio.part, ratio.whole))
        quotient = np.full(len(table), np.nan)
        np.divide(float(ratio.factor) * part, whole, out=quotient, where=whole != 0)
        values[name] = rounded(quotient, ratio.decimals)
        above, below = (status[item or ""] for item in (ratio.part, ratio.whole))
        status[name] = np.where(above == "D", below, above)
    frames = []
    figures = [item.name for item in published.figures] or [""]
    for figure, value in zip(figures, values, strict=True):
        measure = {"MEASURE": pl.repeat(figure, len(table), eager=True)} if figure else {}
        told = {_TRUE: values[value], _CONF: pl.Series(status[value], dtype=pl.String)}
        frames.append(pl.DataFrame({**codes, **measure, **told}))
    return pl.concat(frames)


def _lines(
    inputs: Inputs,
    table: ProtectedTable,
    truth: pl.DataFrame | None,
    names: SdmxNames,
    structure: DataStructure,
    language: str,
) -> Iterator[pl.DataFrame]:
    """The observations; those that are hidden with their true values. CONFIDENTIAL."""
    import polars as pl

    manner = inputs.programme.method(table.name).called(language)
    notes = [note.text(language) for note in printed_notes(table)]
    method, weight = inputs.programme.method(table.name), inputs.programme.tables[table.name].weight
    whole = bool(weight) or method.estimates
    estimates = [_ESTIMATED[language]] if names.messages and (whole or names.adjustment) else []
    remark = " ".join([_PROTECTED[language].format(manner), *notes, *estimates])
    status, comment = (names.dimensions.get(n, n) for n in ("OBS_STATUS", "COMMENT_DSET"))
    known = names.codes.get("OBS_STATUS", {})
    normal, estimate = (pl.lit(known.get(code, code)) for code in ("A", "E"))
    estimated = pl.lit(whole)
    for item in structure.dimensions:
        above = {one.code: one.above for one in item.codes}
        code = names.adjustment.get(item.name)
        while code:
            estimated |= pl.col(item.name) == code
            code = above.get(code)
    for cells in cell_chunks(table, True if names.messages else None):
        conditions: dict[str, Any] = {**inputs.programme.document.publication.conditions}
        options = WriteOptions(language=language, **conditions)
        frame = observations(table, cells, structure.reference, options)
        if truth is not None:
            keys = [name for name in truth.columns if name not in (_TRUE, _CONF)]
            if keys:
                frame = frame.join(truth, on=keys, how="left", maintain_order="left")
            else:
                frame = pl.concat([frame, truth], how="horizontal")
            # What nobody contributes to is not among the true cells: it is zero.
            true = pl.col(_TRUE).fill_null(0.0)
            told = {
                "OBS_VALUE": true.fill_nan(None).cast(pl.String).str.strip_suffix(".0"),
                "OBS_STATUS": pl.when(true.is_nan()).then(pl.lit("M")).otherwise(pl.lit("A")),
                "CONF_STATUS": pl.col(_CONF).fill_null("D"),
            }
            hidden = pl.col("CONF_STATUS") == "C"
            frame = frame.with_columns(
                pl.when(hidden).then(each).otherwise(name).alias(name)
                for name, each in told.items()
            ).drop(_TRUE, _CONF)
        lines = names.lines(frame).with_columns(pl.lit(remark).alias(comment))
        if names.messages:  # whoever requires estimates has a code for them
            now = pl.when(estimated & (pl.col(status) == normal)).then(estimate).otherwise(status)
            lines = lines.with_columns(now.alias(status))
        yield lines
