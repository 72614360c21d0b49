"""Insiders: whoever stands alone behind hidden cells computes no cell of others.

The attacker is written apart (`tests.helpers.insiders_apart`): a linear program per contributor.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods import registry
from discreet.protection.suppression.methods.insider_guard import guarded_pattern
from discreet.protection.suppression.proof.certificate import Pattern, certified
from discreet.rules.marks import Mark
from tests.helpers.insiders_apart import KINDS, InsiderCase, insider_case


def opened(case: InsiderCase, **options: Any) -> set[Any]:
    """What insiders compute of tables as they are suppressed."""
    return case.computed(case.suppressed(**options))


@pytest.mark.parametrize(("span", "per"), KINDS)
def test_no_contributor_computes_a_cell_of_others(span: str, per: str) -> None:
    cases = (insider_case(span, per, seed, 35) for seed in range(10))
    case = next(case for case in cases if opened(case, singletons=False))
    assert not opened(case)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("span", "per"), KINDS)
def test_no_contributor_computes_a_cell_of_others_in_many_tables(span: str, per: str) -> None:
    """Fewer seeds where one costs ten times as much; `bench/insiders.py` takes more."""
    for seed in range(3 if span == "three-way" else 9):
        case = insider_case(span, per, seed)
        safe = case.suppressed()
        assert not case.computed(safe)
        found = dc.audit(safe, case.tables, case.primaries)
        assert found.safe
        assert found.respondents is not None


def test_the_audit_finds_what_the_attacker_finds() -> None:
    case = insider_case("three-way", "holding", 0, 60)
    safe = case.suppressed(singletons=False)
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
    careless = dc.suppress(table, primary, method="optimal", singletons=False)
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

    def whole(problem: Any, pattern: Pattern) -> Pattern:
        name = next(at for at in range(len(problem)) if "branch=a" in problem.name(at))
        hidden = pattern.hidden | (np.arange(len(problem)) == name)
        return certified(problem, hidden, pattern.method)

    def guard(problem: Any, *given: Any) -> Pattern:
        asked.append(problem.hidden.sum())
        return guarded_pattern(problem, *given)

    monkeypatch.setattr(registry, "protected_in_whole_numbers", whole)
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
    assert "singletons=False" in str(caught.value)
    safe = dc.suppress(table, primary, method="fast", singletons=False)
    assert not dc.audit(safe, table, primary).safe


def test_records_of_linked_tables_are_known_by_their_keys() -> None:
    """One record alone in two tables is one insider; two records of equal value are two."""
    from discreet.protection.suppression.problem.linked_tables import build_problem
    from discreet.protection.suppression.proof.insiders import insiders_of

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
        found = insiders_of(problem, members, sources, ["turnover"] * 2)
        assert found is not None
        assert len(np.unique(found.owner[found.known])) == sure
        # Without keys all four cells of value 50 may be those of one.
        assert (found.group is None) == (key is not None)


def test_tables_that_do_not_count_contributors_are_told() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [1, 1, 1, 1], "v": [9.0, 4, 3, 2]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n", weight="v")
    marked = table.weight == 2
    done = dc.protection.suppression.Suppression.of((table, marked), value="weight", method="fast")
    assert any("not known" in note for note in done.notes)
    with pytest.raises(SuppressionError, match="how many contributors"):
        dc.suppress(table, marked, value="weight", method="fast", singletons=True)
