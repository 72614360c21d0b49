"""Measures: what a query asks to be shown, as the entries of `figures` that a programme would have,
ingredients included. Public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.errors import Problem, nearest
from discreet.release import COUNTED, FigureEntry
from discreet_service.datasets import COUNTS, CatalogueUnit
from discreet_service.queries.grammar import MeasureEntry

MeasureKind = Literal["figure", "sum", "mean", "share"]
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
    """

    kind: MeasureKind  # "sum" or "mean" of a column, "share" of a figure, or a "figure" of the unit
    of: str  # The column or figure
    over: tuple[str, ...] = ()  # For a share, the variables over which it adds up to one, sorted

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return self.of if self.kind == "figure" else "_".join([self.kind, self.of, *self.over])


#: The number of records.
COUNT_MEASURE = Measure("figure", COUNTS)


def read_measures(
    entries: Sequence[MeasureEntry], unit: CatalogueUnit, problems: list[Problem]
) -> tuple[Measure, ...]:
    """The measures in the order asked, each once; what is wrong is added to the problems."""
    nones: dict[Measure, None] = {}
    for at, entry in enumerate(entries):
        where = f"measures[{at}]"
        kinds: tuple[MeasureKind, ...] = ("share", "sum", "mean")
        stated = (one for one in kinds if getattr(entry, one) is not None)
        kind: MeasureKind = next(stated, "figure")
        over = tuple(sorted(set(entry.over or ())))
        measure = Measure(kind, getattr(entry, kind) or COUNTS, over)
        wrong = next(_wrong(measure, unit, where), None)
        if wrong is not None:
            problems.append(wrong)
        nones[measure] = None
    return tuple(nones)


def _wrong(measure: Measure, unit: CatalogueUnit, where: str) -> Iterator[Problem]:
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
    return FigureEntry(kind=measure.kind, of=measure.of,
                       title=_titles(value.label or {"en": measure.of}, measure.kind),
                       unit=dict(value.unit), decimals=value.decimals)  # fmt: skip


def _title(figure: str, unit: CatalogueUnit) -> Mapping[str, str]:
    if figure in unit.figures:
        return unit.figures[figure].title or {"en": figure}
    return unit.label or {"en": "Number", "de": "Anzahl"}


def _titles(label: Mapping[str, str], kind: str) -> dict[str, str]:
    first = next(iter(label.values()))
    return {item: f"{label.get(item, first)} ({_SUFFIX[kind][item]})" for item in ("en", "de")}
