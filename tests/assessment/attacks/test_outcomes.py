"""One verdict on all attacks, and a row for each: the same in text, JSON and pages."""

from __future__ import annotations

import html
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.assessment import AttackOutcome, AttackReport, PublishedFigures, verdict_sentence
from discreet.classifications import Classification
from discreet.publication.examples import census_example
from discreet.release import attack_page
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance


@pytest.fixture(scope="module")
def report() -> AttackReport:
    return dc.attack(census_example(), knows="maximum", max_noise=2)


def test_each_rate_has_a_reader_and_a_verdict(report: AttackReport) -> None:
    rates = report.rates()
    outcomes = report.outcomes()
    assert {one.attack for one in outcomes} == set(rates) - {"exposure"}
    assert all(one.rate == rates[one.attack] for one in outcomes)
    words = {one.verdict for one in outcomes}
    first = next(word for word in ("open", "not examined", "safe") if word in words)
    assert report.verdict == first


def test_what_is_found_is_open_and_what_is_unknown_is_not_safe(report: AttackReport) -> None:
    """Anything found, but of averaging 60 %; an attack without a rate is a gap by its name."""
    assert report.rates()["average"] is None
    assert report.verdict == "not examined"
    assert [gap.name for gap in report.judgement.gaps] == ["attack: Averaging succeeds"]
    bare = replace(report, bare=[replace(each, whole=3) for each in _bare()])
    assert bare.verdict == "open"
    assert bare.judgement.opened == ("Shares of everything",)
    for attack, rate, verdict in (
        ("average", 0.6, "safe"), ("average", 0.61, "open"), ("values", 0.01, "open"),
        ("values", None, "not examined"),
    ):  # fmt: skip
        own = AttackOutcome(attack=attack, reader="contributor", rate=rate)
        assert own.verdict == verdict
    universes = [replace(one, left_out=["means"]) for one in report.universes]
    assert replace(report, universes=universes).judgement.gaps[-1].name.endswith(": means")


def test_the_public_page_tells_nothing_of_attacks_that_it_does_not_list(
    report: AttackReport,
) -> None:
    known = replace(report, bare=[])
    regular = replace(known, universes=[replace(one, regular=True) for one in known.universes])
    assert regular.verdict == "open"
    assert attack_page(known) == attack_page(regular)


def _bare() -> list[object]:
    from discreet.assessment.attacks.figures import BareFigures

    return [BareFigures(table="t", figure="share", whole=0, uncounted=0)]


def test_text_json_and_pages_say_the_same(report: AttackReport) -> None:
    lines, told = report.text().splitlines(), report.described()
    assert lines[0] == verdict_sentence(report.judgement)
    assert told["verdict"] == report.verdict
    secret, public = (attack_page(report, internal=own) for own in (True, False))
    for at, one in enumerate(report.outcomes()):
        assert lines[1 + at].strip() == one.line()
        assert told["attacks"][at] == one.described()
        cells = [f">{html.escape(word)}<" for word in one.words()]
        assert all(cell in secret for cell in cells)
        of_noise = one.attack in ("shared", "official", "regular", "alike")
        assert (cells[0] in public) is not of_noise
    german = attack_page(report, language="de")
    assert "Die Veröffentlichung gegenüber diesen Angriffen: NICHT vollständig geprüft." in german


@pytest.mark.parametrize("chosen", [False, True])
def test_codes_side_by_side_are_no_sum(chosen: bool) -> None:
    """Attacks carry nothing over codes that a table shows without the others."""
    tree = Classification.flat("age", ["20", "30"])
    table = ProtectedTable(
        dimensions=(Dimension(classifications=(tree,), chosen=chosen),),
        index=(np.arange(3, dtype=np.int32),),
        value=np.array([30, 6, 7]),
        status=np.full(3, CellStatus.published, dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
    )
    (system,) = PublishedFigures.of({"": [table]}).systems.values()
    assert len(list(system.steps())) == (not chosen)
