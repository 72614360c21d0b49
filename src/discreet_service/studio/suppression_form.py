"""The form of suppression: fields of a page, and what they ask for.

In: fields as people fill them in, a file or pasted cells (CONFIDENTIAL), rules (SECRET). Out: a
frame and a request that the interface would take, too; or all that is wrong with the fields.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import polars as pl
from fastapi import Request
from starlette.datastructures import FormData, UploadFile

from discreet.errors import Problem
from discreet_service.cells.bodies import BodyKind, read_body
from discreet_service.cells.suppression import SuppressionRequest, read_request
from discreet_service.problems import ServiceError

#: Formats that can be fetched, with the ends of their names.
FORMATS: Mapping[str, str] = {
    "csv": "csv",
    "xlsx": "xlsx",
    "parquet": "parquet",
    "html": "html",
    "json-stat": "json",
}
_LONGEST, _MOST_MARKS = 500, 1_000
#: Fields of any length.
_LONG = ("cells", "trees", "waived", "priced", "prices")
_SEPARATORS = ";\t"


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressionForm:
    """The fields as they were filled in. CONFIDENTIAL.

    Args:
        cells: The cells as text, the first line names the columns.
        by: Spanning variables, commas between.
        trees: A line per code: variable, code, code above it.
        count: Column of the number of contributors.
        value: Column of the values.
        largest: Columns of the largest contributions.
        minimum_frequency: Fewest contributors of a cell.
        dominance_1: Largest share of the largest contribution, in percent.
        dominance_2: Largest share of the two largest.
        p_percent: How closely contributors may estimate each other, in percent.
        marginal: Difference to a margin.
        method: How a pattern is searched for.
        cost: What hiding a cell costs.
        decimals: Digits after the decimal point.
        name: Name of the table.
        format: Format of its file.
        act: "run", "download" or "job".
        waived: Cells that may be shown: their codes as JSON.
        priced: Cells whose cost is asked for, and
        prices: what was said, in the same order.
    """

    cells: str = ""
    by: str = ""
    trees: str = ""
    count: str = "n"
    value: str = ""
    largest: str = ""
    minimum_frequency: str = "3"
    dominance_1: str = ""
    dominance_2: str = ""
    p_percent: str = ""
    marginal: str = ""
    method: str = "auto"
    cost: str = "value"
    decimals: str = "0"
    name: str = "table"
    format: str = "csv"
    act: str = "run"
    waived: tuple[str, ...] = field(default=())
    priced: tuple[str, ...] = field(default=())
    prices: tuple[str, ...] = field(default=())

    def read(self, most: int, language: str) -> tuple[pl.DataFrame, SuppressionRequest]:
        """The cells, and what is asked of them. CONFIDENTIAL.

        Args:
            most: The largest number of cells.
            language: "en" or "de".
        """
        problems: list[Problem] = []
        if not self.cells.strip():
            problems.append(
                Problem("there are no cells", "cells", "choose a file in UTF-8, or paste them")
            )
        problems += [
            Problem(f"more than {_LONGEST} characters", each.name)
            for each in fields(self)
            if each.name not in _LONG and len(getattr(self, each.name)) > _LONGEST
        ]
        by = _listed(self.by)
        asked = {
            "by": by,
            "classifications": _trees(self.trees, problems),
            "count": self.count.strip(),
            "value": self.value.strip() or None,
            "largest": _listed(self.largest),
            "rules": self._rules(problems),
            "marks": self._marks(by, problems),
            "suppression": {"method": self.method, "cost": self.cost},
            "decimals": _number(self.decimals, "decimals", problems, int) or 0,
            "name": self.name.strip(),
            "format": self.format,
            "language": language,
        }
        if self.format not in FORMATS:
            problems.append(Problem("this format is not offered", "format"))
        if problems:
            raise _refused(problems)
        frame = read_body(io.BytesIO(_with_commas(self.cells).encode()), BodyKind.csv, most).frame
        return frame, read_request(asked)

    def _rules(self, problems: list[Problem]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, kind in (("minimum_frequency", int), ("p_percent", float), ("marginal", int)):
            number = _number(getattr(self, name), name, problems, kind)
            found |= {} if number is None else {name: number}
        shares = [
            [n, share]
            for n in (1, 2)
            if (
                share := _number(getattr(self, f"dominance_{n}"), f"dominance_{n}", problems, float)
            )
            is not None
        ]
        if shares:
            found["dominance"] = shares if len(shares) > 1 else shares[0]
        if not found and not problems:
            hint = "fill in one of them at least"
            problems.append(Problem("no rule says what is sensitive", "rules", hint))
        return found

    def _marks(self, by: list[str], problems: list[Problem]) -> list[dict[str, Any]]:
        decided: dict[str, dict[str, Any]] = {}
        if len(self.priced) != len(self.prices):
            problems.append(Problem("cells and their costs do not belong together", "marks"))
            return []
        for place in self.waived:
            decided.setdefault(place, {})["status"] = "safe"
        for place, price in zip(self.priced, self.prices, strict=True):
            cost = _number(price, "cost", problems, float)
            if cost is not None:
                decided.setdefault(place, {})["cost"] = cost
        marks = []
        for place, said in decided.items():
            codes = _codes(place)
            if codes is None or len(codes) != len(by):
                problems.append(Problem("this is no cell of the table", "marks"))
                continue
            marks.append({"cells": dict(zip(by, codes, strict=True)), **said})
        return marks

    def __repr__(self) -> str:
        return "<SuppressionForm: confidential>"


async def form_of(request: Request) -> SuppressionForm:
    """A dependency: the fields of a form that was sent, with the text of its file."""
    form = await request.form()
    texts = {
        each.name: _text(form, each.name) for each in fields(SuppressionForm) if each.default != ()
    }
    many = {
        name: tuple(str(value) for value in form.getlist(name)[: _MOST_MARKS + 1])
        for name in ("waived", "priced", "prices")
    }
    file = form.get("file")
    if isinstance(file, UploadFile) and file.filename:
        try:
            texts["cells"] = (await file.read()).decode("utf-8-sig")
        except UnicodeDecodeError:
            texts["cells"] = ""
    given: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    return SuppressionForm(**(given | many))


def _text(form: FormData, name: str) -> str | None:
    value = form.get(name)
    if not isinstance(value, str):
        return None
    return value


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(text: str, where: str, problems: list[Problem], kind: type[int | float]) -> Any:
    """A number of a field; None if it is empty."""
    stripped = text.strip().replace(",", ".")
    if not stripped:
        return None
    try:
        return kind(stripped)
    except ValueError:
        what = "a whole number is needed" if kind is int else "a number is needed"
        problems.append(Problem(what, where))
        return None


def _codes(place: str) -> list[str] | None:
    try:
        found = json.loads(place)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        return None
    return found


def _trees(text: str, problems: list[Problem]) -> dict[str, Any]:
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


def _with_commas(text: str) -> str:
    """Cells as they are pasted from a spreadsheet, with commas between."""
    head = text.partition("\n")[0]
    separator = next((sign for sign in _SEPARATORS if sign in head), "")
    if "," in head or not separator:
        return text
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(
        csv.reader(io.StringIO(text), delimiter=separator)
    )
    return made.getvalue()


def _refused(problems: list[Problem]) -> ServiceError:
    what = f"{len(problems)} things are wrong with this form" if problems[1:] else problems[0].what
    return ServiceError(what, code="invalid-input", where=problems[0].where, problems=problems)


@cache
def example_form() -> SuppressionForm:
    """A form with turnover of the invented firms of the demonstration.

    >>> example_form().by
    'branch, state'
    """
    from discreet import tabulate
    from discreet.demo.classifications import coded
    from discreet.demo.firms import firms_of
    from discreet.demo.geography import Geography

    branch = coded("branch")
    firms = firms_of(Geography.of(20_000, seed=2026))
    table = tabulate(firms, by=[branch, "state"], values=["turnover"], contributions=2)
    held = table.contributions["turnover"]
    cells = pl.DataFrame(
        {
            name: [dimension.codes[at] for at in part]
            for name, dimension, part in zip(
                ("branch", "state"), table.dimensions, table.index, strict=True
            )
        }
        | {
            "n": table.count,
            "turnover": table.sums["turnover"],
            "first": held.top[:, 0],
            "second": held.top[:, 1],
        }
    ).with_columns(pl.col("turnover", "first", "second").fill_nan(None).cast(pl.Int64))
    lines = [
        f"branch,{code}" + (f",{branch.codes[above]}" if above else "")
        for code, above in zip(branch.codes, branch.parents, strict=True)
        if above >= 0
    ]
    return SuppressionForm(
        cells=cells.write_csv(),
        by="branch, state",
        trees="\n".join(lines),
        value="turnover",
        largest="first, second",
        p_percent="10",
        name="turnover",
    )
