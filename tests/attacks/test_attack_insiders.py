"""Insiders: whoever stands alone behind hidden cells computes no cell of others.

The attacker is written apart (`tests.helpers.insiders_apart`): a linear program per contributor.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

import discreet as dc
from discreet import rules
from discreet.disclosure import Insiders
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression, SuppressionSettings, report_on
from discreet.protection.suppression.methods import registry
from discreet.protection.suppression.methods.branch_and_cut import guarded_pattern
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Certificate, Pattern
from discreet.rules.marks import Mark
from tests.helpers.insiders_apart import KINDS, InsiderCase, insider_case
from tests.helpers.small_systems import (
    cheapest,
    is_kept_from,
    is_safe,
    problem_of,
    sums_of_table,
    table_of,
)


def opened(case: InsiderCase, **options: Any) -> set[Any]:
    """What insiders compute of tables as they are suppressed."""
    return case.computed(case.suppressed(**options))


@pytest.mark.parametrize(("span", "per"), KINDS[:2])
def test_no_contributor_computes_a_cell_of_others(span: str, per: str) -> None:
    cases = (insider_case(span, per, seed, 35) for seed in range(10))
    case = next(case for case in cases if opened(case, insiders="off"))
    assert not opened(case)


@pytest.mark.parametrize("aim", ["exact", 0.25])
def test_weaker_aims_hold_and_audits_say_which(aim: Any) -> None:
    """Nobody computes a figure exactly; the full levels may not hold, and audits tell."""
    case = insider_case("two-way", "holding", 0, 30)
    safe = case.suppressed(insiders=aim)
    assert not case.computed(safe, 0.0 if aim == "exact" else aim)
    found = dc.audit(safe, case.tables, case.primaries, insiders=aim)
    assert found.safe
    assert found.respondents is not None
    assert found.respondents.holds != "off"
    full = dc.audit(safe, case.tables, case.primaries)
    assert full.safe == (found.respondents.holds == "levels")
    assert len(case.blanks(safe)) < len(case.blanks(case.suppressed()))


def lone_cells(seed: int) -> tuple[SuppressionProblem, Insiders]:
    """A small table in which some contributors stand alone behind one or two inner cells."""
    draw = np.random.default_rng([seed, 31])
    value = table_of(draw.integers(2, 30, (3, 3)))
    inner = draw.permutation(np.arange(16).reshape(4, 4)[1:, 1:].ravel())
    state = np.full(16, CellState.free)
    state[inner[:4]] = CellState.primary
    state[draw.choice(16, 7, replace=False)] = CellState.fixed
    state[inner[:3]] = CellState.primary
    return with_owners(draw, value, state, dict(zip(inner, [1, 2, 1, 3, 4], strict=False)))


def dominated_total(seed: int) -> tuple[SuppressionProblem, Insiders]:
    """A small table in which one contributor has most of a sensitive total."""
    draw = np.random.default_rng([seed, 32])
    inner = draw.integers(2, 30, (3, 3))
    inner[0, 0] = 200
    state = np.full(16, CellState.free)
    state[draw.choice(16, 6, replace=False)] = CellState.fixed
    state[[4, 5]] = CellState.primary
    owners = {5: 1, int(draw.choice([6, 7, 9, 10])): 2}
    return with_owners(draw, table_of(inner), state, owners)


def with_owners(
    draw: np.random.Generator, value: np.ndarray, state: np.ndarray, owners: dict[int, int]
) -> tuple[SuppressionProblem, Insiders]:
    """A table of three by three cells with costs and levels, and who is alone in which."""
    owner = np.full(16, -1, dtype=np.int64)
    owner[list(owners)] = list(owners.values())
    level = np.where(state == CellState.primary, 2, 0)
    problem = problem_of(
        value.ravel(), sums_of_table((4, 4)), state=state, cost=draw.integers(1, 20, 16),
        lower=level, upper=level,
    )  # fmt: skip
    return problem, Insiders(owner=owner, share=0.0)


@pytest.mark.parametrize("seed", [0, 1, 10, 12])
def test_the_cheapest_pattern_against_insiders_is_that_of_trying_all(seed: int) -> None:
    assert_cheapest(*lone_cells(seed), refused=seed == 1)


@pytest.mark.parametrize("seed", [3, 9, 19])
def test_who_has_most_of_a_total_does_not_compute_the_rest(seed: int) -> None:
    assert_cheapest(*dominated_total(seed))


def assert_cheapest(
    problem: SuppressionProblem, insiders: Insiders, *, refused: bool = False
) -> None:
    """Methods cost no less than the cheapest, bounds are no higher, and `optimal` has both."""
    owners = np.unique(insiders.owner[insiders.known])
    known = [np.flatnonzero(insiders.owner == who).tolist() for who in owners]
    lowest = cheapest(problem, insiders=known)
    assert refused == (lowest is None)
    if lowest is None:
        with pytest.raises(SuppressionError):
            find_pattern(problem, "optimal", insiders=insiders)
        return
    assert lowest > (cheapest(problem) or 0)
    for method in ("fast", "auto", "optimal"):
        pattern = find_pattern(problem, method, insiders=insiders)  # type: ignore[arg-type]
        assert is_safe(problem, pattern.hidden)
        assert all(is_kept_from(problem, pattern.hidden, own) for own in known)
        assert pattern.bound is not None
        assert pattern.bound <= lowest <= pattern.cost
        assert method != "optimal" or pattern.bound == lowest == pattern.cost


@pytest.mark.parametrize(("old", "aim"), [(True, "levels"), (False, "off")])
def test_the_old_name_means_the_same(old: bool, aim: Any) -> None:
    assert SuppressionSettings.model_validate({"singletons": old}).insiders == aim
    case = insider_case("two-way", "record", 1, 30)
    one, other = (case.suppressed(**stated) for stated in ({"singletons": old}, {"insiders": aim}))
    assert case.blanks(one) == case.blanks(other)


@pytest.mark.parametrize("aim", [0, 1, 1.5, -0.5, "none", True])
def test_aims_that_mean_nothing_are_refused(aim: Any) -> None:
    case = insider_case("two-way", "record", 1, 30)
    with pytest.raises(SuppressionError, match="a share from 0 to 1"):
        case.suppressed(insiders=aim)
    with pytest.raises(ValidationError, match="a share from 0 to 1"):
        SuppressionSettings(insiders=aim)


def test_a_share_may_be_a_text() -> None:
    assert SuppressionSettings.model_validate({"insiders": "0,25"}).insiders == 0.25
    with pytest.raises(ValidationError, match="old name"):
        SuppressionSettings.model_validate({"insiders": "exact", "singletons": False})


def test_reports_have_the_price_of_each_aim() -> None:
    case = insider_case("two-way", "record", 1, 40)
    sources = list(zip(case.tables, case.primaries, strict=True))
    done = Suppression.of(sources, method="fast")
    report = report_on(done, prices=True)
    prices = {price.insiders: price.cost or 0 for price in report.prices}
    assert list(prices) == ["off", "exact", 0.25, "levels"]
    assert prices["off"] <= prices["exact"] <= prices["levels"] == done.pattern.cost
    assert prices["off"] < prices["levels"]
    assert 'insiders = "exact"' in report.text()
    assert report.described()["prices"][3]["cost"] == done.pattern.cost
    assert "insiders" not in report_on(done).text()


@pytest.mark.exhaustive
@pytest.mark.parametrize("aim", ["levels", "exact", 0.25])
@pytest.mark.parametrize(("span", "per"), KINDS)
def test_no_contributor_computes_a_cell_of_others_in_many_tables(
    span: str, per: str, aim: Any
) -> None:
    """`bench/insiders.py` takes more seeds and more records."""
    case = insider_case(span, per, *((0, 40) if aim == "levels" else (100, 35)))
    safe = case.suppressed(insiders=aim)
    assert not case.computed(safe, aim if aim == 0.25 else 0.0)
    found = dc.audit(safe, case.tables, case.primaries, insiders=aim)
    assert found.safe
    assert found.respondents is not None


def test_the_audit_finds_what_the_attacker_finds() -> None:
    case = insider_case("three-way", "holding", 0, 40)
    safe = case.suppressed(insiders="off")
    found = dc.audit(safe, case.tables, case.primaries)
    computed = {cell for _, cell in case.computed(safe)}
    assert found.respondents is not None
    assert len(found.respondents.opened) == len(computed) > 0
    assert not found.safe
    assert found.described()["respondents"]["opened"] == len(computed)
    assert "compute" in found.text()
    assert dc.audit(safe, case.tables, case.primaries, coalition=0).safe


GROUPS = pl.DataFrame(
    {
        "branch": [*"abcddddefffff"],
        "group": ["K0", "H", "H", *"1234", "K", *"56789"],
        "turnover": [90, 20, 30, 70, 80, 60, 75, 50, 30, 35, 45, 25, 60],
    }
)


def test_a_holding_alone_in_two_cells_does_not_compute_the_third() -> None:
    """b and c are H's, e is another's: hidden alone, H takes its own from their sum."""
    table = dc.tabulate(GROUPS, ["branch"], values=["turnover"], contributions=2)
    held = rules.count_holdings(GROUPS, ["branch"], holding="group", values=["turnover"])
    primary = dc.primary(
        table, [rules.MinimumFrequency(2, per="holding")], value="turnover", holdings=held,
        marks=[Mark(cells={"branch": "a"}, status="safe")],
    )  # fmt: skip
    safe = dc.suppress(table, primary, method="optimal")
    hidden = {code for code in "abcdef" if safe.get(code) is None}
    assert {"b", "c", "e"} < hidden
    careless = dc.suppress(table, primary, method="optimal", insiders="off")
    assert {code for code in "abcdef" if careless.get(code) is None} == {"b", "c", "e"}
    found = dc.audit(careless, table, primary)
    assert not found.safe
    assert found.respondents is not None
    assert found.respondents.names == ("branch=e",)
    assert dc.audit(safe, table, primary).safe


def test_what_is_hidden_for_whole_numbers_is_held_against_insiders_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is alone behind a cell that is hidden last is an insider as well."""
    table = dc.tabulate(GROUPS, ["branch"], values=["turnover"], contributions=2)
    marks = [Mark(cells={"branch": "a"}, status="safe")]
    found = dc.primary(table, [rules.MinimumFrequency(2)], value="turnover", marks=marks)
    shown = dc.suppress(table, found, method="fast")
    assert shown.get("a") is not None
    asked = []

    def whole(problem: Any, hidden: Any, certificate: Certificate) -> Certificate:
        name = next(at for at in range(len(problem)) if "branch=a" in problem.name(at))
        return replace(certificate, protected=certificate.protected & hidden[name])

    def guard(problem: Any, *given: Any) -> Pattern:
        asked.append(problem.hidden.sum())
        return guarded_pattern(problem, *given)

    monkeypatch.setattr(registry, "held_in_whole_numbers", whole)
    monkeypatch.setattr(registry, "guarded_pattern", guard)
    safe = dc.suppress(table, found, method="fast")
    assert safe.get("a") is None
    assert len(asked) == 2
    assert asked[1] == asked[0] + 1
    assert dc.audit(safe, table, found).safe


def test_what_no_pattern_keeps_from_an_insider_is_refused_by_name() -> None:
    frame = pl.DataFrame({"branch": [*"abcccddd"], "turnover": [10, 20, 9, 8, 7, 5, 4, 6]})
    table = dc.tabulate(frame, ["branch"], values=["turnover"], contributions=2)
    marks = [Mark(cells={"branch": code}, status="protected") for code in ("Total", *"cd")]
    primary = dc.primary(table, [rules.MinimumFrequency(2)], value="turnover", marks=marks)
    with pytest.raises(SuppressionError) as caught:
        dc.suppress(table, primary, method="fast")
    assert caught.value.code == "insiders"
    assert "branch=a" in str(caught.value)
    assert 'insiders="off"' in str(caught.value)
    safe = dc.suppress(table, primary, method="fast", insiders="off")
    assert not dc.audit(safe, table, primary).safe


def test_records_of_linked_tables_are_known_by_their_keys() -> None:
    """One record alone in two tables is one insider; two records of equal value are two."""
    from discreet.disclosure import insiders_of
    from discreet.protection.suppression.problem.linked_tables import build_problem

    frame = pl.DataFrame(
        {
            "id": range(8),
            "branch": [*"abcccccc"],
            "size": ["s", "m", *["l"] * 6],
            "turnover": [50, 50, 60, 70, 80, 90, 55, 65],
        }
    )
    keyed = dc.with_record_keys(frame, id="id", secret=hashlib.sha256(b"insiders").digest())
    for given, key, sure in ((frame, None, 4), (keyed, "record_key", 2)):
        tables = [
            dc.tabulate(given, [name], values=["turnover"], contributions=2, record_key=key)
            for name in ("branch", "size")
        ]
        sources = [(table, table.count == 1) for table in tables]
        problem, members = build_problem(sources, value="turnover")
        found = insiders_of(problem.relations, problem.value, members, sources, ["turnover"] * 2)
        assert found is not None
        assert len(np.unique(found.owner[found.known])) == sure
        # Without keys all four cells of value 50 may be those of one.
        assert (found.group is None) == (key is not None)


def test_tables_that_do_not_count_contributors_are_told() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [1, 1, 1, 1], "v": [9.0, 4, 3, 2]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n", weight="v")
    marked = table.weight == 2
    done = dc.protection.suppression.Suppression.of((table, marked), value="weight", method="fast")
    assert any("unknown" in note for note in done.notes)
    with pytest.raises(SuppressionError, match="number of contributors"):
        dc.suppress(table, marked, value="weight", method="fast", insiders="levels")
