"""Opening perturbation table files and telling their formats apart by content.

In: a path. Out: the text, its header and the name of its format. SECRET: the
text is never quoted in an error.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from discreet.errors import PerturbationError

__all__ = ["COLUMNS", "FORMATS", "Format", "Source", "check_format", "open_source"]

Format = Literal["intervals", "argus", "ons", "cumulative", "json"]
FORMATS: tuple[str, ...] = get_args(Format)

#: The names under which each column is met.
COLUMNS = {
    "i": {"i"},
    "j": {"j"},
    "p": {"p", "p_ij"},
    "v": {"v"},
    "lower": {"lb", "p_int_lb", "p_ij_lb"},
    "upper": {"ub", "p_int_ub", "p_ij_ub"},
    "type": {"type"},
}

_KNOWN = (
    "known: interval CSV (i, j, p, v, lower and upper bound), τ-ARGUS (i;j;p;v;upper bound), "
    "pcv/ckey/pvalue, cumulative matrix (count, then one column per noise), JSON of this package"
)


@dataclass(frozen=True, repr=False)
class Source:
    """An opened file.

    Args:
        name: Its name, for errors.
        content: Its bytes, unpacked.
    """

    name: str
    content: bytes

    @cached_property
    def text(self) -> str:
        """The content as text."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PerturbationError(
                "the file is not a text file",
                code="perturbation-file",
                where=self.name,
                hint=_KNOWN,
            ) from None

    @cached_property
    def delimiter(self) -> str:
        """What separates the columns, by the first line."""
        return max(";,\t", key=self._first_line.count)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """Names of the columns, in small letters."""
        cells = self._split(self._first_line)[:1]
        return tuple(cell.strip().lower() for cell in cells[0]) if cells else ()

    def rows(self) -> list[tuple[int, list[str]]]:
        """The lines below the header that are not blank, with their numbers."""
        return [
            (number, [cell.strip() for cell in cells])
            for number, cells in enumerate(self._split(self.text), 1)
            if number > 1 and any(cell.strip() for cell in cells)
        ]

    @property
    def _first_line(self) -> str:
        end = self.text.find("\n")
        return self.text if end < 0 else self.text[:end]

    def _split(self, text: str) -> list[list[str]]:
        lines = io.StringIO(text, newline="")
        try:
            return list(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True))
        except csv.Error:
            raise PerturbationError(
                "the lines cannot be split into columns", code="perturbation-file", where=self.name
            ) from None

    def place(self, column: str) -> int | None:
        """Where a column stands, whatever it is called."""
        for at, name in enumerate(self.header):
            if name in COLUMNS[column]:
                return at
        return None

    def detect(self) -> Format:
        """The format, by content."""
        start = self.content[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"{"):
            return "json"
        if {"pcv", "ckey", "pvalue"} <= set(self.header):
            return "ons"
        if self.place("i") is not None and self.place("v") is not None:
            if self.place("upper") is not None:
                return "argus" if self.place("lower") is None else "intervals"
        elif len(self.header) > 1 and all(_whole(name) for name in self.header[1:]):
            return "cumulative"
        raise PerturbationError(
            "this is not a perturbation table of a known format",
            code="perturbation-file",
            where=self.name,
            hint=_KNOWN,
        )

    def json(self) -> object:
        """The content as JSON."""
        try:
            return json.loads(self.text)
        except (json.JSONDecodeError, RecursionError):
            raise PerturbationError(
                "the file is not valid JSON", code="perturbation-file", where=self.name
            ) from None

    def __repr__(self) -> str:
        return f"<Source {self.name}: secret>"


def _whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def check_format(name: str | None) -> None:
    """Raise unless `name` is a format or None."""
    if name is not None and name not in FORMATS:
        raise PerturbationError(
            f"there is no format {name!r}",
            code="perturbation-format",
            hint="formats: " + ", ".join(FORMATS),
        )


def open_source(path: str | os.PathLike[str]) -> Source:
    """Read a file, unpacking it if it is gzipped."""
    given: object = path
    if not isinstance(given, str | os.PathLike):
        raise PerturbationError(
            f"the path of a file is needed, this is a {type(given).__name__}",
            code="perturbation-file",
            hint='such as PerturbationTable.read("ptable.csv")',
        )
    place = Path(path)
    try:
        content = place.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise PerturbationError(
            f"the perturbation table cannot be read ({why})",
            code="perturbation-file",
            where=str(place),
        ) from None
    if not content.strip():
        raise PerturbationError("the file is empty", code="perturbation-file", where=str(place))
    return Source(place.name, content)
