"""Suppression followed by rounding: an attacker of its own finds what the audit finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import discreet as dc
from discreet.errors import CountRoundingError, ProgrammeError, SuppressionError
from discreet.protection.rounding import round_shown
from discreet.protection.suppression import Earlier, Knowledge
from discreet.release import audit_release, protect
from discreet.tables import CellStatus, ProtectedTable, Table


def firms(seed: int, number: int = 90) -> Table:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "area": draw.choice([*"abcd"], number),
            "branch": draw.choice([*"wxyz"], number),
            "sales": np.rint(draw.lognormal(5, 1.3, number)) + 1,
        }
    )
    return dc.tabulate(frame, ["area", "branch"], values=["sales"], contributions=3)


def attacked(
    safe: ProtectedTable, truth: Table, base: int | None
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Bounds of the hidden cells: rows, columns and what is printed, by linear programming."""
    codes = [each.codes for each in truth.dimensions]
    cells = list(zip(*(part.tolist() for part in truth.index), strict=True))
    at = {cell: number for number, cell in enumerate(cells)}
    rows = []
    for (area, branch), number in at.items():
        for parts in (
            [at[0, branch]]
            if area
            else [at[one, branch] for one in range(1, 5) if (one, branch) in at],
            [at[area, 0]]
            if branch
            else [at[area, one] for one in range(1, 5) if (area, one) in at],
        ):
            if parts[0] not in (
                at.get((0, branch)) if area else None,
                at.get((area, 0)) if branch else None,
            ):
                row = np.zeros(len(cells))
                row[number], row[parts] = -1, 1
                rows.append(row)
    hidden, bounds = [], []
    for number, (area, branch) in enumerate(cells):
        shown = safe.get(codes[0][area], codes[1][branch])
        true = truth.sums["sales"][number]
        if shown is None:
            hidden.append(number)
            bounds.append((1, 2 * true))
        elif base is None:
            bounds.append((shown, shown))
        else:
            bounds.append((max(shown - base // 2, 1), shown + (base - 1) // 2))
    found = {}
    for number in hidden:
        cost = np.zeros(len(cells))
        cost[number] = 1
        ends = [
            sign
            * linprog(sign * cost, A_eq=np.array(rows), b_eq=np.zeros(len(rows)), bounds=bounds).fun
            for sign in (1, -1)
        ]
        names = tuple(codes[axis][cells[number][axis]] for axis in (0, 1))
        found[names] = (ends[0], ends[1])
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("base", [10, 50])
def test_hidden_cells_keep_what_an_attacker_of_its_own_finds(seed: int, base: int) -> None:
    truth = firms(seed)
    primary = dc.primary(truth, [dc.rules.PPercent(15)], value="sales")
    safe = dc.suppress(truth, primary, method="fast", reasons="none")
    rounded = round_shown(safe, base)
    knowledge = Knowledge(below=1.0, above=1.0)
    told = dc.audit(rounded, truth, primary, rounded=base, intervals=True, knowledge=knowledge)
    plain = dc.audit(safe, truth, primary, intervals=True, knowledge=knowledge)
    assert told.safe
    attack, before = attacked(rounded, truth, base), attacked(safe, truth, None)
    assert len(told.intervals()) == len(attack) == len(before) > 2
    audited = sorted(told.intervals().select("low", "high").rows())
    assert np.allclose(audited, sorted(attack.values()), atol=1e-4)
    assert np.allclose(
        sorted(plain.intervals().select("low", "high").rows()), sorted(before.values()), atol=1e-4
    )
    for cell, (low, high) in before.items():
        assert attack[cell][0] <= low + 1e-6
        assert attack[cell][1] >= high - 1e-6


def test_too_few_hidden_cells_are_found_out_unless_rounding_covers_them() -> None:
    cells = {"sex": ["Total", "m", "w", "d"], "n": [1000, 600, 395, 5]}
    table = Table.from_cells(pl.DataFrame(cells), by=["sex"], count="n")
    few = np.array([False, False, False, True])
    safe = dc.suppress(table, few, method="fast")
    shown = {"Total": 1000, "m": 600, "w": 395}
    codes = [safe.dimensions[0].codes[at] for at in safe.index[0].tolist()]
    status = np.array([0 if code in shown else CellStatus.suppressed for code in codes], np.int8)
    value = np.array([shown.get(code, 0) for code in codes])
    bare = replace(safe, status=status, value=value, withheld=None)
    assert not dc.audit(bare, table, few).safe
    assert dc.audit(round_shown(bare, 100), table, few, rounded=100).safe
    with pytest.raises(SuppressionError, match="not the true ones, rounded"):
        dc.audit(bare, table, few, rounded=100)
    with pytest.raises(SuppressionError, match="whole number of at least 2"):
        dc.audit(bare, table, few, rounded=1)
    before = [Earlier(table=table, hidden=bare)]
    with pytest.raises(SuppressionError, match="without earlier tables"):
        dc.audit(round_shown(bare, 100), table, few, rounded=100, earlier=before)


def test_what_is_printed() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    table = Table.from_cells(cells, by=["sex"], count="n")
    safe = dc.suppress(table, table.count < 3, method="fast")
    rounded = round_shown(safe, 5)
    words = " ".join(note.text("en") for note in rounded.notes)
    assert "unchanged" not in words
    assert "are suppressed" in words
    assert "multiples of 5" in words
    assert "unchanged" in safe.notes[0].text("en")
    with pytest.raises(CountRoundingError, match="before rounding"):
        round_shown(dc.suppress(table, table.count < 3, method="fast", intervals=True), 5)
    with pytest.raises(CountRoundingError, match="must be at least 2"):
        round_shown(safe, 1)


PROGRAMME = """\
[data]
source = "firms.parquet"

[rules.firms]
minimum_frequency = 3

[suppression]
method = "fast"
round_to = 100

[values.sales]
decimals = 0

[defaults]
protect = "suppress"
rules = "firms"
formats = ["csv", "html"]

[tables.areas]
by = ["area", "branch"]
value = "sales"

[tables.sizes]
by = ["area", "size"]
value = "sales"
"""


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    draw = np.random.default_rng(3)
    columns = {name: draw.choice([*codes], 120) for name, codes in KINDS.items()}
    columns["sales"] = np.rint(draw.lognormal(7, 1, 120))
    pl.DataFrame(columns).write_parquet(tmp_path / "firms.parquet")
    (tmp_path / "programme.toml").write_text(PROGRAMME, encoding="utf-8")
    return tmp_path / "programme.toml"


KINDS = {"area": "abcd", "branch": "uvwxyz", "size": "123456789"}


def test_a_release_is_audited_with_its_rounding(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    protect(programme, out)
    areas = pl.read_csv(out / "areas.csv", comment_prefix="#", infer_schema=False)
    shown = areas.filter(status="published")["value"].cast(pl.Float64)
    assert len(shown) < len(areas)
    assert (shown % 100 == 0).all()
    found = audit_release(programme, out)
    assert found.safe
    assert "Unprotected: 0" in found.text()
    assert "multiples of 100" in (out / "areas.html").read_text("utf-8")
    assert protect(programme, out).fresh == 0
    programme.write_text(PROGRAMME.replace("round_to = 100", "round_to = 10"), encoding="utf-8")
    assert not audit_release(programme, out).safe
    programme.write_text(PROGRAMME.replace("round_to = 100\n", ""), encoding="utf-8")
    assert not audit_release(programme, out).safe


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("round_to = 100", "round_to = 100\nintervals = true"),
        ('value = "sales"\n\n[tables.s', 'value = ["sales", "count"]\n\n[tables.s'),
        ("round_to = 100", "round_to = 1"),
    ],
)
def test_programmes_that_cannot_be(programme: Path, tmp_path: Path, old: str, new: str) -> None:
    programme.write_text(PROGRAMME.replace(old, new), encoding="utf-8")
    with pytest.raises(ProgrammeError):
        protect(programme, tmp_path / "release")
