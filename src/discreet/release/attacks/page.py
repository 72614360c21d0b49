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
from typing import Any

from discreet._version import __version__
from discreet.assessment import AttackedUniverse, AttackReport, number, percent
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
    sections = _internal(report, text, language) if internal else _public(report, text, language)
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


def _internal(report: AttackReport, text: Words, language: str) -> list[str]:
    rates = report.rates()
    facts = [(text[name], _told(name, rate, language)) for name, rate in rates.items()]
    sections = [facts_html(facts, text["glance"]), _twins(report, text, language)]
    for at, one in enumerate(report.universes):
        if len(report.universes) > 1:
            sections.append(f"<h2>{html.escape(text['universe'])} {html.escape(one.name)}</h2>\n")
        sections += [
            _layers(one, f"layers-{at}", text, language),
            _variables(one, f"variables-{at}", text, language),
            _growth(one, f"growth-{at}", text, language),
            _facts_of(one, text, language),
        ]
    sections += [_values(report, text, language), _alike(report, text, language)]
    return [*sections, _remedies(report, text, language)]


def _remedies(report: AttackReport, text: Words, language: str) -> str:
    """What would help against each attack that finds something, and its price."""
    rates = report.rates()
    worst = max(report.universes, key=lambda one: one.needed / max(one.variance, 1e-9))
    words = {name: number(rates[name] or 0, language, 0) for name in _HELPED}
    words["variance"] = number(worst.needed, language, 2)
    words["exposure"] = number(worst.exposure_kept, language, 2)
    words["times"] = number(math.sqrt(worst.needed / max(worst.variance, 1e-9)), language, 1)
    asked = [item for item in _HELPED if rates[item]]
    if worst.needed <= worst.variance:
        asked = [item for item in asked if item != "average"]
    rows = [
        [text[item], *(text[f"{item} {which}"].format(**words) for which in ("helps", "price"))]
        for item in asked
    ]
    heads = [text[name] for name in ("attack", "helps", "price")]
    return listed_section(text["remedies"], heads, rows, language) if rows else ""


def _told(name: str, rate: float | int | None, language: str) -> str:
    if rate is None:
        return "–"
    if name in ("average", "values") and rate:
        return percent(float(rate), language)
    return number(rate, language, 0 if isinstance(rate, int) else 2)


def _twins(report: AttackReport, text: Words, language: str) -> str:
    rows: list[list[Any]] = [
        [
            f"{twin.first} | {twin.second}",
            twin.unequal,
            twin.compared,
            "–" if twin.difference is None else twin.difference,
            ", ".join(twin.cells) or "–",
        ]
        for twin in report.twins[:_MOST]
    ]
    names = ("sets", "unequal", "compared", "difference", "first cell")
    heads = [text[name] for name in names]
    return listed_section(text["twins"], heads, rows, language) if rows else ""


def _values(report: AttackReport, text: Words, language: str) -> str:
    """What is found out of sums of values, per figure."""
    rows: list[list[Any]] = []
    for value in report.values[:_MOST]:
        shares = [_share(share, language) for share in (value.published, value.averaged)]
        told = "–" if value.dominated is None else value.dominated
        rows.append([value.figure, value.cells, number(value.exposure, language, 2), told, *shares])
    names = ("figure", "cells", "exposure", "dominated", "published found", "averaged found")
    heads = [text[name] for name in names]
    return listed_section(text["sums of values"], heads, rows, language) if rows else ""


def _alike(report: AttackReport, text: Words, language: str) -> str:
    rows: list[list[Any]] = [
        [f"{pair.first} | {pair.second}", pair.sums, pair.alike] for pair in report.alike[:_MOST]
    ]
    heads = [text[name] for name in ("sets", "all sums", "same direction")]
    return listed_section(text["pairs alike"], heads, rows, language) if rows else ""


def _layers(one: AttackedUniverse, identifier: str, text: Words, language: str) -> str:
    rows: list[list[Any]] = []
    bars: list[Bar] = []
    for layer in one.layers[:_MOST]:
        hit = layer.expected if layer.found is None else layer.found
        shares = [
            _share(share, language) for share in (layer.expected, layer.found, layer.unchanged)
        ]
        rows.append([layer.layer, layer.cells, number(layer.exposure, language, 2), *shares])
        if hit is not None:
            bars.append(share_bar(layer.layer, hit, language))
    names = ("layer", "cells", "exposure", "expected", "found", "unchanged")
    title = text["by table part"]
    return charted_section(
        identifier, title, [text[name] for name in names], rows, bars, language, full=1
    )


def _share(share: float | None, language: str) -> str:
    return "–" if share is None else percent(share, language)


def _variables(one: AttackedUniverse, identifier: str, text: Words, language: str) -> str:
    """The worst layer that each variable is part of."""
    worst: dict[str, tuple[float, float]] = {}
    for layer in one.layers:
        hit = layer.expected if layer.found is None else layer.found
        if hit is not None:
            for name in layer.variables:
                old = worst.get(name, (0.0, 0.0))
                worst[name] = (max(old[0], hit), max(old[1], layer.exposure))
    order = sorted(worst, key=lambda name: (-worst[name][0], name))
    rows = [
        [name, percent(worst[name][0], language), number(worst[name][1], language, 2)]
        for name in order
    ]
    bars = [share_bar(name, worst[name][0], language) for name in order]
    heads = [text[name] for name in ("variable", "average", "exposure")]
    return charted_section(identifier, text["by variable"], heads, rows, bars, language, full=1)


def _growth(one: AttackedUniverse, identifier: str, text: Words, language: str) -> str:
    """The exposure of the total as tables are added, those that add most."""
    added = [(table, own, sum_) for table, own, sum_ in _sums(one.growth)]
    most = sorted(added, key=lambda each: -each[1])[:_MOST]
    chosen = [item for item in added if item in most]
    rows = [[table, number(own, language, 3), number(up, language, 2)] for table, own, up in chosen]
    bars = [Bar(table, up, number(up, language, 2)) for table, _, up in chosen]
    heads = [text[name] for name in ("table", "adds", "together")]
    return charted_section(identifier, text["growth"], heads, rows, bars, language)


def _sums(growth: Sequence[tuple[str, float]]) -> list[tuple[str, float, float]]:
    found, total = [], 0.0
    for table, own in growth:
        total += own
        found.append((table, own, total))
    return found


def _facts_of(one: AttackedUniverse, text: Words, language: str) -> str:
    """Bounds, parameters and groups in a table."""
    rows: list[list[Any]] = []
    if one.bounds is not None:
        bounds = one.bounds
        for name in ("determined", "one_or_two", "narrow", "contradicted", "likely"):
            count = getattr(bounds, name)
            if count is not None:
                rows.append([text[name], count])
        if bounds.right is not None:
            rows.append([text["right"], percent(bounds.right, language)])
    known = one.parameters
    if known.sums:
        rows += [[text["sums"], known.sums], [text["largest"], known.largest]]
        if math.isfinite(known.variance):
            rows.append([text["variance"], number(known.variance, language, 2)])
    for group in one.groups[:_MOST]:
        rows.append([f"{text['groups']}: {group.layer}", group.single])
    if one.contradictions[0]:
        rows.append([f"{text['contradictions']}: {one.contradictions[1]}", one.contradictions[0]])
    rows += [[text["left out"], name] for name in one.left_out]
    heads = [text["what"], text["number"]]
    return listed_section(text["others"], heads, rows, language) if rows else ""
