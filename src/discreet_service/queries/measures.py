"""Measures: what a query asks to be shown, as the entries of `figures` that a programme would have,
ingredients included. Public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import Problem, nearest
from discreet.release import COUNTED, FigureEntry
from discreet.tables import FigureKind
from discreet_service.datasets import COUNTS, CatalogueUnit
from discreet_service.queries.grammar import MEASURES, MeasureEntry, MeasureKind

_SUFFIX = {
    "sum": {"en": "sum", "de": "Summe"},
    "mean": {"en": "mean", "de": "Mittelwert"},
    "share": {"en": "share", "de": "Anteil"},
}


@dataclass(frozen=True, order=True)
class Measure:
    """One figure that is asked for.

    >>> Measure("mean", "rent").name, Measure("share", "count", ("sex",)).name
    ('mean_rent', 'share_count_sex')
    >>> Measure("quantile", "rent", ("0.25",)).share
    0.25
    """

    #: "sum" or "mean" of a column, "share" of a figure, "median" or "quantile" of a variable in
    #: classes, or a "figure" of the unit
    kind: MeasureKind
    of: str  # The column, figure or variable
    #: For a share, the variables over which it adds up to one, sorted; for a quantile, its share
    over: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name in the table."""
        return self.of if self.kind == "figure" else "_".join([self.kind, self.of, *self.over])

    @property
    def share(self) -> float | None:
        """The share of the records below it; None for what is no quantile."""
        if self.kind == "median":
            return 0.5
        return float(self.over[0]) if self.kind == "quantile" else None


#: The number of records.
COUNT_MEASURE = Measure("figure", COUNTS)


def read_measures(
    entries: Sequence[MeasureEntry], unit: CatalogueUnit, problems: list[Problem]
) -> tuple[Measure, ...]:
    """The measures in the order asked, each once; what is wrong is added to the problems."""
    nones: dict[Measure, None] = {}
    for at, entry in enumerate(entries):
        where = f"measures[{at}]"
        kind: MeasureKind = next(one for one in MEASURES if getattr(entry, one) is not None)
        over = [tuple(sorted(set(entry.over or ())))]
        if entry.at is not None:
            over = [(f"{place:g}",) for place in sorted(set(entry.at))]
        several = [Measure(kind, getattr(entry, kind), own) for own in over]
        problems += list(_wrong(several[0], unit, where))[:1]
        nones |= dict.fromkeys(several)
    if len({measure.of if measure.share else "" for measure in nones}) > 1:
        message = "quantiles of one variable make a table of their own"
        problems.append(Problem(message, "measures", "query other figures separately"))
    return tuple(nones)


def quantile_variable(measures: Sequence[Measure]) -> str | None:
    """The variable whose quantiles are asked for; None for other figures."""
    return next((measure.of for measure in measures if measure.share), None)


def _wrong(measure: Measure, unit: CatalogueUnit, where: str) -> Iterator[Problem]:
    if measure.share:
        classed = [name for name, one in unit.variables.items() if one.tree.bounds is not None]
        if measure.of not in classed:
            message = f"no variable {measure.of[:60]!r} with classes of a number"
            yield Problem(message, f"{where}.{measure.kind}", nearest(measure.of, classed))
        return
    figures = [COUNTS, *unit.figures]
    if measure.kind in ("sum", "mean"):
        allowed = [
            name
            for name, value in unit.values.items()
            if (value.sums if measure.kind == "sum" else value.means)
        ]
        if measure.of not in allowed:
            message = f"no value column {measure.of[:60]!r} for a {measure.kind}"
            yield Problem(message, f"{where}.{measure.kind}", nearest(measure.of, allowed))
        return
    if measure.of not in figures:
        message = f"figure {measure.of[:60]!r} not found"
        yield Problem(message, where, nearest(measure.of, figures))
    elif measure.kind == "share" and _figure(measure.of, unit).kind not in COUNTED:
        yield Problem("shares need counts or sums", f"{where}.share")


def needed_variables(measure: Measure, unit: CatalogueUnit) -> tuple[str, ...]:
    """The variables that must span a table with this measure."""
    if measure.kind == "share":
        return measure.over
    if measure.kind in ("sum", "mean"):
        return ()
    entry = _figure(measure.of, unit)
    return (*(entry.over or ()), *(entry.base or {}))


def _figure(name: str, unit: CatalogueUnit) -> FigureEntry:
    return unit.figures[name] if name in unit.figures else FigureEntry(kind="count")


def figure_entries(measures: Sequence[Measure], unit: CatalogueUnit) -> dict[str, FigureEntry]:
    """The figures as a programme names them; none for a plain table of counts."""
    if tuple(measures) == (COUNT_MEASURE,):
        return {}
    shown = {measure.name: _entry(measure, unit) for measure in measures}
    hidden: dict[str, FigureEntry] = {}
    waiting = list(shown.values())
    while waiting:
        entry = waiting.pop()
        for name in (entry.part, entry.whole):
            if name is not None and name not in shown and name not in hidden:
                other = _entry(Measure("figure", name), unit)
                hidden[name] = other.model_copy(update={"hidden": True})
                waiting.append(other)
    return {**shown, **hidden}


def _entry(measure: Measure, unit: CatalogueUnit) -> FigureEntry:
    if measure.kind == "share":
        titles = _titles(_title(measure.of, unit), measure.kind)
        return FigureEntry(kind="share", part=measure.of, over=list(measure.over), title=titles)
    if measure.kind == "figure":
        if measure.of in unit.figures:
            return unit.figures[measure.of].model_copy(update={"hidden": False})
        return FigureEntry(kind="count", title=dict(_title(COUNTS, unit)))
    value = unit.values[measure.of]
    kind: FigureKind = "sum" if measure.kind == "sum" else "mean"
    return FigureEntry(kind=kind, of=measure.of,
                       title=_titles(value.label or {"en": measure.of}, measure.kind),
                       unit=dict(value.unit), decimals=value.decimals)  # fmt: skip


def _title(figure: str, unit: CatalogueUnit) -> Mapping[str, str]:
    if figure in unit.figures:
        return unit.figures[figure].title or {"en": figure}
    return unit.label or {"en": "Number", "de": "Anzahl"}


def _titles(label: Mapping[str, str], kind: str) -> dict[str, str]:
    first = next(iter(label.values()))
    return {item: f"{label.get(item, first)} ({_SUFFIX[kind][item]})" for item in ("en", "de")}
