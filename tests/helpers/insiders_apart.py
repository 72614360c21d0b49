"""Insiders written apart: what each contributor computes from tables with hidden cells.

In: records, who stands behind each of them, published tables with blanks. Out: the sensitive
cells that somebody computes exactly by taking away the cells in which he is alone. One linear
program per insider, cell and direction; nothing here is shared with the library's own proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet import rules
from tests.helpers.attacker_apart import Attacker, Cell, Sum, Tree, equal_cells, named, sums_over

REGION = {"N": None, "S": None, "N1": "N", "N2": "N", "N3": "N", "S1": "S", "S2": "S"}
TREES: dict[str, Tree] = {
    "region": {code: above or "Total" for code, above in REGION.items()},
    "branch": dict.fromkeys("abcd", "Total"),
    "size": dict.fromkeys(["s", "m", "l"], "Total"),
}
SPANS = {
    "two-way": [["region", "branch"]],
    "three-way": [["region", "branch", "size"]],
    "linked": [["region", "branch"], ["region", "size"], ["branch", "size"]],
}
KINDS = tuple((span, per) for span in SPANS for per in ("record", "holding"))


@dataclass(frozen=True)
class InsiderCase:
    """Tables of records, and who decides about each record."""

    records: pl.DataFrame
    spans: list[list[str]]
    per: str
    tables: list[dc.Table]
    primaries: list[Any]

    def suppressed(self, method: Any = "fast", **options: Any) -> list[dc.ProtectedTable]:
        """What the product makes of it."""
        return dc.suppress(
            list(zip(self.tables, self.primaries, strict=True)), method=method, **options
        )

    def parts(self) -> dict[Cell, dict[Any, int]]:
        """What each contributor has in each cell, counted from the records."""
        first: dict[Cell, list[str]] = {}
        parts: dict[Cell, dict[Any, int]] = {}
        for span in self.spans:
            for row in self.records.iter_rows(named=True):
                for codes in _ancestors(span, row):
                    cell = named(span, codes)
                    if first.setdefault(cell, span) is span:
                        own = parts.setdefault(cell, {})
                        own[row[self.per]] = own.get(row[self.per], 0) + row["turnover"]
        return parts

    def cells(self) -> dict[Cell, tuple[int, frozenset[Any]]]:
        """Value and contributors of each cell."""
        return {cell: (sum(own.values()), frozenset(own)) for cell, own in self.parts().items()}

    def sums(self) -> list[Sum]:
        """How the cells that occur add up."""
        found: list[Sum] = []
        for span in self.spans:
            codes = {each for row in self.records.iter_rows(named=True)
                     for each in _ancestors(span, row)}  # fmt: skip
            found += sums_over(sorted(codes), {name: [TREES[name]] for name in span})
        return found

    def sensitive(self) -> set[Cell]:
        """Cells that the rules mark."""
        found = set()
        for span, table, primary in zip(self.spans, self.tables, self.primaries, strict=True):
            codes = table.to_polars().select(span).rows()
            found |= {named(span, codes[at]) for at in np.flatnonzero(primary.sensitive)}
        return found

    def blanks(self, published: Sequence[dc.ProtectedTable]) -> set[Cell]:
        """Cells that no table shows."""
        shown, blank = set(), set()
        for span, safe in zip(self.spans, published, strict=True):
            frame = safe.to_polars()
            for codes, value in zip(frame.select(span).rows(), frame["value"], strict=True):
                (blank if value is None else shown).add(named(span, codes))
        return blank - shown

    def levels(self) -> dict[Cell, tuple[float, float]]:
        """The lower and the upper protection level of each sensitive cell."""
        found = {}
        for span, table, primary in zip(self.spans, self.tables, self.primaries, strict=True):
            codes = table.to_polars().select(span).rows()
            for at in np.flatnonzero(primary.sensitive):
                both = float(primary.lower[at]), float(primary.upper[at])
                found[named(span, codes[at])] = both
        return found

    def computed(
        self, published: Sequence[dc.ProtectedTable], share: float = 0.0
    ) -> set[tuple[Any, Cell]]:
        """Who computes which sensitive cell of others exactly, or nearer than this share of levels.

        Whoever holds more than half of a cell is nearer by its levels themselves.
        """
        parts, levels, found = self.parts(), self.levels(), set()
        for owner, attacker, sensitive in self.attacks(published):
            for cell in sensitive:
                value, own = sum(parts[cell].values()), parts[cell].get(owner, 0)
                lower, upper = (min(share * level, value) for level in levels[cell])
                low, high = attacker.interval(cell)
                near = low > value - lower + 1e-3 or high < value + upper - 1e-3
                if high - low < 1e-3 or (share and near and 2 * own <= value):
                    found.add((owner, cell))
        return found

    def attacks(
        self, published: Sequence[dc.ProtectedTable]
    ) -> Iterator[tuple[Any, Attacker, list[Cell]]]:
        """Each contributor alone in hidden cells, his attack, and the cells that he attacks."""
        cells, sums, sensitive = self.cells(), self.sums(), self.sensitive()
        same = equal_cells(sums)
        blank = {cell for cell in self.blanks(published) if cell in cells}
        owners = {cell: next(iter(who)) for cell in blank if len(who := cells[cell][1]) == 1}
        for owner in sorted(set(owners.values())):
            known = {cell for cell in blank if owners.get(cell) == owner}
            unknown = {cell: (0.0, 2.0 * cells[cell][0]) for cell in blank - known}
            shown = {cell: float(each[0]) for cell, each in cells.items() if cell not in unknown}
            attacker = Attacker(shown=shown, blanks=unknown, sums=sums)
            attacked = sensitive & set(unknown)
            twins = {cell for cell in attacked if same.get(cell, cell) != cell}
            yield (
                owner,
                attacker,
                sorted(attacked - {cell for cell in twins if same[cell] in attacked}, key=str),
            )


def _ancestors(span: Sequence[str], row: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The codes of all cells that a record counts in."""
    ways: list[tuple[str, ...]] = [()]
    for name in span:
        code, path = row[name], []
        while code is not None:
            path.append(code)
            code = TREES[name].get(code)
        ways = [(*way, each) for way in ways for each in path]
    yield from ways


def insider_case(span: str, per: str, seed: int, size: int = 0) -> InsiderCase:
    """A random case; the same seed gives the same."""
    draw = np.random.default_rng([seed, list(SPANS).index(span), per == "holding"])
    number = size or int(draw.integers(25, 90))
    leaves = [code for code in REGION if code not in REGION.values()]
    record = [f"r{at:03}" for at in range(number)]
    holdings = max(number // 3, 2)
    group = [f"h{draw.integers(holdings):03}" if draw.random() < 0.5 else name for name in record]
    frame = pl.DataFrame(
        {
            "record": record,
            "holding": group,
            "region": draw.choice(leaves, number),
            "branch": draw.choice([*"abcd"], number, p=[0.5, 0.25, 0.15, 0.1]),
            "size": draw.choice(["s", "m", "l"], number, p=[0.6, 0.3, 0.1]),
            "turnover": np.ceil(draw.lognormal(6, 1.2, number)).astype(int) + 10,
        }
    )
    region = dc.Classification.from_parents("region", REGION)
    judged = [rules.MinimumFrequency(3, per=per), rules.PPercent(10, per=per)]
    tables, primaries = [], []
    for names in SPANS[span]:
        by = [region if name == "region" else name for name in names]
        name = "-".join(names)
        table = dc.tabulate(frame, by, values=["turnover"], contributions=3, name=name)
        held = None
        if per == "holding":
            held = rules.count_holdings(frame, by, holding="holding", values=["turnover"])
        tables.append(table)
        primaries.append(dc.primary(table, judged, value="turnover", holdings=held))
    return InsiderCase(
        records=frame, spans=SPANS[span], per=per, tables=tables, primaries=primaries
    )
