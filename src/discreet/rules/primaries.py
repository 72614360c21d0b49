"""`primary`: rules and marks applied to a table. CONFIDENTIAL.

In: a confidential `Table`, secret rules, confidential marks; or one row per cell with its codes,
true value and a status that was decided elsewhere. Out: `Primary`: which cells are sensitive, why,
and how well they are to be hidden. That a cell is sensitive, and how far, says something about its
contributors. A status that is not known, or could be meant in two ways, is refused: what is taken
for safe would be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import without_values
from discreet.errors import Problem, SuppressionError, TableError, raise_all
from discreet.microdata import parse_filter
from discreet.rules.contributors import MissingSafe, NothingSensitive
from discreet.rules.evidence import (
    CellEvidence,
    CellLookup,
    Style,
    holding_evidence,
    places_in,
    record_evidence,
    with_unwaived,
)
from discreet.rules.holdings import SEVERAL, Waivers, lone_contributors
from discreet.rules.marks import Mark, MarkedCells, Marks, Status, mark_cells, raise_marks
from discreet.rules.protocol import (
    CodeRules,
    Reason,
    Rule,
    choice,
    number,
    raise_parameters,
    scoped_rules,
)
from discreet.tables import Table, to_polars

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables import Spanning


class CellVerdict(IntEnum):
    """Verdict of rules and marks on a cell; numbers as in suppression problems."""

    free = 0
    sensitive = 1
    fixed = 2
    secondary = 3


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Primary:
    """Verdicts on the cells of a table, in their order (confidential).

    Args:
        table: Name of the table.
        value: The value column; None for counts, "weight" for sums of weights.
        verdict: `CellVerdict` of each cell: sensitive cells must be hidden, fixed ones must be
            published, secondary ones are hidden already.
        reason: `Reason` of each sensitive cell: that of the first rule that marks it.
        rules: Which cells each rule marks, rules × cells, in the order of the rules and
            before marks.
        rule_status: What SDMX calls the cells of each rule, in the same order; empty where
            nobody says, and all are "C".
        lower: Lower protection levels, in the unit of the value; 0 where none is asked for.
        upper: Upper protection levels.
        sliding: Sliding protection levels.
        cost: What marks say hiding a cell costs; NaN where they say nothing.
        low: What marks say attackers know beforehand: no smaller; NaN for nothing.
        high: No larger.
        at_most: What follows for who knows that, and by which number, a rule marks the
            cell: no more is published, in the unit of the value; infinite for nothing.
        at_least: For who knows that no such rule marks it: no less; minus infinite for nothing.
        opens: Whether its reason, if told, would make it as good as known.
        weighted: Whether rules took a record as often as its weight says; None where the
            table has no weights.
        waived: Cells that a rule would mark, had nobody consented to be shown: for the log.
        contributor: A number that stands for the only contributor of each cell, his holding where
            holdings are known; see `lone_contributors`.
    """

    table: str
    value: str | None
    verdict: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    rules: BoolArray
    rule_status: tuple[str, ...] = ()
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    cost: FloatArray
    low: FloatArray
    high: FloatArray
    at_most: FloatArray
    at_least: FloatArray
    opens: BoolArray
    weighted: bool | None
    waived: BoolArray
    contributor: IntArray

    def __post_init__(self) -> None:
        columns = (self.reason, self.lower, self.upper, self.sliding, self.cost, self.waived)
        known = (self.low, self.high, self.at_most, self.at_least, self.opens)
        lengths = {len(column) for column in (*columns, *known, self.contributor)}
        complete = not self.rule_status or len(self.rule_status) == len(self.rules)
        if lengths | {self.rules.shape[1]} != {len(self.verdict)} or not complete:
            raise SuppressionError("the columns of the primaries differ in length", code="primary")

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def sensitive(self) -> BoolArray:
        """Cells that must be hidden."""
        return self._are(CellVerdict.sensitive)

    @property
    def fixed(self) -> BoolArray:
        """Cells that must be published."""
        return self._are(CellVerdict.fixed)

    @property
    def secondary(self) -> BoolArray:
        """Cells that are hidden already."""
        return self._are(CellVerdict.secondary)

    def _are(self, verdict: CellVerdict) -> BoolArray:
        mask: BoolArray = self.verdict == verdict
        return mask

    def conf_status(self) -> npt.NDArray[np.str_]:
        """SDMX status (CL_CONF_STATUS) of each cell if it is hidden. CONFIDENTIAL.

        That of the first rule that marks a sensitive cell; "G" where one unit dominates it and
        two do, "C" of cells marked by hand, and "D" of all that are hidden to protect others.
        """
        status = np.full(len(self), "D")
        status[self.sensitive] = "C"
        for code, marks in reversed(list(zip(self.rule_status, self.rules, strict=False))):
            status[marks & self.sensitive] = code
        own = np.array(self.rule_status, dtype=np.str_)
        single, double = (
            self.rules[np.flatnonzero(own == code)].any(axis=0) for code in ("O", "T")
        )
        status[single & double & np.isin(status, ("O", "T"))] = "G"
        return status

    def numbers(self) -> dict[str, int]:
        """Numbers of sensitive cells by code of the reason."""
        counts = np.unique(self.reason[self.sensitive], return_counts=True)
        return {Reason(which).code: int(count) for which, count in zip(*counts, strict=True)}

    def to_polars(self, table: Table) -> pl.DataFrame:
        """The verdicts beside the cells of their table, as a frame. CONFIDENTIAL.

        Args:
            table: The table that was judged.
        """
        import polars as pl

        if len(table) != len(self):
            raise SuppressionError(
                "the primaries belong to another table", code="primary", where=table.name
            )
        codes = {
            dimension.name: pl.Series(dimension.codes, dtype=pl.String).gather(part)
            for dimension, part in zip(table.dimensions, table.index, strict=True)
        }
        distinct, which = np.unique(self.reason, return_inverse=True)
        reasons = pl.Series([Reason(item).code for item in distinct], dtype=pl.String)
        return pl.DataFrame(
            {
                **codes,
                "verdict": pl.Series([item.name for item in CellVerdict]).gather(self.verdict),
                "reason": reasons.gather(which),
                "lower": self.lower,
                "upper": self.upper,
                "sliding": self.sliding,
            }
        )

    def __repr__(self) -> str:
        return f"<Primary {self.table} (confidential): {len(self):,} cells>"


_LEVELS = ("lower", "upper", "sliding")


@without_values
def primary(
    table: Table,
    rules: Sequence[Rule | CodeRules | MissingSafe | NothingSensitive],
    *,
    value: str | None = None,
    marks: Marks | Sequence[Mark] | None = None,
    holdings: Table | None = None,
    waivers: Waivers | None = None,
    shadow: str | None = None,
    weighted: bool = True,
    levels: Style = "symmetric",
    manual_range: float = 20.0,
    unit: float = 1.0,
    unmatched: Literal["refuse", "ignore"] = "refuse",
) -> Primary:
    """Say which cells of a table are sensitive (Primärsperrung), why, and how far.

    A cell is sensitive if a rule marks it, with the largest levels that its rules ask for and
    the reason of the first. Marks prevail over rules. Contributions are absolute.

    Args:
        table: The table; confidential.
        rules: The rules; secret. Where there is none: `[rules.NothingSensitive()]`.
        value: The value column to publish; None for counts, or for sums of weights.
        marks: What was decided about single cells.
        holdings: The same table by `count_holdings`: for rules per holding, and who they are.
        waivers: Who has not consented to be shown, by `count_waivers`.
        shadow: Another value column for rules to look at; levels are taken over in proportion.
        weighted: In a weighted table, let a record of weight w stand for w contributors.
        levels: "symmetric" levels up and down, "upper" ones only, or "sliding": the width of both.
        manual_range: Protection levels of cells marked by hand, in percent of their value.
        unit: The smallest step of the published value; no level is smaller.
        unmatched: What becomes of marks for cells that do not occur.

    >>> import polars as pl
    >>> from discreet import rules, tabulate
    >>> firms = pl.DataFrame({"branch": ["x"] * 3, "turnover": [25, 400, 35]})
    >>> table = tabulate(firms, by=["branch"], values=["turnover"], contributions=2)
    >>> primary(table, [rules.Dominance(n=2, k=85)], value="turnover").numbers()
    {'dominance': 2}
    """
    stated = Marks.of(marks)
    listed, exempting = _sorted_out(rules, marked=len(stated) > 0)
    raise_parameters(
        "primary",
        number("manual_range", manual_range, 0, float("inf")),
        number("unit", unit, 0, float("inf")),
        choice("levels", levels, get_args(Style)),
        choice("unmatched", unmatched, ("refuse", "ignore")),
    )
    places = CellLookup(table)
    records = record_evidence(places, value=value, shadow=shadow, weighted=weighted)
    records = replace(records, unit=float(unit), style=levels, _sums={})
    by_per = {"record": records}
    scoped = scoped_rules(listed, places)
    if any(rule.per == "holding" for rule, _ in scoped):
        if holdings is None:
            message = "a rule applies to holdings, but the table of holdings is missing"
            hint = "create it with rules.count_holdings and pass it as holdings="
            raise SuppressionError(message, code="holdings", where=table.name, hint=hint)
        by_per["holding"] = holding_evidence(records, holdings, shadow or value)
    marked = mark_cells(places, stated, ignore_unmatched=unmatched == "ignore")
    draft = _by_rules(table, value, scoped, by_per, exempting, marked)
    if waivers is not None:
        by_per = {per: _guarded(cells, waivers) for per, cells in by_per.items()}
        strict, draft = draft, _by_rules(table, value, scoped, by_per, exempting, marked)
        waived = strict.sensitive & ~draft.sensitive
        # A waived count can be a small one, though no rule marks it any more.
        at_least = np.where(waived, -np.inf, draft.at_least)
        draft = replace(draft, waived=waived, at_least=at_least)
    draft = _by_holdings(draft, table, holdings)
    return _by_marks(draft, places, records, marked, stated.source, manual_range)


def _guarded(cells: CellEvidence, waivers: Waivers) -> CellEvidence:
    """The evidence with that of those who have not consented."""
    table = waivers.records if cells.per == "record" else waivers.holdings
    if table is None:
        message = "a rule applies to holdings, but the waivers lack holdings"
        hint = "count_waivers(…, holding=…)"
        raise SuppressionError(message, code="waivers", where=cells.places.table.name, hint=hint)
    return with_unwaived(cells, table)


def _sorted_out(
    rules: Sequence[Rule | CodeRules | MissingSafe | NothingSensitive], *, marked: bool
) -> tuple[list[Rule | CodeRules], list[MissingSafe]]:
    """Rules that mark cells, and those that let cells go."""
    listed: object = rules
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise SuppressionError(
            "rules must be a list", code="rules", where="rules", hint="write rules=[PPercent(10)]"
        )
    known = Rule | CodeRules | MissingSafe | NothingSensitive
    wrong = [at for at, rule in enumerate(rules, 1) if not isinstance(rule, known)]
    if wrong:
        numbers = ", ".join(str(at) for at in wrong)
        message = f"number {numbers} of the rules is not a rule"
        hint = "use objects such as rules.MinimumFrequency(3)"
        raise SuppressionError(message, code="rules", where="rules", hint=hint)
    judging = [rule for rule in rules if isinstance(rule, Rule | CodeRules)]
    nothing = any(isinstance(rule, NothingSensitive) for rule in rules)
    if nothing and judging:
        message = "NothingSensitive cannot be combined with rules"
        raise SuppressionError(message, code="rules", where="rules", hint="remove one of them")
    if not (judging or nothing or marked):
        raise SuppressionError(
            "no sensitivity rule and no mark: no cell would be suppressed",
            code="no-rules",
            where="rules",
            hint=(
                "add a rule such as rules=[rules.MinimumFrequency(3)], or confirm with "
                "rules=[rules.NothingSensitive()]"
            ),
        )
    return judging, [rule for rule in rules if isinstance(rule, MissingSafe)]


def _by_rules(
    table: Table,
    value: str | None,
    scoped: Sequence[tuple[Rule, BoolArray | None]],
    evidence: Mapping[str, CellEvidence],
    exempting: Sequence[MissingSafe],
    marked: MarkedCells,
) -> Primary:
    """What the rules say, with the numbers of the marks beside it."""
    size = len(table)
    exempt = [item.exempt(evidence["record"]) for item in exempting]
    by_rule = np.zeros((len(scoped), size), dtype=np.bool_)
    judged = ~np.any([np.zeros(size, dtype=np.bool_), *exempt], axis=0)
    levels = {name: np.zeros(size) for name in _LEVELS}
    reason = np.zeros(size, dtype=np.int8)
    at_most, at_least, opens = np.full(size, np.inf), np.full(size, -np.inf), np.zeros_like(judged)
    for at, (rule, scope) in enumerate(scoped):
        cells = evidence[rule.per]
        judgement, inference = rule.judge(cells), rule.inference(cells)
        by_rule[at] = judgement.sensitive & judged & (True if scope is None else scope)
        if cells.unwaived is not None:  # none where all have consented
            by_rule[at] &= cells.unwaived.count("records", rule.name) > 0
        first = (reason == Reason.none) & by_rule[at]
        reason[first] = rule.reason
        opens[first] = inference.opens
        at_most[by_rule[at]] = np.minimum(at_most[by_rule[at]], inference.at_most)
        spared = judged & ~by_rule[at] & (True if scope is None else scope)
        at_least[spared] = np.maximum(at_least[spared], inference.at_least)
        for name, level in levels.items():
            required: FloatArray = getattr(judgement, name)
            np.maximum(level, np.where(by_rule[at], required, 0.0), out=level)
    verdict = np.where(by_rule.any(axis=0), CellVerdict.sensitive, CellVerdict.free).astype(np.int8)
    return Primary(
        table=table.name,
        value="weight" if value is None and table.weight is not None else value,
        verdict=verdict,
        reason=reason,
        rules=by_rule,
        rule_status=tuple(rule.conf_status for rule, _ in scoped),
        **levels,
        cost=marked.numbers["cost"],
        low=marked.numbers["low"],
        high=marked.numbers["high"],
        at_most=at_most,
        at_least=at_least,
        opens=opens,
        weighted=None if table.weight is None else evidence["record"].weighted,
        waived=np.zeros(size, dtype=np.bool_),
        contributor=lone_contributors(table, value),
    )


def _by_holdings(draft: Primary, table: Table, holdings: Table | None) -> Primary:
    """The only contributor of each cell is a holding where these are known."""
    if holdings is None:
        return draft
    place = places_in(table, holdings, "holdings")
    contributors = lone_contributors(holdings, draft.value)[np.maximum(place, 0)]
    known = (place >= 0) & (contributors != SEVERAL)
    return replace(draft, contributor=np.where(known, contributors, draft.contributor))


def _by_marks(
    draft: Primary,
    places: CellLookup,
    cells: CellEvidence,
    marked: MarkedCells,
    source: str,
    manual_range: float,
) -> Primary:
    """What the rules say, with what the marks say on top."""
    sensitive = (draft.sensitive | marked.are("unsafe")) & ~marked.are("safe")
    raise_marks(source, _contradictions(sensitive, places, marked))
    verdict = np.zeros(len(draft), dtype=np.int8)
    verdict[marked.are("protected")] = CellVerdict.fixed
    verdict[marked.are("secondary")] = CellVerdict.secondary
    verdict[sensitive] = CellVerdict.sensitive
    by_hand = sensitive & (draft.reason == Reason.none)
    manual = cells.both(by_hand, cells.share(manual_range))
    levels: dict[str, Any] = {}
    for name in _LEVELS:
        required: FloatArray = np.where(by_hand, getattr(manual, name), getattr(draft, name))
        own = marked.numbers[name]
        levels[name] = np.where(sensitive, np.where(np.isnan(own), required, own), 0.0)
    reason = np.where(by_hand, Reason.manual, np.where(sensitive, draft.reason, Reason.none))
    waived = draft.waived & ~sensitive
    return replace(draft, verdict=verdict, reason=reason.astype(np.int8), waived=waived, **levels)


def _contradictions(sensitive: BoolArray, places: CellLookup, marked: MarkedCells) -> list[Problem]:
    """Marks that cannot be followed, given which cells are sensitive."""
    fixed = np.flatnonzero(sensitive & marked.are("protected"))
    message = "the cell is sensitive by a rule and marked as protected"
    hint = "sensitive cells cannot be published; to publish it, mark it as safe"
    problems = [Problem(message, places.name(int(at)), hint) for at in fixed]
    stated = np.zeros(len(sensitive), dtype=np.bool_)
    for name in _LEVELS:
        stated |= ~np.isnan(marked.numbers[name])
    idle = np.flatnonzero(stated & marked.named & ~sensitive)
    message = "protection levels for a cell that is not sensitive"
    hint = "mark it as unsafe, or remove the levels"
    return problems + [Problem(message, places.name(int(at)), hint) for at in idle]


#: What words mean that offices write; letters that mean different things are not among them.
MEANINGS: Mapping[str, Status] = {
    **dict.fromkeys(("unsafe", "u", "sensitive", "primary", "c"), "unsafe"),
    **dict.fromkeys(("safe", "free", "f"), "safe"),
    **dict.fromkeys(("protected", "fixed", "z"), "protected"),
    **dict.fromkeys(("secondary", "m", "d"), "secondary"),
}
_VERDICTS = {
    "unsafe": CellVerdict.sensitive,
    "safe": CellVerdict.free,
    "protected": CellVerdict.fixed,
    "secondary": CellVerdict.secondary,
}
#: Where the number of contributors is not known: neither nobody nor one alone.
_SEVERAL = 2
_SHOWN = 20


@without_values
def marked_cells(
    cells: Any,
    by: Sequence[Spanning],
    *,
    status: str,
    value: str | None = None,
    count: str | None = None,
    meaning: Mapping[str, str] | None = None,
    lower: str | None = None,
    upper: str | None = None,
    cost: str | None = None,
    published: str | None = None,
    manual_range: float = 20.0,
    unit: float = 1.0,
    name: str = "table",
) -> tuple[Table, Primary]:
    """Take cells whose status was decided elsewhere: by another tool, or by other offices.

    Args:
        cells: A frame with one row per cell, totals among them; confidential.
        by: The spanning variables.
        status: Column of the status. Known are unsafe (u, sensitive, primary, c), safe
            (free, f), protected (fixed, z) and secondary (m, d), in any case.
        value: Column of the true values; None to publish the counts.
        count: Column of the number of contributors; without, nobody inside is guarded against.
        meaning: What other statuses mean: {"P": "unsafe"}; "" for empty ones.
        lower: Column of lower protection levels of unsafe cells.
        upper: Column of upper ones.
        cost: Column of costs, to be named in `suppress`.
        published: Filter on codes: none of these that is safe can be hidden any more.
        manual_range: Protection levels in percent of the value, where no column has any.
        unit: The smallest step of the published value.
        name: Name of the table.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7, 1, 6], "what": ["s", "u", "s"]})
    >>> table, found = marked_cells(frame, ["sex"], count="n", status="what", meaning={"s": "safe"})
    >>> found.sensitive.tolist()
    [False, True, False]
    """
    raise_parameters("marked_cells", number("manual_range", manual_range, 0, float("inf")))
    if value is None and count is None:
        raise SuppressionError("add the column of values, or the column of counts", code="value")
    frame = to_polars(cells)
    _check_columns(frame, [status, *(item for item in (value, lower, upper, cost) if item)])
    sums = {item: _numbers(frame, item) for item in dict.fromkeys((value, cost)) if item}
    table = replace(_table(frame, by, count, name), sums=sums)
    verdict = _verdicts(frame[status], meaning or {})
    if published is not None:
        verdict[_passing(frame, published) & (verdict == CellVerdict.free)] = CellVerdict.fixed
    sensitive: BoolArray = verdict == CellVerdict.sensitive
    true = table.count.astype(np.float64) if value is None else sums[value]
    required = np.maximum(np.abs(true) * manual_range / 100, unit)
    return table, replace(
        primary(table, [NothingSensitive()], value=value, unit=unit),
        verdict=verdict,
        reason=np.where(sensitive, Reason.manual, Reason.none).astype(np.int8),
        lower=np.where(sensitive, _levels(frame, lower, required), 0.0),
        upper=np.where(sensitive, _levels(frame, upper, required), 0.0),
    )


def _table(frame: pl.DataFrame, by: Sequence[Spanning], count: str | None, name: str) -> Table:
    """The cells, with several contributors each where their number is not known."""
    import polars as pl

    if count is None:
        free = (f"contributors{at}" for at in range(len(frame.columns) + 1))
        count = next(item for item in free if item not in frame.columns)
        frame = frame.with_columns(pl.lit(_SEVERAL).alias(count))
    return Table.from_cells(frame, by, count=count, name=name)


def _check_columns(frame: pl.DataFrame, wanted: Sequence[str]) -> None:
    hint = f"columns: {', '.join(frame.columns[:_SHOWN])}"
    problems = [
        Problem(f"column {item!r} not found", "cells", hint)
        for item in wanted
        if item not in frame.columns
    ]
    raise_all(TableError, problems, code="missing-column", many="{} columns are missing")


def _numbers(frame: pl.DataFrame, column: str, *, empty: bool = False) -> FloatArray:
    """A column of numbers; what is none is counted, never shown."""
    import polars as pl

    numbers = frame[column].cast(pl.Float64, strict=False)
    bad = ~numbers.is_finite().fill_null(value=False)
    if empty:
        bad &= frame[column].is_not_null()
    if bad.any() or not (frame[column].dtype.is_numeric() or frame[column].null_count()):
        message = f"{int(bad.sum()):,} cells lack a number, in a column of {frame[column].dtype}"
        hint = "include the true values of suppressed cells"
        raise SuppressionError(message, code="values", where=column, hint=hint)
    return numbers.to_numpy().astype(np.float64)


def _levels(frame: pl.DataFrame, column: str | None, required: FloatArray) -> FloatArray:
    """Protection levels, those asked for in general where there is no column, or none in it."""
    if column is None:
        return required
    stated = _numbers(frame, column, empty=True)
    if (stated < 0).any():
        message = "protection levels must be at least 0"
        raise SuppressionError(message, code="values", where=column)
    return np.where(np.isnan(stated), required, stated)


def _verdicts(column: pl.Series, meaning: Mapping[str, str]) -> Any:
    import polars as pl

    wrong = [item for item in meaning.values() if item not in get_args(Status)]
    if wrong:
        message = "a status must mean unsafe, safe, protected or secondary"
        raise SuppressionError(message, code="status", where="meaning")
    own = {text.strip().casefold(): verdict for text, verdict in meaning.items()}
    words = column.cast(pl.String).fill_null("").str.strip_chars().to_list()
    distinct = sorted(set(words))
    known = {**MEANINGS, **own}
    unknown = [word for word in distinct if word.casefold() not in known]
    hint = "declare it: meaning={…: 'unsafe'} (safe, protected, secondary), --meaning"
    problems = [
        Problem(f"unknown status {word!r}" if word else "cells lack a status", column.name, hint)
        for word in unknown[:_SHOWN]
    ]
    raise_all(SuppressionError, problems, code="status", many="{} statuses are unknown")
    number_of = {word: int(_VERDICTS[known[word.casefold()]]) for word in distinct}
    return np.array([number_of[word] for word in words], dtype=np.int8)


def _passing(frame: pl.DataFrame, text: str) -> BoolArray:
    import narwhals as nw

    parsed = parse_filter(text)
    parsed.check(nw.from_native(frame).schema)
    passed = nw.from_native(frame).select(out=parsed.to_narwhals())["out"]
    native = passed.to_native()
    if native.null_count():
        message = f"the filter is undecided for {native.null_count():,} cells"
        hint = "fill in the missing code, or add … is null to the filter"
        raise SuppressionError(message, code="published", where="published", hint=hint)
    mask: BoolArray = native.to_numpy().astype(np.bool_)
    return mask
