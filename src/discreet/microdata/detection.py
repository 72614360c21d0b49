"""`detect_reading`: how a file of records is to be read, found out and put into words.

In: a path, and what is known already. Out: `DetectedReading`: the options, a line per column,
and a [data] section to paste into a programme. What can be read in two ways is listed and not
guessed. No value of a column is shown. CONFIDENTIAL records are read, and stay here.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.files import toml_key, toml_value
from discreet.microdata.csv_files import CsvFile, raw_bytes
from discreet.microdata.file_formats import check_content, format_of
from discreet.microdata.files import read_path
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.stated_columns import adapted
from discreet.microdata.text_profiles import (
    ProfileReading,
    described_column,
    kind_of,
    profiles,
)
from discreet.record_batches import collected

_SEPARATORS = (";", ",", "\t", "|")
_SAMPLE = 200
_NUMBER = re.compile(r"[+-]?[\d.,]+")


@dataclass(frozen=True, kw_only=True)
class DetectedReading:
    """Detected read options of a file.

    Args:
        source: The file.
        format: Its format.
        records: Number of records.
        options: What was found out or stated.
        columns: Per column, what is known of it in words.
        remarks: What a reader should know besides.
        problems: What can be read in two ways.
    """

    source: Path
    format: str
    records: int
    options: ReadingOptions
    columns: Mapping[str, str]
    remarks: tuple[str, ...]
    problems: tuple[Problem, ...]

    def stated(self) -> ReadingOptions:
        """The options, if nothing is unclear.

        Raises:
            MicrodataError: Lists what can be read in two ways.
        """
        raise_all(
            MicrodataError,
            self.problems,
            code="ambiguous",
            many="{} features of the file are ambiguous",
            where=str(self.source),
        )
        return self.options

    def toml(self, section: str = "data") -> str:
        """The section of a programme that reads the file so."""
        lines = [f"[{section}]", f"source = {toml_value(self.source.name)}"]
        try:
            default = format_of(self.source, None)
        except MicrodataError:
            default = ""
        if default != self.format:
            lines.append(f"format = {toml_value(self.format)}")
        lines += [f"{key} = {toml_value(getattr(self.options, key))}" for key in self.options.given]
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """All that was understood, for people."""
        width = max(map(len, self.columns), default=0)
        lines = [f"# {self.source}: {self.records:,} records, {len(self.columns)} columns"]
        lines += [f"#   {name:<{width}}  {words}" for name, words in self.columns.items()]
        lines += [f"# {remark}" for remark in self.remarks]
        lines += [self.toml().rstrip()]
        for problem in self.problems:
            lines += [f"# NOT CLEAR  {line}" for line in str(problem).splitlines()]
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        options = {key: getattr(self.options, key) for key in self.options.given}
        return {
            "source": str(self.source),
            "format": self.format,
            "records": self.records,
            "options": json.loads(json.dumps(options, default=list)),
            "columns": dict(self.columns),
            "remarks": list(self.remarks),
            "problems": [
                {"what": problem.what, "where": problem.where, "hint": problem.hint}
                for problem in self.problems
            ],
            "toml": self.toml(),
        }


@without_values
def detect_reading(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    options: ReadingOptions | None = None,
    **stated: Any,
) -> DetectedReading:
    r"""Find out how a file of records is to be read.

    Args:
        source: The file.
        format: Its format, if its name does not tell.
        options: What is known already.
        stated: The same, as for `read_microdata`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_bytes("id;région;revenu\n1;01;1.200,50\n2;02;NA\n".encode("latin-1"))
    >>> print(detect_reading(file).toml())
    [data]
    source = "people.csv"
    null_values = ["NA"]
    decimal = ","
    thousands = "."
    encoding = "latin-1"
    separator = ";"
    text = ["région"]
    """
    known = ReadingOptions.of(stated, options)
    location: object = source
    if not isinstance(location, str | os.PathLike):
        message, hint = "detection works for files only", "give the path of a file"
        raise MicrodataError(message, code="format", where="source", hint=hint)
    path = Path(source)
    stated_names = frozenset(known.given) | {
        key for key, value in stated.items() if value is not None
    }
    if not path.is_file():
        read_path(path, format, None, None, known)  # says what is wrong, or reads a folder
        raise MicrodataError("not a single file", code="format", where=str(path))
    kind = format_of(path, format)
    if kind == "duckdb":
        message = "databases need no detection"
        hint = "read them with table = … or query = …"
        raise MicrodataError(message, code="format", where=str(path), hint=hint)
    known.refuse(kind, str(path))
    if kind == "csv":
        return _of_csv(path, known, stated_names)
    if kind == "excel":
        return _of_workbook(path, known, stated_names)
    return _of_columns(path, kind, known)


def _of_columns(path: Path, kind: str, known: ReadingOptions) -> DetectedReading:
    """A file whose columns have types."""
    frame: pl.DataFrame = collected(read_path(path, kind, None, None, known))
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    held = {profile.name: profile for profile in profiles(frame.lazy(), texts)}
    described = {}
    for name, dtype in frame.schema.items():
        empty = frame[name].null_count()
        words = f"; {empty:,} empty" if empty else ""
        described[name] = (
            described_column(held[name], dtype) if name in held else f"{kind_of(dtype)}{words}"
        )
    numbers = [
        name
        for name, column in held.items()
        if column.numeric and not column.padded and not known.kind(name)
    ]
    return DetectedReading(
        source=path,
        format=kind,
        records=frame.height,
        options=known,
        columns=described,
        remarks=tuple(
            f'{name}: numbers stored as text; types = {{ {toml_key(name)} = "number" }}'
            for name in numbers
        ),
        problems=(),
    )


def _of_csv(path: Path, known: ReadingOptions, stated_names: frozenset[str]) -> DetectedReading:
    raw = raw_bytes(path)
    if not raw:
        check_content(path, "csv")
    remarks = []
    if "encoding" not in known.given:
        encoding, remark = _encoding(raw)
        known, remarks = replace(known, encoding=encoding), remark
    check_content(path, "csv", known.encoding)
    lines = raw[: 1 << 20].decode(known.encoding, errors="replace").removeprefix("\ufeff")
    known, problems = _layout(lines.splitlines()[:_SAMPLE], known, path)
    if problems:
        return DetectedReading(
            source=path, format="csv", records=max(raw.count(b"\n") - 1, 0), options=known,
            columns={}, remarks=tuple(remarks), problems=tuple(problems),
        )  # fmt: skip
    file = CsvFile.opened(path, known)
    file.check_rows()
    with file.readable():
        return _of_texts(path, "csv", file.texts(), known, stated_names, remarks)


def _of_texts(
    path: Path,
    kind: str,
    plan: pl.LazyFrame,
    known: ReadingOptions,
    stated_names: frozenset[str],
    remarks: Sequence[str],
) -> DetectedReading:
    """What the fields of a file tell."""
    named = {name: name.strip() for name in plan.collect_schema().names()}
    if any(old != new for old, new in named.items()) and not known.trim:
        known = replace(known, trim=True)
        plan = plan.rename(named)
    renamed = adapted(nw.from_native(plan), replace(known, trim=False), str(path)).to_native()
    assert isinstance(renamed, pl.LazyFrame)
    names = renamed.collect_schema().names()
    columns = profiles(renamed, names)
    reading = ProfileReading(renamed, columns, known, stated_names)
    options, problems = reading.read()
    kinds: Mapping[str, Any] = dict.fromkeys(names, pl.String())
    if not problems:
        read = read_path(path, kind, None, None, options).lazy().to_native()
        kinds = read.collect_schema()
    return DetectedReading(
        source=path,
        format=kind,
        records=int(renamed.select(pl.len()).collect(engine="streaming").item()),
        options=options,
        columns={item.name: described_column(item, kinds[item.name]) for item in columns},
        remarks=(*remarks, *reading.remarks(options)),
        problems=tuple(problems),
    )


def _encoding(raw: bytes) -> tuple[str, list[str]]:
    """The encoding of a text, and what is to be said of it."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", []
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8", []
    number = sum(byte >= 0x80 for byte in raw)
    encoding = "cp1252" if re.search(rb"[\x80-\x9f]", raw) else "latin-1"
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        encoding = "latin-1"
    remark = (
        f"the text is not UTF-8: {number:,} characters are read as {encoding}; check names and "
        "codes, because other encodings give other letters"
    )
    return encoding, [remark]


def _layout(
    lines: Sequence[str], known: ReadingOptions, path: Path
) -> tuple[ReadingOptions, list[Problem]]:
    """The separator, and how many lines stand before the header."""
    if lines and lines[0].lower().startswith("sep=") and "skip" not in known.given:
        known = replace(known, skip=1, separator=known.separator or lines[0][4:5])
    marks = [known.mark] if known.separator else list(_SEPARATORS)
    scores: dict[str, tuple[float, int]] = {}
    for mark in marks:
        try:
            widths = [len(row) for row in csv.reader(lines[known.skip :], delimiter=mark)]
        except csv.Error:
            widths = []
        width, times = Counter(widths).most_common(1)[0] if widths else (1, 0)
        scores[mark] = (times / max(len(widths), 1) if width > 1 else 0.0, width)
    best = max(marks, key=lambda mark: scores[mark])
    share, width = scores[best]
    if not share:
        best, width = marks[0] if known.separator else ",", 1
    rivals = [mark for mark in marks if mark != best and scores[mark][0] >= share > 0]
    rivals = [mark for mark in rivals if scores[mark][1] == width]
    if rivals:
        message = f"the separator may be {best!r} or {rivals[0]!r}"
        return known, [Problem(message, str(path), 'state it: separator = ";"')]
    if width > 1 and best != ",":
        known = replace(known, separator="tab" if best == "\t" else best)
    if "skip" not in known.given and width > 1:
        rows = list(csv.reader(lines, delimiter=best))
        wide = [at for at, row in enumerate(rows) if len(row) == width]
        full = [at for at in wide if all(name.strip() for name in rows[at])]
        known = replace(known, skip=next(iter([*full, *wide]), 0))  # titles above the header
    head = next(csv.reader(lines[known.skip : known.skip + 1], delimiter=best), [])
    numbers = sum(bool(_NUMBER.fullmatch(name.strip())) for name in head)
    if known.header == 1 and numbers and "skip" not in known.given:
        message = f"line {known.skip + 1} has {numbers} numbers; it may not be a header"
        hint = (
            'if it is a record, add header = 0 with columns = ["id", "sex"]; if it is the '
            "header, add rename"
        )
        return known, [Problem(message, str(path), hint)]
    return known, []


def _of_workbook(
    path: Path, known: ReadingOptions, stated_names: frozenset[str]
) -> DetectedReading:
    from discreet.microdata.workbooks import head_of, read_sheet

    check_content(path, "excel")
    if not {"skip", "header", "columns"} & set(known.given):
        skip, header = head_of(path, known)
        known = replace(known, skip=skip, header=header)
    sheet = read_sheet(path, known)
    marks = ProfileReading(
        sheet.written.lazy(),
        profiles(sheet.written.lazy(), sheet.written.columns),
        known,
        stated_names,
    ).marks()
    if not marks[1] and marks[0] != known:  # what is stored as a number has no marks
        known = marks[0]
        sheet = read_sheet(path, known)
    remarks = [f"{name}: the number format gives it leading zeros" for name in sheet.padded]
    remarks += [f"{name}: dates of the sheet, as 2026-11-21" for name in sheet.dated]
    return _of_texts(path, "excel", sheet.texts.lazy(), known, stated_names, remarks)
