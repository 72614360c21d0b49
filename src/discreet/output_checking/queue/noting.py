"""Whom the statistics of a run are about: what the ledger takes down of each.

In: statistics as the runner tells them (CONFIDENTIAL). Out: universes, and findings where it
is not known whom they are about.

A statistic of one variable is about those who have a value of it, a model about those who
have one of each variable, a correlation of pairs about those who have both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from discreet.output_checking.findings import Severity
from discreet.output_checking.ledger import Universe, universes_of

if TYPE_CHECKING:
    from discreet.output_checking.queue.processing import Work
    from discreet.output_checking.running.witnessing import Told

__all__ = ["take_down"]

#: Column of whom a record is about; no variable can be called that.
_UNIT = "who is it"
#: Tables with more cells are told by their categories only.
_MOST_CELLS = 100_000
#: Commands that show all their variables together, in cells.
_CROSSING = frozenset(("tabulate", "table", "count"))
#: Commands that show each variable by itself.
_SINGLE = frozenset(
    ("summarize", "tabstat", "mean", "centile", "codebook", "ttest", "histogram", "xtsum")
)


def take_down(work: Work, told: Told) -> None:
    """Take down whom one statistic is about: all its records, and each category it may show.

    Args:
        work: The submission on its way.
        told: The statistic.
    """
    words = told.command.split(",")[0].rpartition(": ")[2].split()
    table = f"line {told.line}, {words[0]}"
    if told.units is None or None in told.units:
        whom = "whom it is about" if told.units is None else "whom some records are about"
        what = f"{table}: {whom} is not known; differences to others are not checked"
        work.note("ledger", "no-universe", Severity.REVIEW, what, "name the variable with --entity")
    if told.units is None:
        return
    column = pl.Series(_UNIT, told.units, strict=False)
    whole = told.frame.with_columns(column) if told.frame.width else pl.DataFrame([column])
    whole = whole.filter(pl.col(_UNIT).is_not_null())
    known: dict[tuple[bytes, str], list[Universe]] = {}
    for about, spans, cells in _parts(words, told, whole):
        present = [*about, *([] if told.missing else spans)]
        mask = whole.select(pl.all_horizontal(pl.lit(True), pl.col(present).is_not_null()))
        few = cells and whole.select(spans).n_unique() <= _MOST_CELLS if spans else False
        same = (mask.to_series().to_numpy().tobytes(), " ".join(spans))
        if same not in known:  # variables that the same records have are many
            known[same] = universes_of(
                whole.filter(mask.to_series()),
                unit=_UNIT,
                by=spans,
                key=work.key,
                size=work.size,
                table=table,
                cells=few,
            )
        # a table of one variable needs no more of a name than its command
        name = " ".join([table, *about]) if told.frame.width > 1 else table
        work.universes += [replace(one, table=name) for one in known[same]]


_Part = tuple[list[str], list[str], bool]


def _parts(words: Sequence[str], told: Told, whole: pl.DataFrame) -> Iterator[_Part]:
    """Variables that have values together, those that span the output, whether in cells."""
    names, spans = told.frame.columns, list(told.groups)
    if words[0] == "tabulate":
        spans = names  # also those whose values have no labels
    about = [name for name in names if name not in spans]
    if words[0] == "pwcorr":
        pairs = itertools.combinations(names, 2)
        yield from (([*one], [], False) for one in itertools.chain([[n] for n in names], pairs))
    elif words[0] in _CROSSING | _SINGLE and (spans or words[0] != "ttest"):
        for each in about:
            yield [each], spans, True
        if not about:
            yield [], spans, True
    else:
        shown = words[0] not in ("correlate", "ttest")
        yield names, list(_factors(words, names, whole)) if shown else [], False


def _factors(words: Sequence[str], names: Sequence[str], whole: pl.DataFrame) -> Iterator[str]:
    """Variables of a model whose categories have coefficients of their own."""
    marked = {part.partition(".")[2] for word in words for part in word.split("#") if "." in part}
    for name in names:
        if name in marked or whole[name].drop_nulls().n_unique() == 2:
            yield name
