"""The report of an attack as a page: for the office with everything, for the public by rates.

In: an `AttackReport`. Out: HTML that stands on its own, with charts and the tables of their
numbers. The internal edition is SECRET, and CONFIDENTIAL with true tables; the public one says how
often attacks succeed at most, in steps of ten per cent, and nothing of cells or of the noise.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from importlib import resources
from itertools import accumulate
from typing import Any

from discreet._version import __version__
from discreet.assessment import (
    SHARES,
    AttackedUniverse,
    AttackOutcome,
    AttackReport,
    number,
    percent,
)
from discreet.errors import PublicationError
from discreet.files import texts_of
from discreet.publication import facts_html, page_head, page_tail, read_words
from discreet.release.attacks.exposure import PlannedExposure
from discreet.release.report.sections import Bar, Sections, bullets, paragraphs

_WORDS = {
    language: {**texts_of("discreet.assessment.attacks", "outcomes", language), **texts}
    for language, texts in read_words("discreet.release.attacks").items()
}
_MOST = 40
#: Attacks whose success tells how the noise is drawn, or how large it is: not for everybody.
_OF_NOISE = ("exposure", "shared", "official", "regular", "alike")


def attack_page(
    report: AttackReport, title: str = "", *, language: str = "en", internal: bool = False
) -> str:
    """What attacks find out, as a page.

    >>> from discreet.publication.examples import census_example
    >>> import discreet as dc
    >>> page = attack_page(dc.attack(census_example(), knows="maximum", max_noise=2), "Census")
    >>> "At most" in page and "exposure" not in page.lower()
    True
    """
    sections = _AttackSections(report, language)
    title = ": ".join(filter(None, (sections.text["title"], title)))
    listed = sections.office() if internal else sections.public()
    return _page(title, "lead", listed, sections, internal=internal)


def _page(
    name: str, lead: str, listed: Sequence[str], sections: Sections, *, internal: bool
) -> str:
    css = resources.files("discreet.release.report").joinpath("quality.css").read_text("utf-8")
    return "".join(
        (
            page_head(name, sections.language, css),
            paragraphs([sections.text["secret"]] if internal else []),
            f"<h1>{html.escape(name)}</h1>\n",
            f'<p class="lead">{html.escape(sections.text[lead])}</p>\n',
            *listed,
            f"<footer><p>discreet {__version__}</p></footer>\n",
            page_tail(),
        )
    )


def planned_page(found: Sequence[PlannedExposure], title: str = "", *, language: str = "en") -> str:
    """How much a perturbation table withstands as the tables of a programme are added. SECRET."""
    sections = Sections(_WORDS[language], language)
    text = sections.text
    rows: list[list[Any]] = []
    bars, chances = [], []
    for item in found:
        best = "–" if item.leave_out is None else item.leave_out[0]
        variance = "–" if item.variance is None else sections.number(item.variance, 2)
        alone, together = (sections.number(each, 2) for each in (item.alone, item.together))
        hit = sections.share(item.average)
        rows.append([item.table, alone, together, hit, variance, best])
        bars.append(Bar(item.table, item.together, together))
        chances.append(sections.share_bar(item.table, item.average))
    names = ("table", "exposure", "together", "average", "needed", "without")
    short = [[row[0], row[3]] for row in rows]
    listed = (
        sections.charted("chances", text["withstands"], ("table", "average"), short, chances, 1),
        sections.charted("planned", text["planned growth"], names, rows, bars),
    )
    title = ": ".join(filter(None, (text["planned"], title)))
    return _page(title, "planned lead", listed, sections, internal=True)


def attack_rates(report: AttackReport, language: str) -> list[tuple[str, str]]:
    """What each rate of a report is called, and what it is."""
    rates = []
    for name, rate in report.rates().items():
        if rate is None:
            shown = "–"
        elif name in ("average", "values") and rate:
            shown = percent(rate, language)
        else:
            shown = number(rate, language, 0 if isinstance(rate, int) else 2)
        rates.append((_WORDS[language][name], shown))
    return rates


def attack_remedies(report: AttackReport, language: str) -> list[tuple[str, str, str]]:
    """Each attack that finds something, what would help against it, and the price of that."""
    rates, text = report.rates(), _WORDS[language]
    worst = max(
        report.universes, key=lambda one: one.needed / max(one.variance, 1e-9), default=None
    )
    attacks = [one.attack for one in report.outcomes() if one.attack != "exposure"]
    words = {name: number(rates[name] or 0, language, 0) for name in attacks}
    if worst is not None:
        words["variance"] = number(worst.needed, language, 2)
        words["exposure"] = number(worst.exposure_kept, language, 2)
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


class _AttackSections(Sections):
    """The sections of a page about attacks."""

    def __init__(self, report: AttackReport, language: str) -> None:
        super().__init__(_WORDS[language], language)
        self.report = report

    def public(self) -> list[str]:
        """Rates only, rounded so that nothing of the noise follows from them."""
        if not self.report.universes:
            message = "the page for everybody is about counts, and none of the release has noise"
            raise PublicationError(message, code="attack", where="public", hint="leave it out")
        text = self.text
        cells = sum(layer.cells for one in self.report.universes for layer in one.layers)
        facts = [(text["cells"], self.number(cells))]
        # A verdict on attacks that are not listed would tell what these find.
        outcomes = [one for one in self.report.outcomes() if one.attack not in _OF_NOISE]
        return [
            self._verdict(outcomes),
            self._outcomes(outcomes, cells),
            facts_html(facts, text["glance"]),
            f"<p>{html.escape(text['method'])}</p>\n",
        ]

    def _verdict(self, outcomes: list[AttackOutcome]) -> str:
        """One verdict on the attacks that the page lists, and what they do not examine."""
        sentence = self.report.sentence(outcomes, self.language)
        gaps = bullets(self.report.gap_lines(self.language))
        return f"<p><strong>{html.escape(sentence)}</strong></p>\n{gaps}"

    def _outcomes(self, outcomes: list[AttackOutcome], cells: int | None = None) -> str:
        """What each attack found; to everybody, of so many cells, in steps and roughly."""
        rows = []
        limited = cells is None and any(one.limit is not None for one in outcomes)
        for one in outcomes:
            attack, reader, verdict = one.words(self.language)
            limit = [self._limit(one)] if limited else []
            rows.append([attack, reader, self._success(one, cells), *limit, verdict])
        names = ("attack", "reader", "success", *(["limit"] if limited else []), "verdict")
        return self.listed(self.text["outcomes"], names, rows)

    def _limit(self, one: AttackOutcome) -> str:
        if one.limit is None:
            return "–"
        return self.share(one.limit) if one.attack in SHARES else self.number(one.limit)

    def _success(self, one: AttackOutcome, cells: int | None) -> str:
        text, rate = self.text, one.rate
        if rate is None:
            return "–"
        if one.attack in SHARES:
            share = float(rate) if cells is None else min(1.0, math.ceil(10 * float(rate)) / 10)
            return self.share(share) if cells is None else text["at most"].format(self.share(share))
        if cells is None:
            return self.number(rate)
        if one.attack == "determined" and cells:
            most = max(0.001, math.ceil(1000 * int(rate) / cells) / 1000)
            return text["at most"].format(self.share(most))
        return text["some" if rate else "none"]

    def office(self) -> list[str]:
        """Everything, for the office."""
        report, text = self.report, self.text
        twins = [
            [f"{twin.first} | {twin.second}", twin.unequal, twin.compared,
             "–" if twin.difference is None else twin.difference, ", ".join(twin.cells) or "–"]
            for twin in report.twins[:_MOST]
        ]  # fmt: skip
        names: tuple[str, ...] = ("sets", "unequal", "compared", "difference", "first cell")
        outcomes = report.outcomes()
        sections = [self._verdict(outcomes), self._outcomes(outcomes)]
        sections.append(self.listed(text["twins"], names, twins))
        for at, one in enumerate(report.universes):
            if len(report.universes) > 1:
                title = f"{html.escape(text['universe'])} {html.escape(one.name)}"
                sections.append(f"<h2>{title}</h2>\n")
            sections += [self._layers(one, at), self._variables(one, at), self._growth(one, at)]
            sections.append(self._facts_of(one))
        values = [
            [value.figure, value.cells, self.number(value.exposure, 2),
             "–" if value.dominated is None else value.dominated,
             self.share(value.published), self.share(value.averaged)]
            for value in report.values[:_MOST]
        ]  # fmt: skip
        alike = [[f"{p.first} | {p.second}", p.sums, p.alike] for p in report.alike[:_MOST]]
        remedies = attack_remedies(report, self.language)
        names = ("figure", "cells", "exposure", "dominated", "published found", "averaged found")
        sections.append(self.listed(text["sums of values"], names, values))
        names = ("sets", "all sums", "same direction")
        sections.append(self.listed(text["pairs alike"], names, alike))
        names = ("attack", "helps", "price")
        sections.append(self.listed(text["remedies"], names, remedies))
        return sections

    def _layers(self, one: AttackedUniverse, at: int) -> str:
        rows: list[list[Any]] = []
        bars: list[Bar] = []
        for layer in one.layers[:_MOST]:
            hit = layer.expected if layer.found is None else layer.found
            shares = [self.share(s) for s in (layer.expected, layer.found, layer.unchanged)]
            rows.append([layer.layer, layer.cells, self.number(layer.exposure, 2), *shares])
            if hit is not None:
                bars.append(self.share_bar(layer.layer, hit))
        names = ("layer", "cells", "exposure", "expected", "found", "unchanged")
        return self.charted(f"layers-{at}", self.text["by table part"], names, rows, bars, 1)

    def _variables(self, one: AttackedUniverse, at: int) -> str:
        """The worst layer that each variable is part of."""
        worst: dict[str, tuple[float, float]] = {}
        for layer in one.layers:
            hit = layer.expected if layer.found is None else layer.found
            for name in () if hit is None else layer.variables:
                old = worst.get(name, (0.0, 0.0))
                worst[name] = (max(old[0], hit or 0), max(old[1], layer.exposure))
        order = sorted(worst, key=lambda name: (-worst[name][0], name))
        rows: list[list[Any]] = [
            [name, self.share(worst[name][0]), self.number(worst[name][1], 2)] for name in order
        ]
        bars = [self.share_bar(name, worst[name][0]) for name in order]
        names = ("variable", "average", "exposure")
        return self.charted(f"variables-{at}", self.text["by variable"], names, rows, bars, 1)

    def _growth(self, one: AttackedUniverse, at: int) -> str:
        """The exposure of the total as tables are added, those that add most."""
        sums = accumulate(own for _, own in one.growth)
        added = [(table, own, up) for (table, own), up in zip(one.growth, sums, strict=True)]
        most = sorted(added, key=lambda each: -each[1])[:_MOST]
        chosen = [item for item in added if item in most]
        rows: list[list[Any]] = [
            [table, self.number(own, 3), self.number(up, 2)] for table, own, up in chosen
        ]
        bars = [Bar(table, up, self.number(up, 2)) for table, _, up in chosen]
        names = ("table", "adds", "together")
        return self.charted(f"growth-{at}", self.text["growth"], names, rows, bars)

    def _facts_of(self, one: AttackedUniverse) -> str:
        """Bounds, parameters and groups in a table."""
        text, bounds, known = self.text, one.bounds, one.parameters
        rows: list[list[Any]] = []
        if bounds is not None:
            names = ("determined", "one_or_two", "narrow", "contradicted", "likely")
            counts = {name: getattr(bounds, name) for name in names}
            rows += [[text[name], count] for name, count in counts.items() if count is not None]
        if bounds is not None and bounds.right is not None:
            rows.append([text["right"], self.share(bounds.right)])
        if known.sums:
            rows += [[text["sums"], known.sums], [text["largest"], known.largest]]
            if math.isfinite(known.variance):
                rows.append([text["variance"], self.number(known.variance, 2)])
        rows += [[f"{text['groups']}: {g.layer}", g.single] for g in one.groups[:_MOST]]
        if one.contradictions[0]:
            place = f"{text['contradictions']}: {one.contradictions[1]}"
            rows.append([place, one.contradictions[0]])
        rows += [[text["left out"], name] for name in one.left_out]
        return self.listed(self.text["others"], ("what", "number"), rows)
