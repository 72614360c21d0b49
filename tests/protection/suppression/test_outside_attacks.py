"""Published tables and instances: every pattern, and the audit itself, against outside attacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.proof.audit import audit_problem
from discreet_argus import read_jj
from tests.helpers.attacker_apart import Listed
from tests.helpers.business_tables import table

#: Lowest cost, if proven by others too, and that of the tool offices use (modular).
KNOWN = {
    "SizeReg": (621, 621),
    "YearSizeReg": (4508, 5067),
    "SizeInd": (2664, 3305),
    "RegInd": (5560, 6990),
}
SPANS = {
    "SizeReg": ("Size", "Reg"),
    "YearSizeReg": ("Year", "Size", "Reg"),
    "SizeInd": ("Size", "Ind"),
    "RegInd": ("Reg", "Ind"),
}
LONG = pytest.mark.exhaustive
#: A good pattern of a two-way table is so near to the cheapest one.
NEAR = 1.02


@pytest.fixture(scope="session")
def files(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the file of a business table; those that are not published are made."""
    folder = tmp_path_factory.mktemp("business")

    def file(name: str) -> Path:
        there = reference / "suppression" / f"tau_{name}_P10.jj.gz"
        made = folder / f"{name}.jj"
        if not there.exists() and not made.exists():
            made.write_text(table(reference, *SPANS[name]))
        return there if there.exists() else made

    return file


def protected_file(path: Path, method: Any) -> int:
    """The cost of a pattern that our audit and the attacker apart both find safe."""
    problem, listed = read_jj(path), Listed.read(path)
    pattern = find_pattern(problem, method)
    hidden = np.flatnonzero(pattern.hidden).tolist()
    assert listed.open_cells(hidden) == []
    assert audit_problem(problem, pattern.hidden).safe
    assert {at for at, mark in enumerate(listed.marks) if mark == "u"} <= set(hidden)
    assert not {at for at, mark in enumerate(listed.marks) if mark == "z"} & set(hidden)
    assert listed.cost_of(hidden) == pattern.cost
    assert pattern.bound is None or pattern.bound <= pattern.cost
    return pattern.cost


@pytest.mark.parametrize("method", ["fast", "modular", "hypercube"])
@pytest.mark.parametrize("name", ["SizeReg", "YearSizeReg", pytest.param("SizeInd", marks=LONG)])
def test_patterns_withstand_attacks_from_outside(files: Any, name: str, method: Any) -> None:
    best, modular = KNOWN[name]
    cost = protected_file(files(name), method)
    most = {"fast": best if name != "SizeInd" else modular, "modular": modular}
    assert best <= cost <= most.get(method, cost)


@pytest.mark.exhaustive
def test_a_table_of_two_hierarchies_withstands_them(files: Any) -> None:
    best, modular = KNOWN["RegInd"]
    assert best <= protected_file(files("RegInd"), "fast") <= modular


@pytest.mark.parametrize("name", ["SizeReg", pytest.param("YearSizeReg", marks=LONG)])
def test_auto_comes_near_the_cheapest_pattern(files: Any, name: str) -> None:
    best, modular = KNOWN[name]
    cost = protected_file(files(name), "auto")
    assert cost <= min(modular, NEAR * best)


@pytest.mark.exhaustive
def test_the_cheapest_pattern_of_a_large_two_way_table_is_proven(files: Any) -> None:
    assert protected_file(files("SizeInd"), "optimal") == KNOWN["SizeInd"][0]


@pytest.mark.parametrize("name", ["osorio", "table8", pytest.param("hie1372d", marks=LONG)])
def test_classic_instances_withstand_them(reference: Path, name: str) -> None:
    assert protected_file(reference / "suppression" / f"{name}.jj.gz", "fast") > 0


# -- the audit against the attacker -------------------------------------------------


@pytest.mark.parametrize("name", ["SizeReg", "YearSizeReg", pytest.param("SizeInd", marks=LONG)])
def test_the_audit_finds_open_the_cells_that_the_attacker_finds(files: Any, name: str) -> None:
    problem, listed = read_jj(files(name)), Listed.read(files(name))
    safe = find_pattern(problem, "hypercube").hidden
    draw = np.random.default_rng(7)
    seen = set()
    for share in (0.0, 0.2, 0.6, 1.0):
        hidden = safe.copy()
        hidden[(draw.random(len(hidden)) < share) & ~problem.hidden] = False
        open_cells = audit_problem(problem, hidden).certificate.unprotected.tolist()
        assert open_cells == sorted(listed.open_cells(np.flatnonzero(hidden).tolist()))
        seen.add(len(open_cells))
    assert len(seen) >= 3


def test_both_find_the_eight_open_cells_that_an_office_published(reference: Path) -> None:
    path = reference / "suppression" / "dep_activite.jj.gz"
    problem, listed = read_jj(path), Listed.read(path)
    hidden = [at for at, mark in enumerate(listed.marks) if mark in "um"]
    audit = audit_problem(problem, problem.hidden)
    assert sorted(listed.open_cells(hidden)) == audit.certificate.unprotected.tolist()
    assert len(audit.unprotected) == 8
    assert audit.described()["secondaries"] > 0
    assert "Unprotected: 8" in audit.text()
