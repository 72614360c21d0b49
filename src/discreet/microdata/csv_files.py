"""CSV files, read without loss.

In: a CSV file, perhaps gzipped, in UTF-8 or an encoding that is stated, fields separated by
comma, semicolon, tab or a stated sign. Out: a polars plan. A column is of whole numbers or
floats only if that loses nothing: "01" and "1.10" beside "1.1" stay texts. The types depend on
the whole file, never on its first lines.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import polars as pl

from discreet.errors import MicrodataError, Problem, shortened
from discreet.microdata.reading_options import ReadingOptions
from discreet.microdata.stated_columns import StatedColumns
from discreet.microdata.text_types import NumberSpelling, types_of

SEPARATORS = (",", ";", "\t")
_BELOW = 100  # lines that tell whether the first one is a header
_QUOTED = r'"[^"]*"'


def scan_csv(path: Path, options: ReadingOptions | None = None) -> pl.LazyFrame:
    """A plan that reads the file as it is stated."""
    options = options or ReadingOptions()
    file = CsvFile.opened(path, options)
    file.check_rows()
    if set(options.given) <= {"text", "separator", "encoding", "skip", "header", "columns"}:
        file.check_text(options)
        types = file.types([name for name in file.names if name not in options.text])
        return file.plan({name: types.get(name, pl.String()) for name in file.names})
    with file.readable():
        return StatedColumns(
            plan=file.texts(), options=options, place=file.place, where=str(path), found=True
        ).typed()


@dataclass(frozen=True, kw_only=True, repr=False)
class CsvFile:
    """A CSV file of which the header is known. CONFIDENTIAL."""

    path: Path  # where it is
    content: Path | bytes  # the same path, or what it holds, in UTF-8, if it is in another encoding
    separator: str  # the sign between fields
    names: list[str]  # the columns
    before: int  # number of lines before the first record
    plain: bool  # whether the header is the first line, and nothing stands before it

    @classmethod
    def opened(cls, path: Path, options: ReadingOptions) -> CsvFile:
        """The file with its header read."""
        content = path if is_utf8(options.encoding) else _recoded(path, options.encoding)
        separator = options.mark or _separator(path, content, options.skip)
        names, before = _header(path, content, separator, options)
        return cls(
            path=path,
            content=content,
            separator=separator,
            names=names,
            before=before,
            plain=options.skip == 0 and options.header == 1,
        )

    def plan(self, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
        """A plan of the records with these types."""
        form: dict[str, Any] = {"separator": self.separator, "schema": schema}
        if not self.plain:
            form |= {"has_header": False, "skip_lines": self.before}
        return pl.scan_csv(self.content, null_values=[""], glob=False, **form)

    def texts(self) -> pl.LazyFrame:
        """A plan of the records with all fields as they are."""
        return self.plan(dict.fromkeys(self.names, pl.String()))

    def place(self, row: int, column: str) -> str:
        """Place of a value: its line, unless fields contain line breaks."""
        at = f"line {self.before + row + 1:,}"
        if self._broken_lines:
            at = f"record {row + 1:,}"
        return f"{self.path}, {at}, column {column!r}"

    @property
    def _broken_lines(self) -> bool:
        quotes = pl.col("line").str.count_matches('"', literal=True)
        odd = pl.scan_lines(self.content, glob=False).select((quotes % 2 != 0).any())
        return bool(odd.collect(engine="streaming").item())

    def check_text(self, options: ReadingOptions) -> None:
        """Raise an error for columns that are to be texts and are not there."""
        unknown = [name for name in options.text if name not in self.names]
        if unknown:
            raise MicrodataError(
                "columns to read as text not found",
                code="missing-column",
                where=str(self.path),
                problems=[Problem("column not found", name) for name in unknown],
            )

    def types(self, names: list[str]) -> dict[str, pl.DataType]:
        """The narrowest type of each column that keeps every value, from one pass."""
        with self.readable():
            return types_of(self.texts(), names, NumberSpelling())

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Say in words of our own that fields cannot be told apart."""
        try:
            yield
        except pl.exceptions.ComputeError:
            raise MicrodataError(
                "cannot separate the fields; a quotation mark inside a field may not be doubled",
                code="csv",
                where=str(self.path),
                hint='double it: "say ""hi"""',
            ) from None

    def check_rows(self) -> None:
        """Every line has as many fields as the header.

        Lines are counted in bulk; only files with line breaks inside fields, or with a
        suspicious line, are read field by field.
        """
        width, line = len(self.names), pl.col("line")
        fields = line.str.replace_all(_QUOTED, "").str.count_matches(self.separator, literal=True)
        quotes = line.str.count_matches('"', literal=True)
        lines = pl.scan_lines(self.content, glob=False)
        if not self.plain:
            lines = lines.slice(self.before)
        plan = lines.select(odd=(quotes % 2 != 0).any(), ragged=(fields + 1 != width).any())
        try:
            frame = plan.collect(engine="streaming")
        except pl.exceptions.ComputeError:
            raise _not_utf8(self.path) from None
        except OSError:
            raise _damaged(self.path) from None
        if any(frame.row(0)):
            self._check_fields(width)

    def _check_fields(self, width: int) -> None:
        bad: list[tuple[int, int]] = []
        number, skipped = 0, 0 if self.plain else self.before
        with _opened(self.path, self.content) as file:
            reader = csv.reader(islice(file, skipped, None), delimiter=self.separator, strict=True)
            begins = 1
            for row in reader:
                if len(row) != width and not (width == 1 and not row):
                    number += 1
                    if len(bad) < 5:
                        bad.append((begins + skipped, len(row)))
                begins = reader.line_num + 1
        if bad:
            raise MicrodataError(
                f"{number:,} lines do not have the {width} fields of the header",
                code="csv-ragged",
                where=str(self.path),
                hint="put texts that contain the separator in quotation marks; remove lines "
                "that are not records",
                problems=[
                    Problem(f"{count} fields instead of {width}", f"{self.path}, line {line}")
                    for line, count in bad
                ],
            )


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is the one that plans read by themselves."""
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii")


def is_wide(encoding: str) -> bool:
    """Whether an encoding has zero bytes in plain texts."""
    return encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32"))


def raw_bytes(path: Path) -> bytes:
    """Content of the file, unpacked."""
    raw = path.read_bytes()
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise _damaged(path) from None


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _recoded(path: Path, encoding: str) -> bytes:
    """What a file in another encoding holds, in UTF-8."""
    raw = raw_bytes(path)
    if not is_wide(encoding) and not raw.isascii() and _is_utf8(raw):
        message = f"the text is UTF-8, not {encoding}"
        hint = "remove the encoding; it would change letters such as ä"
        raise MicrodataError(message, code="file-content", where=str(path), hint=hint)
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise MicrodataError(
            f"byte 0x{raw[error.start]:02x} is not {encoding}",
            code="file-content",
            where=f"{path}, line {line:,}",
            hint=f"state another encoding; to detect it, run: discreet detect {path.name}",
        ) from None
    except UnicodeError:
        message = f"the text is not {encoding}"
        raise MicrodataError(message, code="file-content", where=str(path)) from None


@contextmanager
def _opened(path: Path, content: Path | bytes) -> Iterator[IO[str]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    options: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""}
    held = isinstance(content, bytes)
    source: Any = io.BytesIO(content) if isinstance(content, bytes) else path.open("rb")
    unpacked: Any = gzip.GzipFile(fileobj=source) if packed and not held else source
    with source, io.TextIOWrapper(unpacked, **options) as file:
        try:
            yield file
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        except (OSError, EOFError):
            raise _damaged(path) from None
        except csv.Error:
            message = "cannot read a field as CSV; a quotation mark may be open"
            hint = 'close it, or double it inside a field: "say ""hi"""'
            raise MicrodataError(message, code="csv", where=str(path), hint=hint) from None


def _not_utf8(path: Path) -> MicrodataError:
    hint = (
        'state the encoding, such as encoding = "cp1252"; to detect it, run: discreet '
        f"detect {path.name}"
    )
    return MicrodataError("the text is not UTF-8", code="file-content", where=str(path), hint=hint)


def _damaged(path: Path) -> MicrodataError:
    message, hint = "the file is damaged or truncated", "copy or write the file again"
    return MicrodataError(message, code="file-content", where=str(path), hint=hint)


def _separator(path: Path, content: Path | bytes, skip: int) -> str:
    with _opened(path, content) as file:
        line = re.sub(_QUOTED, "", next(islice(file, skip, None), ""))
        below = [re.sub(_QUOTED, "", item) for item in islice(file, _BELOW) if item.strip()]
    counts = {mark: line.count(mark) for mark in SEPARATORS}
    most = max(counts.values())
    best = [mark for mark, count in counts.items() if count == most]
    if most and len(best) > 1:
        message = "the separator is not clear from the header line"
        hint = 'put names that contain separators in quotation marks, or state separator = ";"'
        raise MicrodataError(message, code="csv-separator", where=str(path), hint=hint)
    if not most and below and '"' not in line:
        fields = {mark: {item.count(mark) for item in below} for mark in SEPARATORS}
        if any(len(field) == 1 and 0 not in field for field in fields.values()):
            raise MicrodataError(
                "this line has one field, the lines below have several",
                code="csv-separator",
                where=f"{path}, line {skip + 1}",
                hint=(
                    f"if it is a title, add skip = {skip + 1}; if it is the header, add "
                    'separator = ";"'
                ),
            )
    return best[0]


def _header(
    path: Path, content: Path | bytes, separator: str, options: ReadingOptions
) -> tuple[list[str], int]:
    """The names of the columns, and the number of lines before the first record."""
    if options.header == 0:
        return list(options.columns), options.skip
    with _opened(path, content) as file:
        reader = csv.reader(islice(file, options.skip, None), delimiter=separator)
        rows = list(islice(reader, options.header))
        before = options.skip + reader.line_num
    names = joined_names(rows, trim=options.trim)
    check_header(names, str(path), f"line {options.skip + 1}")
    return names, before


def joined_names(rows: list[list[str]], *, trim: bool = False) -> list[str]:
    """The names of columns whose header has several lines: their parts, with blanks between.

    >>> joined_names([["Person", "Person", ""], ["id", "sex", "region"]])
    ['Person id', 'Person sex', 'region']
    """
    if len(rows) == 1:
        return [name.strip() for name in rows[0]] if trim else rows[0]
    width = max(map(len, rows), default=0)
    columns = ([row[at].strip() for row in rows if at < len(row)] for at in range(width))
    return [" ".join(dict.fromkeys(part for part in parts if part)) for parts in columns]


_NUMBER = re.compile(r"[+-]?[\d.,]+")
_SHOWN = 20
_HEADER_HINT = "correct the header; if a title is above it, add skip = 1"


def check_header(names: list[str], where: str, line: str) -> None:
    """Raise an error unless each column has a name of its own."""
    blank = sum(not name.strip() for name in names)
    repeated = sorted({name for name in names if names.count(name) > 1 and name.strip()})
    problems = [
        Problem("the column name occurs more than once", name, _HEADER_HINT) for name in repeated
    ]
    if repeated and any(_NUMBER.fullmatch(name.strip()) for name in names):
        # Not quoted: these are values.
        message = (
            f"{len(repeated):,} names occur more than once, and some are numbers: the line "
            "may be a record"
        )
        problems = [
            Problem(
                message,
                line,
                "add a line of column names above, or header = 0 with columns",
            )
        ]
    problems = shortened(problems, _SHOWN)
    if blank or not names:
        problems.append(Problem(f"{blank or 1} column(s) lack a name", line, _HEADER_HINT))
    if problems:
        raise MicrodataError(
            "column names in the header are missing or repeated",
            code="duplicate-columns" if repeated else "csv-header",
            where=where,
            hint=_HEADER_HINT,
            problems=problems,
        )
