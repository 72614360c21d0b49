"""Pasted tables: cells or records as people paste or upload them, and fields of forms about them.

In: fields of a form, and files (CONFIDENTIAL). Out: frames, and what fields say; each thing that is
wrong with them is noted with the field.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import polars as pl
from starlette.datastructures import FormData, UploadFile

from discreet.errors import Problem
from discreet.tables import ProtectedTable
from discreet_service.cells import BodyKind, RowLimit, read_body
from discreet_service.problems import ServiceError

#: Formats of tables that can be fetched, with the ends of their names.
FORMATS: Mapping[str, str] = {
    "csv": "csv",
    "xlsx": "xlsx",
    "parquet": "parquet",
    "html": "html",
    "json-stat": "json",
}
#: Characters of a field that holds a word or two.
LONGEST = 500
#: The last variable stands at the side of the others if it has so many codes at most.
_WIDEST = 12
_SEPARATORS = ";\t"


async def sent_texts(form: FormData, names: Sequence[str], *, file: str) -> dict[str, str]:
    """The texts of the fields that were sent, with the text of its file."""
    texts = {name: value for name in names if isinstance(value := form.get(name), str)}
    sent = form.get("file")
    if isinstance(sent, UploadFile) and sent.filename:
        try:
            texts[file] = (await sent.read()).decode("utf-8-sig")
        except UnicodeDecodeError:
            texts[file] = ""
    return texts


def pasted_rows(text: str, most: int | RowLimit) -> pl.DataFrame:
    r"""Lines as they are pasted from a file or a spreadsheet, as a frame. CONFIDENTIAL.

    >>> pasted_rows("sex;n\nm;3", 10).rows()
    [('m', '3')]
    """
    return read_body(io.BytesIO(_with_commas(text).encode()), BodyKind.csv, most).frame


def _with_commas(text: str) -> str:
    """Lines of a spreadsheet, with commas between."""
    head = text.partition("\n")[0]
    separator = next((sign for sign in _SEPARATORS if sign in head), "")
    if "," in head or not separator:
        return text
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(
        csv.reader(io.StringIO(text), delimiter=separator)
    )
    return made.getvalue()


def listed_names(text: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


def stated_number(text: str, where: str, problems: list[Problem], kind: type[int | float]) -> Any:
    """A number of a field; None if it is empty."""
    stripped = text.strip().replace(",", ".")
    if not stripped:
        return None
    try:
        return kind(stripped)
    except ValueError:
        message = "a whole number is needed" if kind is int else "a number is needed"
        problems.append(Problem(message, where))
        return None


def stated_trees(text: str, problems: list[Problem]) -> dict[str, Any]:
    """Code trees: a line per code, with the variable before and the code above it behind."""
    found: dict[str, dict[str, str | None]] = {}
    for number, line in enumerate(csv.reader(io.StringIO(text)), start=1):
        parts = [part.strip() for part in line]
        if not any(parts):
            continue
        if len(parts) not in (2, 3) or not parts[0] or not parts[1]:
            hint = "variable, code, code above it; two parts for a code below the total"
            problems.append(Problem(f"line {number} says something else", "trees", hint))
            continue
        found.setdefault(parts[0], {})[parts[1]] = (parts[2:] or [""])[0] or None
    return {name: {"codes": codes} for name, codes in found.items()}


def rows_and_columns(
    by: Sequence[str], cells: Iterable[tuple[tuple[str, ...], Any]]
) -> dict[str, Any]:
    """A table as rows and columns of a page."""
    listed = list(cells)
    across = len(by) > 1 and len({codes[-1] for codes, _ in listed}) <= _WIDEST
    stubs = by[:-1] if across else by
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for codes, shown in listed:
        rows.setdefault(codes[: len(stubs)], {})[codes[-1] if across else ""] = shown
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    return {"stubs": stubs, "across": by[-1] if across else "", "columns": columns, "rows": rows}


def published_cells(
    table: ProtectedTable, by: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The cells of a protected table, its zeros among them, with what is known of each."""
    for row in table.to_polars(complete=True, labels=False).iter_rows(named=True):
        yield tuple(str(row[name]) for name in by), row


def long_texts(form: Any, long: Collection[str]) -> list[Problem]:
    """Fields that hold more than a word or two."""
    return [
        Problem(f"more than {LONGEST} characters", field.name)
        for field in fields(form)
        if field.name not in long and len(getattr(form, field.name)) > LONGEST
    ]


def refused_form(problems: list[Problem]) -> ServiceError:
    """The error for all that is wrong with a form."""
    message = (
        f"{len(problems)} things are wrong with this form" if problems[1:] else problems[0].what
    )
    return ServiceError(message, code="invalid-input", where=problems[0].where, problems=problems)
