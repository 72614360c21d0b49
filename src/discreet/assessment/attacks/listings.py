"""What attacks found, as tables in words: the same for texts and pages, in English and German.

In: `AttackResults`. Out: `AttackListing`s – a title, columns, rows, and bars where there is
something to draw – and per attack what would help, and its price. SECRET.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from discreet.assessment.attacks.results import AttackedUniverse, AttackResults
from discreet.assessment.words import number, percent
from discreet.files import texts_of

_PACKAGE = "discreet.assessment.attacks"
_MOST = 40
_NONE = "–"


@dataclass(frozen=True, kw_only=True)
class AttackListing:
    """A table of what attacks found. SECRET."""

    title: str
    columns: Sequence[str]  # names of words
    rows: list[list[Any]]
    bars: Sequence[tuple[str, float, str]] = ()  # label, size and text of what is drawn
    full: float = 0  # the size of a full bar; the largest if 0
    identifier: str = ""  # of the chart
    shown: int = 5  # so many rows stand in texts

    def lines(self, language: str) -> Iterator[str]:
        """The same as lines of a text, of its first rows."""
        words = words_of_listings(language)
        if self.rows:
            yield f"{self.title}:"
        for first, *others in self.rows[: self.shown]:
            texts = [own if isinstance(own, str) else number(own, language) for own in others]
            named = (
                texts
                if len(texts) == 1
                else [
                    f"{words[column]}: {own}"
                    for column, own in zip(self.columns[1:], texts, strict=True)
                    if own != _NONE
                ]
            )
            yield f"  {first}: {'; '.join(named)}"


def words_of_listings(language: str) -> dict[str, str]:
    """What attacks, readers, verdicts and columns are called."""
    return {
        **texts_of(_PACKAGE, "outcomes", language),
        **texts_of(_PACKAGE, "listings", language),
    }


def remedies_of(report: AttackResults, language: str) -> list[tuple[str, str, str]]:
    """Each attack that finds something, what would help against it, and the price of that."""
    rates, text = report.rates(), words_of_listings(language)
    worst = max(
        report.universes, key=lambda one: one.needed / max(one.variance, 1e-9), default=None
    )
    attacks = [one.attack for one in report.outcomes() if one.attack != "exposure"]
    words = {name: number(rates[name] or 0, language, 0) for name in attacks}
    if worst is not None:
        words["variance"] = number(worst.needed, language)
        words["exposure"] = number(worst.exposure_kept, language)
        words["times"] = number(math.sqrt(worst.needed / max(worst.variance, 1e-9)), language, 1)
    helped = [
        name
        for name in attacks
        if rates[name]
        and (name != "average" or (worst is not None and worst.needed > worst.variance))
    ]
    return [
        (text[name], text[f"{name} helps"].format(**words), text[f"{name} price"].format(**words))
        for name in helped
    ]


class AttackListings:
    """All that a report found, in words of a language. SECRET."""

    def __init__(self, report: AttackResults, language: str) -> None:
        self.report, self.language = report, language
        self.text = words_of_listings(language)

    def all_of_them(self) -> Iterator[AttackListing]:
        """Every finding, universe by universe."""
        yield self._pairs()
        for at, one in enumerate(self.report.universes):
            several = f" – {one.name}" if len(self.report.universes) > 1 else ""
            yield self._layers(one, f"layers-{at}", several)
            yield self._variables(one, f"variables-{at}", several)
            yield self._growth(one, f"growth-{at}", several)
            yield self._facts(one, several)
        yield from self._values()
        columns = ("attack", "helps", "price")
        rows: list[list[Any]] = [list(row) for row in remedies_of(self.report, self.language)]
        yield AttackListing(title=self.text["remedies"], columns=columns, rows=rows)

    def _number(self, value: float | None, decimals: int = 2) -> str:
        return _NONE if value is None else number(value, self.language, decimals)

    def _share(self, share: float | None) -> str:
        return _NONE if share is None else percent(share, self.language)

    def _bar(self, label: str, share: float) -> tuple[str, float, str]:
        return label, share, self._share(share)

    def _pairs(self) -> AttackListing:
        """Sets that differ by few records, and those whose figures carry the same noise."""
        rows = [
            [f"{twin.first} | {twin.second}", twin.unequal, twin.compared,
             _NONE if twin.difference is None else twin.difference,
             ", ".join(twin.cells) or _NONE]
            for twin in self.report.twins[:_MOST]
        ]  # fmt: skip
        columns = ("sets", "unequal", "compared", "difference", "first cell")
        return AttackListing(title=self.text["twins"], columns=columns, rows=rows)

    def _layers(self, one: AttackedUniverse, identifier: str, several: str) -> AttackListing:
        rows: list[list[Any]] = []
        bars = []
        for layer in one.layers[:_MOST]:
            hit = layer.expected if layer.found is None else layer.found
            shares = [
                self._share(share) for share in (layer.expected, layer.found, layer.unchanged)
            ]
            exposure = self._number(layer.noisy_exposure or None)
            rows.append([layer.layer, layer.cells, exposure, layer.exact or _NONE, *shares])
            bars += [] if hit is None else [self._bar(layer.layer, hit)]
        columns = ("layer", "cells", "exposure", "exact", "expected", "found", "unchanged")
        title = self.text["by table part"] + several
        return AttackListing(
            title=title, columns=columns, rows=rows, bars=bars, full=1, identifier=identifier
        )

    def _variables(self, one: AttackedUniverse, identifier: str, several: str) -> AttackListing:
        """The worst layer that each variable is part of."""
        worst: dict[str, tuple[float, float]] = {}
        for layer in one.layers:
            hit = layer.expected if layer.found is None else layer.found
            for name in () if hit is None else layer.variables:
                old = worst.get(name, (0.0, 0.0))
                worst[name] = (max(old[0], hit or 0), max(old[1], layer.noisy_exposure))
        order = sorted(worst, key=lambda name: (-worst[name][0], name))
        return AttackListing(
            title=self.text["by variable"] + several,
            columns=("variable", "average", "exposure"),
            rows=[[n, self._share(worst[n][0]), self._number(worst[n][1])] for n in order],
            bars=[self._bar(name, worst[name][0]) for name in order],
            full=1,
            identifier=identifier,
        )

    def _growth(self, one: AttackedUniverse, identifier: str, several: str) -> AttackListing:
        """The exposure of the total as tables are added, those that add most."""
        sums = accumulate(own for _, own in one.growth)
        added = [(table, own, up) for (table, own), up in zip(one.growth, sums, strict=True)]
        most = sorted(added, key=lambda each: -each[1])[:_MOST]
        chosen = [item for item in added if item in most]
        return AttackListing(
            title=self.text["growth"] + several,
            columns=("table", "adds", "together"),
            rows=[[table, self._number(own, 3), self._number(up)] for table, own, up in chosen],
            bars=[(table, up, self._number(up)) for table, _, up in chosen],
            identifier=identifier,
        )

    def _facts(self, one: AttackedUniverse, several: str) -> AttackListing:
        """Bounds, parameters and groups."""
        text, bounds, known = self.text, one.bounds, one.parameters
        rows: list[list[Any]] = []
        if bounds is not None:
            names = ("determined", "one_or_two", "narrow", "contradicted", "likely")
            counts = {name: getattr(bounds, name) for name in names}
            rows += [[text[name], count] for name, count in counts.items() if count is not None]
            rows += [] if bounds.right is None else [[text["right"], self._share(bounds.right)]]
        if known.sums:
            rows += [[text["sums"], known.sums], [text["largest"], known.largest]]
            if math.isfinite(known.variance):
                shown = f"{self._number(known.variance)} ± {self._number(2 * known.error)}"
                rows.append([text["variance"], shown])
            if math.isfinite(known.staying):
                rows.append([text["staying"], self._share(known.staying)])
            if known.never:
                rows.append([text["never"], ", ".join(map(str, known.never))])
        if one.contradictions[0]:
            place = f"{text['contradictions']}: {one.contradictions[1]}"
            rows.append([place, one.contradictions[0]])
        rows += [[text["left out"], name] for name in one.left_out]
        rows += [[f"{text['groups']}: {g.layer}", g.single] for g in one.groups[:_MOST]]
        title = text["others"] + several
        return AttackListing(title=title, columns=("what", "number"), rows=rows, shown=15)

    def _values(self) -> Iterator[AttackListing]:
        """What sums, shares, means and pairs of columns tell."""
        report, text = self.report, self.text
        rows: list[list[Any]] = [
            [value.figure, value.cells, self._number(value.exposure),
             _NONE if value.dominated is None else value.dominated,
             self._share(value.published), self._share(value.averaged), self._share(value.chance),
             f"{10 if value.p_percent is None else value.p_percent:g} %"]
            for value in report.values[:_MOST]
        ]  # fmt: skip
        columns: tuple[str, ...] = ("figure", "cells", "exposure", "dominated", "published found",
                                    "averaged found", "by chance", "within")  # fmt: skip
        yield AttackListing(title=text["sums of values"], columns=columns, rows=rows)
        rows = [[f"{p.first} | {p.second}", p.sums, p.alike] for p in report.alike[:_MOST]]
        columns = ("sets", "all sums", "same direction")
        yield AttackListing(title=text["pairs alike"], columns=columns, rows=rows)
        rows = [[f"{p.first} | {p.second}", p.sums, p.equal] for p in report.shared[:_MOST]]
        yield AttackListing(
            title=text["shared"], columns=("sets", "all sums", "equal noise"), rows=rows
        )
        rows = [[f"{item.table}: {item.figure}", item.whole, item.uncounted]
                for item in report.bare[:_MOST]]  # fmt: skip
        columns = ("figure", "whole", "uncounted")
        yield AttackListing(title=text["bare"], columns=columns, rows=rows)
