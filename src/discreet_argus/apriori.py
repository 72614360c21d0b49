"""A-priori files (`.hst`): what people decided about single cells.

In: lines of codes and a command. Out: `Marks` for `primary`; and back. CONFIDENTIAL.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import Problem, SuppressionError, raise_all
from discreet.files import write_text
from discreet.rules import Mark, Marks
from discreet_argus.texts import (
    open_text,
    parsed_number,
    refuse_lines,
    split_fields,
    without_comment,
)

_STATUS = {"s": "safe", "u": "unsafe", "p": "protected", "m": "secondary", "ml": "secondary"}
_NUMBERS = {"c": ("cost",), "w": ("cost",), "pl": ("lower", "upper"), "ab": ("low", "high")}
_LETTERS = {"safe": "s", "unsafe": "u", "protected": "p", "secondary": "m"}
_SEPARATORS = (";", ",", "\t", "|")


def read_hst(
    path: str | os.PathLike[str],
    variables: Sequence[str],
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> Marks:
    r"""Read an a-priori file.

    Codes lose blanks at both ends unless they stand in quotes.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "manual.hst"
    >>> _ = file.write_text("01;Total;u\nTotal;m;c;5")
    >>> read_hst(file, ["region", "sex"])
    <Marks (confidential): 2>
    """
    text = open_text(path, encoding)
    lines = [(at, without_comment(line)) for at, line in text.lines]
    lines = [(at, line) for at, line in lines if line.strip()]
    sign = separator or _separator(lines[0][1] if lines else "", str(text.path))
    marks, problems = [], []
    for at, line in lines:
        where = text.place(at)
        mark = _mark(split_fields(line, sign), variables, where)
        if isinstance(mark, Mark):
            marks.append(mark)
        else:
            problems.append(mark)
    refuse_lines(text, problems)
    return Marks(marks, text.path.name)


def _separator(line: str, path: str) -> str:
    found = [sign for sign in _SEPARATORS if sign in line]
    if not found:
        message = "the separator is not clear from the first line"
        hint = 'state it, such as separator=";"'
        raise SuppressionError(message, code="argus-file", where=path, hint=hint)
    return found[0]


def _mark(row: Sequence[str], variables: Sequence[str], where: str) -> Mark | Problem:
    """The mark of one line, or what is wrong with it."""
    codes, rest = row[: len(variables)], [field for field in row[len(variables) :] if field]
    if not rest:
        message = f"expected {len(variables)} codes and a command"
        return Problem(message, where, f"codes of: {', '.join(variables)}")
    command = rest[0].lower()
    cells = dict(zip(variables, codes, strict=True))
    if command in _STATUS and len(rest) == 1:
        return Mark(cells=cells, status=_STATUS[command], where=where)  # type: ignore[arg-type]
    if command not in {*_STATUS, *_NUMBERS}:
        known = ", ".join([*_STATUS, *_NUMBERS])
        return Problem(f"unknown command {rest[0]!r}", where, f"known: {known}")
    wanted = _NUMBERS.get(command, ())
    numbers = [parsed_number(field) for field in rest[1:]]
    if len(numbers) != len(wanted) or None in numbers:
        message = f"{len(wanted) or 'no'} numbers follow the command {command}"
        return Problem(message, where)
    return Mark(cells=cells, where=where, **dict(zip(wanted, numbers, strict=True)))  # type: ignore[arg-type]


def write_hst(
    marks: Marks | Sequence[Mark],
    path: str | os.PathLike[str],
    variables: Sequence[str],
    *,
    separator: str = ";",
) -> Path:
    """Write an a-priori file, readable by its owner only."""
    listed, lines, problems = Marks.of(marks), [], []
    for at, mark in enumerate(listed, 1):
        where = mark.where or f"mark {at}"
        if set(mark.cells) != set(variables):
            hint = "give a code of every variable; for totals, the code of the total"
            problems.append(Problem("the mark does not name a single cell", where, hint))
            continue
        codes = [mark.cells[name] for name in variables]
        if any('"' in code or "\n" in code for code in codes) or mark.sliding is not None:
            message = "the format has no quotes in codes and no sliding levels"
            problems.append(Problem(message, where))
            continue
        head = [f'"{code}"' for code in codes]
        lines += [separator.join([*head, *command]) for command in _commands(mark)]
    raise_all(SuppressionError, problems[:20], code="argus-file")
    write_text(path, "".join(f"{line}\n" for line in lines), private=True)
    return Path(path)


def _commands(mark: Mark) -> list[list[str]]:
    commands = [[_LETTERS[mark.status]]] if mark.status else []
    if mark.cost is not None:
        commands.append(["c", f"{mark.cost:.17g}"])
    if mark.lower is not None or mark.upper is not None:
        commands.append(["pl", f"{mark.lower or 0:.17g}", f"{mark.upper or 0:.17g}"])
    if mark.low is not None and mark.high is not None:
        commands.append(["ab", f"{mark.low:.17g}", f"{mark.high:.17g}"])
    return commands
