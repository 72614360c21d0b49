"""The form of suppression: fields of a page, and what they ask for.

In: fields as people fill them in, a file or pasted cells (CONFIDENTIAL), rules (SECRET). Out: a
frame and a request that the interface would take, too; or all that is wrong with the fields.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import polars as pl
from fastapi import Request

from discreet.errors import Problem
from discreet_service.cells.requests import read_request
from discreet_service.cells.suppression import SuppressionRequest
from discreet_service.studio.pasted_tables import (
    FORMATS,
    listed_names,
    long_texts,
    pasted_rows,
    refused_form,
    sent_texts,
    stated_number,
    stated_trees,
)

_MOST_MARKS = 1_000
#: Fields of any length.
_LONG = ("cells", "trees", "waived", "priced", "prices")


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressionForm:
    """The fields as they were filled in. CONFIDENTIAL.

    Args:
        cells: The cells or records as text, the first line names the columns.
        rows: What a line is: "cells" or "records".
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
        zero_cells: Whether zeros may be hidden to protect others.
        decimals: Digits after the decimal point.
        name: Name of the table.
        format: Format of its file.
        act: "run", "download" or "job".
        waived: Cells that may be shown: their codes as JSON.
        priced: Cells whose cost is asked for, and
        prices: what was said, in the same order.
    """

    cells: str = ""
    rows: str = "cells"
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
    zero_cells: str = "auto"
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
        problems += long_texts(self, _LONG)
        by = listed_names(self.by)
        asked = {
            "by": by,
            "classifications": stated_trees(self.trees, problems),
            "records": self.rows == "records",
            "count": self.count.strip(),
            "value": self.value.strip() or None,
            "largest": listed_names(self.largest) if self.rows == "cells" else [],
            "rules": self._rules(problems),
            "marks": self._marks(by, problems),
            "suppression": {name: getattr(self, name) for name in ("method", "cost", "zero_cells")},
            "decimals": stated_number(self.decimals, "decimals", problems, int) or 0,
            "name": self.name.strip(),
            "format": self.format,
            "language": language,
        }
        if self.rows not in ("cells", "records"):
            problems.append(Problem("a line is a cell or a record", "rows"))
        if self.format not in FORMATS:
            problems.append(Problem("this format is not offered", "format"))
        if problems:
            raise refused_form(problems)
        return pasted_rows(self.cells, most), read_request(SuppressionRequest, asked)

    def _rules(self, problems: list[Problem]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, kind in (("minimum_frequency", int), ("p_percent", float), ("marginal", int)):
            number = stated_number(getattr(self, name), name, problems, kind)
            found |= {} if number is None else {name: number}
        shares = []
        for n in (1, 2):
            name = f"dominance_{n}"
            share = stated_number(getattr(self, name), name, problems, float)
            shares += [] if share is None else [[n, share]]
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
            cost = stated_number(price, "cost", problems, float)
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
    names = [each.name for each in fields(SuppressionForm) if each.default != ()]
    texts: dict[str, Any] = await sent_texts(form, names, file="cells")
    many = {
        name: tuple(str(value) for value in form.getlist(name)[: _MOST_MARKS + 1])
        for name in ("waived", "priced", "prices")
    }
    return SuppressionForm(**(texts | many))


def _codes(place: str) -> list[str] | None:
    try:
        found = json.loads(place)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(code, str) for code in found):
        return None
    return found


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
