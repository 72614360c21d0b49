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
from discreet.assessment import AttackedUniverse, AttackReport, number, percent
from discreet.errors import PublicationError
from discreet.publication import facts_html, page_head, page_tail, read_words
from discreet.release.attacks.exposure import PlannedExposure
from discreet.release.report.sections import (
    Bar,
    Words,
    charted_section,
    listed_section,
    share_bar,
)

_WORDS = read_words("discreet.release.attacks")
_MOST = 40
#: Attacks against which something is said, by their rates.
_HELPED = (
    "average", "twins", "determined", "groups", "contradictions", "shared", "official", "regular",
    "alike", "values", "whole", "uncounted",
)  # fmt: skip


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
    text = _WORDS[language]
    name = f"{text['title']}: {title}" if title else text["title"]
    office = _Office(report, language)
    sections = office.sections() if internal else _public(report, text, language)
    return _page(name, text["lead"], sections, language, internal=internal)


def _page(name: str, lead: str, sections: Sequence[str], language: str, *, internal: bool) -> str:
    css = resources.files("discreet.release.report").joinpath("quality.css").read_text("utf-8")
    secret = html.escape(_WORDS[language]["secret"])
    return "".join(
        (
            page_head(name, language, css),
            f'<p class="internal" role="note">{secret}</p>\n' if internal else "",
            f"<h1>{html.escape(name)}</h1>\n",
            f'<p class="lead">{html.escape(lead)}</p>\n',
            *sections,
            f"<footer><p>discreet {__version__}</p></footer>\n",
            page_tail(),
        )
    )


def planned_page(found: Sequence[PlannedExposure], title: str = "", *, language: str = "en") -> str:
    """How much a perturbation table withstands as the tables of a programme are added. SECRET."""
    text = _WORDS[language]
    rows: list[list[Any]] = []
    bars, chances = [], []
    for item in found:
        best = "–" if item.leave_out is None else item.leave_out[0]
        variance = "–" if item.variance is None else number(item.variance, language, 2)
        together = number(item.together, language, 2)
        alone, hit = number(item.alone, language, 2), percent(item.average, language)
        rows.append([item.table, alone, together, hit, variance, best])
        bars.append(Bar(item.table, item.together, together))
        chances.append(share_bar(item.table, item.average, language))
    names = ("table", "exposure", "together", "average", "needed", "without")
    heads = [text[name] for name in names]
    name = f"{text['planned']}: {title}" if title else text["planned"]
    short = [[row[0], row[3]] for row in rows]
    sections = (
        charted_section(
            "chances", text["withstands"], [heads[0], heads[3]], short, chances, language, full=1
        ),
        charted_section("planned", text["planned growth"], heads, rows, bars, language),
    )
    return _page(name, text["planned lead"], sections, language, internal=True)


# -- for everybody ----------------------------------------------------------------


def _public(report: AttackReport, text: Words, language: str) -> list[str]:
    """Rates only, rounded so that nothing of the noise follows from them."""
    if not report.universes:
        message = "the page for everybody is about counts, and none of the release has noise"
        raise PublicationError(message, code="attack", where="public", hint="leave it out")
    rates = report.rates()
    cells = sum(each.cells for one in report.universes for each in one.layers)
    facts = [(text["cells"], number(cells, language, 0))]
    average = rates["average"]
    if average is not None:
        most = percent(min(1.0, math.ceil(10 * float(average)) / 10), language)
        facts.append((text["average"], text["at most"].format(most)))
    determined = rates["determined"]
    if determined is not None and cells:
        share = max(0.001, math.ceil(1000 * int(determined) / cells) / 1000)
        facts.append((text["determined"], text["at most"].format(percent(share, language))))
    return [facts_html(facts, text["glance"]), f"<p>{html.escape(text['method'])}</p>\n"]


# -- for the office ------------------------------------------------------------------


class _Office:
    """The sections of the page for the office."""

    def __init__(self, report: AttackReport, language: str) -> None:
        self.report, self.language, self.text = report, language, _WORDS[language]

    def sections(self) -> list[str]:
        """All of them."""
        report, text = self.report, self.text
        facts = [(text[name], self._rate(name, rate)) for name, rate in report.rates().items()]
        twins = [
            [f"{twin.first} | {twin.second}", twin.unequal, twin.compared,
             "–" if twin.difference is None else twin.difference, ", ".join(twin.cells) or "–"]
            for twin in report.twins[:_MOST]
        ]  # fmt: skip
        names = ("sets", "unequal", "compared", "difference", "first cell")
        sections = [facts_html(facts, text["glance"]), self._table("twins", names, twins)]
        for at, one in enumerate(report.universes):
            if len(report.universes) > 1:
                title = f"{html.escape(text['universe'])} {html.escape(one.name)}"
                sections.append(f"<h2>{title}</h2>\n")
            sections += [self._layers(one, at), self._variables(one, at), self._growth(one, at)]
            sections.append(self._facts_of(one))
        values = [
            [value.figure, value.cells, self._number(value.exposure, 2),
             "–" if value.dominated is None else value.dominated,
             self._share(value.published), self._share(value.averaged)]
            for value in report.values[:_MOST]
        ]  # fmt: skip
        columns = ("figure", "cells", "exposure", "dominated", "published found", "averaged found")
        alike = [[f"{p.first} | {p.second}", p.sums, p.alike] for p in report.alike[:_MOST]]
        return [
            *sections,
            self._table("sums of values", columns, values),
            self._table("pairs alike", ("sets", "all sums", "same direction"), alike),
            self._remedies(),
        ]

    def _number(self, value: float, digits: int) -> str:
        return number(value, self.language, digits)

    def _share(self, share: float | None) -> str:
        return "–" if share is None else percent(share, self.language)

    def _rate(self, name: str, rate: float | int | None) -> str:
        if rate is None or (name in ("average", "values") and rate):
            return self._share(rate)
        return self._number(rate, 0 if isinstance(rate, int) else 2)

    def _table(self, title: str, names: Sequence[str], rows: list[list[Any]]) -> str:
        heads = [self.text[name] for name in names]
        return listed_section(self.text[title], heads, rows, self.language) if rows else ""

    def _chart(
        self,
        identifier: str,
        title: str,
        names: Sequence[str],
        rows: list[list[Any]],
        bars: Sequence[Bar],
        full: float = 0,
    ) -> str:
        heads = [self.text[name] for name in names]
        return charted_section(
            identifier, self.text[title], heads, rows, bars, self.language, full=full
        )

    def _remedies(self) -> str:
        """What would help against each attack that finds something, and its price."""
        rates, text, universes = self.report.rates(), self.text, self.report.universes
        worst = max(universes, key=lambda one: one.needed / max(one.variance, 1e-9), default=None)
        words = {name: self._number(rates[name] or 0, 0) for name in _HELPED}
        if worst is not None:
            words["variance"] = self._number(worst.needed, 2)
            words["exposure"] = self._number(worst.exposure_kept, 2)
            words["times"] = self._number(math.sqrt(worst.needed / max(worst.variance, 1e-9)), 1)
        rows: list[list[Any]] = [
            [text[item], *(text[f"{item} {part}"].format(**words) for part in ("helps", "price"))]
            for item in _HELPED
            if rates[item]
            and (item != "average" or (worst is not None and worst.needed > worst.variance))
        ]
        return self._table("remedies", ("attack", "helps", "price"), rows)

    def _layers(self, one: AttackedUniverse, at: int) -> str:
        rows: list[list[Any]] = []
        bars: list[Bar] = []
        for layer in one.layers[:_MOST]:
            hit = layer.expected if layer.found is None else layer.found
            shares = [self._share(s) for s in (layer.expected, layer.found, layer.unchanged)]
            rows.append([layer.layer, layer.cells, self._number(layer.exposure, 2), *shares])
            if hit is not None:
                bars.append(share_bar(layer.layer, hit, self.language))
        names = ("layer", "cells", "exposure", "expected", "found", "unchanged")
        return self._chart(f"layers-{at}", "by table part", names, rows, bars, 1)

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
            [name, self._share(worst[name][0]), self._number(worst[name][1], 2)] for name in order
        ]
        bars = [share_bar(name, worst[name][0], self.language) for name in order]
        names = ("variable", "average", "exposure")
        return self._chart(f"variables-{at}", "by variable", names, rows, bars, 1)

    def _growth(self, one: AttackedUniverse, at: int) -> str:
        """The exposure of the total as tables are added, those that add most."""
        sums = accumulate(own for _, own in one.growth)
        added = [(table, own, up) for (table, own), up in zip(one.growth, sums, strict=True)]
        most = sorted(added, key=lambda each: -each[1])[:_MOST]
        chosen = [item for item in added if item in most]
        rows: list[list[Any]] = [
            [table, self._number(own, 3), self._number(up, 2)] for table, own, up in chosen
        ]
        bars = [Bar(table, up, self._number(up, 2)) for table, _, up in chosen]
        return self._chart(f"growth-{at}", "growth", ("table", "adds", "together"), rows, bars)

    def _facts_of(self, one: AttackedUniverse) -> str:
        """Bounds, parameters and groups in a table."""
        text, bounds, known = self.text, one.bounds, one.parameters
        rows: list[list[Any]] = []
        if bounds is not None:
            names = ("determined", "one_or_two", "narrow", "contradicted", "likely")
            counts = {name: getattr(bounds, name) for name in names}
            rows += [[text[name], count] for name, count in counts.items() if count is not None]
        if bounds is not None and bounds.right is not None:
            rows.append([text["right"], self._share(bounds.right)])
        if known.sums:
            rows += [[text["sums"], known.sums], [text["largest"], known.largest]]
            if math.isfinite(known.variance):
                rows.append([text["variance"], self._number(known.variance, 2)])
        rows += [[f"{text['groups']}: {g.layer}", g.single] for g in one.groups[:_MOST]]
        if one.contradictions[0]:
            place = f"{text['contradictions']}: {one.contradictions[1]}"
            rows.append([place, one.contradictions[0]])
        rows += [[text["left out"], name] for name in one.left_out]
        return self._table("others", ("what", "number"), rows)
