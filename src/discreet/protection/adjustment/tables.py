"""`adjust`: sensitive figures move to a safe distance, others as little as possible.

In: confidential tables with what is sensitive in them, and a secret. Out: `ProtectedTable`s without
a blank, in which sums are sums: this is where the confidentiality line is crossed. `Adjustment`
keeps what led there, CONFIDENTIAL, for audits and reports.

The reader knows which figures are sensitive, their protection levels and by how much more they
moved at most, which totals stayed, and that sums were kept. Of each sensitive figure he asks
whether the true one can lie above the published one, and below it. Where only one side is possible,
the figure is open: the true one lies in an interval narrower than its levels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential, without_values
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import AdjustmentError, raise_all
from discreet.microdata import Secret
from discreet.protection.adjustment.moves import MoveProblem, Moves, best_moves
from discreet.protection.adjustment.settings import AdjustmentSettings
from discreet.protection.suppression import CellState, SuppressionProblem, build_problem
from discreet.settings import setting_problems
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet.tables import CellStatus, Figure, ProtectedTable, Table, heading, note_of

#: More sensitive figures than this are not asked for one by one.
MOST_ASKED = 5_000
_NEAR = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AdjustmentAudit(Judged):
    """On which sides readers find the true figures possible. CONFIDENTIAL."""

    sensitive: tuple[str, ...]  # names of the sensitive cells
    above: BoolArray  # of each: whether the true figure can lie above the published one
    below: BoolArray  # whether below
    guessed: bool  # whether readers can guess how far each figure moved
    unasked: int  # sensitive cells that were not asked for
    unexamined: tuple[Gap, ...]  # what no reader was asked for

    @property
    def judgement(self) -> DisclosureVerdict:
        """Open: figures whose side is known. Cells that were not asked for are a gap."""
        names = np.array(self.sensitive, dtype=np.object_)
        gaps = list(self.unexamined)
        if self.sensitive:  # who contributes knows part of a figure, and perhaps its side
            gaps.append(Gap("sides", number=len(self.sensitive)))
        if self.unasked:
            gaps.append(Gap("estimates", "sides of sensitive figures", self.unasked))
        return DisclosureVerdict.of(names[~(self.above & self.below)].tolist(), gaps)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReaderKnowledge(Confidential):
    """Intervals of a reader who knows the rule. CONFIDENTIAL."""

    problem: SuppressionProblem  # which figures are sensitive, and what adds up to what
    stays: BoolArray  # which figures are the true ones
    up: IntArray  # of each sensitive figure: how far it moved at least if it went up
    down: IntArray  # if it went down
    spread: float  # by which share of that it may have moved farther
    most: float  # by which share of itself any other figure may have moved
    unexamined: tuple[Gap, ...]  # which ties between the tables were not looked for

    def sides(self, published: IntArray) -> AdjustmentAudit:
        """Ask for each sensitive figure on which side of it the true one can lie."""
        problem, cells = self.problem, self.problem.primary
        # Back from a published figure to the true one: below it where it went up, above where down.
        size = np.abs(published).astype(np.float64)
        others = self.most < 1.0
        above = size * self.most / (1.0 - self.most) if others else np.full(len(size), np.inf)
        below = size * self.most / (1.0 + self.most) if others else size.copy()
        # Sensitive figures move farther where others ask for it: at most they double.
        above[cells] = np.inf
        below[cells] = np.maximum(size[cells] / 2.0, 2.0 * np.ceil(self.up * (1.0 + self.spread)))
        above[self.stays] = below[self.stays] = 0.0
        # What everybody knows of the true figures, such as that counts are not negative.
        below = np.minimum(below, np.where(problem.low >= 0, published, np.inf))
        solver = loaded_solver(
            problem.relations.matrix, -np.maximum(below, 0.0), np.maximum(above, 0.0)
        )
        possible = np.ones((2, len(cells)), dtype=np.bool_)
        for at, cell in enumerate(cells[:MOST_ASKED].tolist()):
            for side, (wish, least) in enumerate(((-1.0, self.down[at]), (1.0, self.up[at]))):
                solver.changeColCost(cell, wish)
                solver.run()
                reached = -wish * column_values(solver)[cell] if is_optimal(solver) else np.inf
                possible[side, at] = reached >= least - _NEAR
            solver.changeColCost(cell, 0.0)
        return AdjustmentAudit(
            sensitive=tuple(problem.name(at) for at in cells.tolist()),
            above=possible[0],
            below=possible[1],
            guessed=self.spread == 0,
            unasked=max(0, len(cells) - MOST_ASKED),
            unexamined=self.unexamined,
        )


#: Name of the method in the provenance of a table.
METHOD = "controlled tabular adjustment"
_PACKAGE = "discreet.protection.adjustment"
#: The lightest change weighs so much of the dearest at least, so that the solver tells them apart.
_LIGHTEST = 1e-4
#: So often figures whose side is known are turned, before they are refused.
_TURNS = 4


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Adjustment(Confidential):
    """Adjusted tables, and all that is known about them (confidential)."""

    tables: tuple[ProtectedTable, ...]  # what may be published
    problem: SuppressionProblem  # all cells as one system
    moves: Moves  # how far each of them moved
    knowledge: ReaderKnowledge  # what a reader knows who knows the rule
    audit: AdjustmentAudit  # what he works out

    @classmethod
    def of(
        cls,
        tables: Sequence[tuple[Table, Any]] | tuple[Table, Any],
        settings: AdjustmentSettings | None = None,
        *,
        secret: Secret | str | None = None,
        value: str | None = None,
        decimals: int = 0,
        records: Any = None,
        titles: Mapping[str, str] | None = None,
        universe: Mapping[str, str] | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> Adjustment:
        """Adjust, and keep what led there; arguments as for `adjust`."""
        chosen = settings or AdjustmentSettings()
        listed = [tables] if isinstance(tables[0], Table) else list(tables)
        sources: list[Any] = listed
        if value is None:
            value = next((getattr(found, "value", None) for _, found in sources), None)
        if value is None and any(table.weight is not None for table, _ in sources):
            message = "weighted estimates cannot be adjusted"
            raise AdjustmentError(
                message, code="weight", hint="remove the weights, or use rounding"
            )
        problem, members = build_problem(
            sources, value=value, decimals=decimals, records=records, cost="unity"
        )
        problem.check()
        drawn = 0.0 if not chosen.spread else _spread(problem, chosen, secret)
        official = members.gathered(
            [_official(table, chosen.official) for table, _ in sources], len(problem)
        )
        up, down = _levels(problem)
        knowledge = ReaderKnowledge(
            problem=problem,
            stays=official | (problem.state == CellState.fixed),
            up=up,
            down=down,
            spread=float(chosen.spread),
            most=float(chosen.most),
            unexamined=members.unexamined,
        )
        asked = _move_problem(problem, chosen, official, up, down, drawn)
        moves = best_moves(asked, chosen.rounds)
        audit = knowledge.sides(problem.value + moves.change)
        for _ in range(_TURNS):  # what can have gone one way only goes the other way
            if not audit.judgement.opened:
                break
            asked = asked.turned(audit.above & audit.below, moves.change)
            moves = best_moves(asked, min(chosen.rounds, 1))
            audit = knowledge.sides(problem.value + moves.change)
        published = []
        for at, (table, _) in enumerate(sources):
            cells = members.cells[at]
            there = cells >= 0
            units = np.where(there, members.values[at] + moves.change[cells], members.values[at])
            stays = there & official[cells]
            status = np.where(units == 0, CellStatus.zero_or_changed_to_zero, CellStatus.published)
            status = np.where(stays, CellStatus.official, status)
            figures = () if value is None else (Figure(name=value, kind="sum", decimals=decimals),)
            published.append(
                ProtectedTable(
                    dimensions=table.dimensions,
                    index=table.index,
                    value=units if decimals == 0 else units / 10.0**decimals,
                    status=status.astype(np.int8),
                    parts=table.parts,
                    notes=(note_of(_PACKAGE, "adjusted"),),
                    figures=figures,
                    name=table.name,
                    **heading(METHOD, titles, universe, digests),
                )
            )
        return cls(
            tables=tuple(published),
            problem=problem,
            moves=moves,
            knowledge=knowledge,
            audit=audit,
        )


@without_values
def adjust(
    tables: Any,
    primary: Any = None,
    *,
    secret: Secret | str | None = None,
    decimals: int = 0,
    value: str | None = None,
    records: Any = None,
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    **settings: Any,
) -> Any:
    """Move sensitive figures to a safe distance and others as little as possible.

    No cell is hidden and sums stay sums, in all tables together. A reader does not know which
    figures were sensitive, nor on which side the true one lies; the guarantee is weaker than that
    of suppression: who guesses the side is right in one of two cases. Where a reader who knows the
    rule works out the side of a figure, it is an error.

    Args:
        tables: A table, or pairs of tables of the same records and what is sensitive in them.
        primary: What `primary` found in the one table, or a mask of its sensitive cells.
        secret: What it is drawn from how far sensitive figures go beyond their protection level.
        decimals: Digits after the decimal point that are published.
        value: The value column that is published; that of `primary` unless stated.
        records: What the tables were counted from: cells of the same records move together
            whatever columns are called.
        titles: language → heading.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.
        settings: `weights`, `official`, `spread`, `most` and `rounds`, as for
            `AdjustmentSettings`.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [70, 30, 40]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> safe = adjust(table, np.array([False, True, False]), spread=0, official=["sex"])
    >>> sorted(abs(new - old) for new, old in zip(safe.to_polars()["value"], [70, 30, 40]))
    [0, 1, 1]
    """
    try:
        chosen = AdjustmentSettings(**settings)
    except ValidationError as error:
        problems = setting_problems(error)
        raise_all(AdjustmentError, problems, code="adjustment", many="{} options are wrong")
        raise
    alone = isinstance(tables, Table)
    pairs = [(tables, primary)] if alone else list(tables)
    done = Adjustment.of(
        pairs, chosen, secret=secret, decimals=decimals, value=value, records=records,
        titles=titles, universe=universe, digests=digests,
    )  # fmt: skip
    if opened := done.audit.judgement.opened:
        message = f"the direction of the change of {len(opened):,} sensitive values can be computed"
        hint = "fix fewer totals, allow larger changes, or use suppression"
        raise AdjustmentError(message, code="side", hint=hint)
    return done.tables[0] if alone else done.tables


def _levels(problem: SuppressionProblem) -> tuple[IntArray, IntArray]:
    """How far each sensitive cell moves at least, up or down: by its level, by a unit without."""
    cells = problem.primary
    least = np.maximum(-(-problem.sliding[cells] // 2), 1)
    up, down = np.maximum(problem.upper[cells], least), np.maximum(problem.lower[cells], least)
    return up.astype(np.int64), down.astype(np.int64)


def _spread(
    problem: SuppressionProblem, settings: AdjustmentSettings, secret: Secret | str | None
) -> FloatArray:
    """By which share of its level each sensitive cell moves farther; by secret and name. SECRET."""
    if secret is None:
        message = "spread needs a secret for random draws"
        hint = "add a secret, or use spread=0, which lets readers guess the size of the changes"
        raise AdjustmentError(message, code="secret", hint=hint)
    plain = b"plain\0" + secret.encode() if isinstance(secret, str) else secret.derive("adjustment")
    key = hashlib.sha256(b"discreet adjustment 1\0" + plain).digest()
    drawn = [
        int.from_bytes(hashlib.blake2b(problem.name(at).encode(), key=key).digest()[:8])
        for at in problem.primary.tolist()
    ]
    return np.array(drawn, dtype=np.float64) * (float(settings.spread) / 2.0**64)


def _official(table: Table, variables: Sequence[str]) -> BoolArray:
    """The totals of some variables, and the total of all if there are any."""
    by = [dimension.name for dimension in table.dimensions]
    unknown = [name for name in variables if name not in by]
    if unknown:
        message = f"{', '.join(unknown)} is not a spanning variable of {table.name}"
        raise AdjustmentError(message, code="by", where="official", hint=f"by: {', '.join(by)}")
    stays = np.zeros(len(table), dtype=np.bool_)
    for name in variables:
        others = [part for own, part in zip(by, table.index, strict=True) if own != name]
        stays |= np.all([part == 0 for part in others], axis=0) if others else table.index[0] == 0
    return stays


def _move_problem(
    problem: SuppressionProblem,
    settings: AdjustmentSettings,
    official: BoolArray,
    up: IntArray,
    down: IntArray,
    drawn: FloatArray | float,
) -> MoveProblem:
    """Who may move how far, and at what cost."""
    size, cells = np.abs(problem.value), problem.primary
    far_up, far_down = (np.ceil(each * (1.0 + drawn)).astype(np.int64) for each in (up, down))
    own = np.floor(settings.most * size).astype(np.int64)
    own[problem.state == CellState.fixed] = 0
    most_up, most_down = own, own.copy()
    # A sensitive figure has room for its own level and for what others ask of it.
    most_up[cells] = np.maximum(size[cells], 2 * far_up)
    most_down[cells] = np.maximum(size[cells], 2 * far_down)
    most_up, most_down = (np.where(official, 0, each) for each in (most_up, most_down))
    # What is never negative does not become so; and where a sensitive figure went down, it stays
    # so large that it could have gone up.
    floor = np.zeros_like(own)
    floor[cells] = far_up + 1
    most_down = np.where(problem.low >= 0, np.clip(problem.value - floor, 0, most_down), most_down)
    if stuck := int(official[cells].sum()):
        message = f"{stuck:,} sensitive values are fixed totals"
        hint = "remove their variables from official, or use suppression"
        raise AdjustmentError(message, code="official", where="official", hint=hint)
    power = {"equal": 0.0, "root": 0.5, "relative": 1.0}[settings.weights]
    weight = np.maximum(size, 1).astype(np.float64) ** -power
    return MoveProblem(
        relations=problem.relations,
        sensitive=cells,
        up=far_up,
        down=far_down,
        most_up=most_up,
        most_down=most_down,
        weight=np.maximum(weight, _LIGHTEST * weight.max(initial=0.0)),
    )
