"""`read_bounds`: between which values the public knows cells to lie, from a file. CONFIDENTIAL.

In: a CSV file with a row per cell: codes of the spanning variables, `low` and `high`, and the
value column if there are several. Out: `Marks` with these bounds, to be handed to `primary`.
What is known beforehand makes attacks sharper: a bound that is forgotten is a wrong "safe".
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from discreet.errors import Problem, SuppressionError, raise_all
from discreet.rules.marks import Mark, Marks

_BOUNDS = ("low", "high")
#: The column that says which value a row is about.
_VALUE = "value"
_SHOWN = 20


def read_bounds(
    path: str | os.PathLike[str], variables: Sequence[str], *, value: str | None = None
) -> Marks:
    r"""Read what the public knows of single cells.

    Args:
        path: A CSV file. Columns: spanning variables of the table – one that is left out, or
            empty in a row, stands for all its codes –, `low` and `high` in the unit of the
            value (empty: no bound), and perhaps `value`, the value column a row is about.
        variables: The spanning variables of the table.
        value: The value that is published; None for counts ("count" in the file).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "known.csv"
    >>> _ = file.write_text("branch,low,high\nmining,0,500\nTotal,900,\n")
    >>> read_bounds(file, ["branch"])
    <Marks (confidential): 2>
    """
    place = Path(path)
    try:
        text = place.read_text("utf-8-sig")
    except OSError as error:
        message = f"the file of known bounds cannot be read ({error.strerror})"
        raise SuppressionError(message, code="known", where=str(place)) from None
    except UnicodeDecodeError:
        message, hint = "the file of known bounds is not UTF-8 text", "save it as CSV UTF-8"
        raise SuppressionError(message, code="known", where=str(place), hint=hint) from None
    rows = list(csv.reader(io.StringIO(text), delimiter=_separator(text)))
    header = [name.strip() for name in rows[0]] if rows else []
    problems = list(_wrong_header(header, variables))
    raise_all(SuppressionError, problems, code="known", many="{} columns", where=place.name)
    marks: list[Mark] = []
    wrong: list[Problem] = []
    own = "count" if value is None else value
    for line, cells in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        read = _row(dict(zip(header, cells, strict=False)), len(cells) != len(header))
        if isinstance(read, str):
            wrong.append(Problem(read, f"line {line}"))
        elif read.pop(_VALUE, own) in (own, ""):
            low, high = (float(read[name]) if read.get(name) else None for name in _BOUNDS)
            codes = {name: code for name, code in read.items() if code and name not in _BOUNDS}
            marks.append(Mark(cells=codes, low=low, high=high, where=f"line {line}"))
    where = place.name
    raise_all(SuppressionError, wrong, code="known", many="{} rows", where=where, most=_SHOWN)
    return Marks(marks, place.name)


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _wrong_header(header: Sequence[str], variables: Sequence[str]) -> Iterator[Problem]:
    if not set(header) & set(_BOUNDS):
        yield Problem("the file needs a column low or high", "line 1")
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            yield Problem(f"column {name!r} occurs twice", "line 1")
        if name not in (*variables, *_BOUNDS, _VALUE):
            hint = f"columns: {', '.join([*variables, _VALUE, *_BOUNDS])}"
            yield Problem(f"variable {name!r} not found in the table", "line 1", hint)


def _row(cells: dict[str, str], ragged: bool) -> dict[str, str] | str:
    """The texts of a row, or what is wrong with it; numbers are not quoted."""
    if ragged:
        return "the row has another number of columns than the first one"
    read = {name: cell.strip() for name, cell in cells.items()}
    numbers = []
    for name in _BOUNDS:
        if read.get(name):
            try:
                numbers.append(float(read[name]))
            except ValueError:
                return f"{name} is not a number; write it like 1234.5"
            if not math.isfinite(numbers[-1]):
                return f"{name} is not a number; leave it empty for no bound"
    if not numbers:
        return "the row needs low or high"
    if len(numbers) == len(_BOUNDS) and numbers[0] > numbers[1]:
        return "low is above high"
    return read
