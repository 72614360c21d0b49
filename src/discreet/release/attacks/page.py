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
from discreet.assessment import (
    SHARES,
    AttackOutcome,
    AttackReport,
    attack_listings,
    number,
    percent,
    words_of_listings,
)
from discreet.errors import PublicationError
from discreet.publication import facts_html, page_head, page_tail, read_words
from discreet.release.attacks.attack import PlannedExposure
from discreet.release.report.sections import Bar, Sections, bullets, paragraphs

_WORDS = {
    language: {**words_of_listings(language), **texts}
    for language, texts in read_words("discreet.release.attacks").items()
}
#: Attacks whose success tells how the noise is drawn, or how large it is: not for everybody.
_OF_NOISE = ("exposure", "shared", "official", "regular", "alike")


def attack_page(
    report: AttackReport, title: str = "", *, language: str = "en", internal: bool = False
) -> str:
    """Page with results of attacks.

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
    """Page with the averaging risk as the tables of a programme are added. SECRET."""
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
    """Name and meaning of each rate of a report."""
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


class _AttackSections(Sections):
    def __init__(self, report: AttackReport, language: str) -> None:
        super().__init__(_WORDS[language], language)
        self.report = report

    def public(self) -> list[str]:
        """Rates only, rounded so that nothing of the noise follows from them."""
        if not self.report.universes:
            message = "the public page needs counts with noise, but the release has none"
            raise PublicationError(message, code="attack", where="public", hint="remove it")
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
        outcomes = self.report.outcomes()
        sections = [self._verdict(outcomes), self._outcomes(outcomes)]
        for own in attack_listings(self.report, self.language):
            if own.identifier:
                bars = [Bar(*bar) for bar in own.bars]
                title, columns, rows = own.title, own.columns, own.rows
                sections.append(self.charted(own.identifier, title, columns, rows, bars, own.full))
            else:
                sections.append(self.listed(own.title, own.columns, own.rows))
        return sections
