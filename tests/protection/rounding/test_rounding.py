"""Rounding each figure on its own: worked numbers of the lecture, exact probabilities, errors."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.derived import KeyFigure, derive
from discreet.errors import CountRoundingError, DisclosureWarning, ProgrammeError, SuppressionError
from discreet.protection.rounding import (
    Rounding,
    audit_rounding,
    round_linked,
    round_shown,
    rounded_ingredient,
    rounding_table,
)
from discreet.protection.suppression import Earlier, Knowledge
from discreet.release import audit_release, protect
from discreet.tables import CellStatus, ProtectedTable, Table
from tests.helpers.reader_of_sums import Reader
from tests.helpers.rows import for_all_rows

BY = ["school", "religion"]


@pytest.fixture(scope="module")
def lecture(reference: Path) -> pl.DataFrame:
    return pl.read_csv(reference / "lecture" / "religion_by_school.csv")


@pytest.fixture(scope="module")
def table(lecture: pl.DataFrame) -> dc.Table:
    return dc.Table.from_cells(lecture, by=BY, count="count")


def values(safe: dc.ProtectedTable, cells: pl.DataFrame) -> np.ndarray:
    return np.array([safe.get(*codes) for codes in cells.select(BY).rows()])


def keyed(counts: list[int], keys: list[int], grid: int = 10**15) -> dc.Table:
    cells = pl.DataFrame({"a": [str(at) for at in range(len(counts))], "n": counts, "k": keys})
    return dc.Table.from_cells(cells, by=["a"], count="n", cell_key="k", key_grid=grid)


def inner(safe: dc.ProtectedTable, number: int) -> list[int]:
    return [safe.get(str(at)) for at in range(number)]


# -- conventional --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "changed", "total", "most", "rows", "columns"),
    [(3, 26, 26, 1, 2, 2), (5, 30, 47, 2, 1, 3), (10, 31, 86, 5, 4, 2)],
)
def test_the_table_of_the_lecture(
    table: dc.Table, lecture: pl.DataFrame, base: int, changed: int, total: int, most: int,
    rows: int, columns: int,
) -> None:  # fmt: skip
    safe = dc.round_counts(table, base, "conventional")
    missed = np.abs(values(safe, lecture) - lecture["count"].to_numpy())
    assert (int((missed > 0).sum()), int(missed.sum()), int(missed.max())) == (changed, total, most)
    for at, expected in ((0, rows), (1, columns)):
        other = 1 - at
        codes = safe.dimensions[at].codes
        parts = safe.dimensions[other].codes[1:]
        off = 0
        for code in codes:
            place = {BY[at]: code}
            summed = sum(safe.get(**place, **{BY[other]: part}) for part in parts)
            off += summed != safe.get(**place)
        assert off == expected


def test_halves_go_up_or_to_even_multiples(table: dc.Table) -> None:
    # 315 → 320 in the lecture, which rounds half up.
    up = dc.round_counts(table, 10, "conventional")
    assert [up.get("none", each) for each in ("catholic", "evangelical", "orthodox", "Total")] == [
        10, 10, 0, 50,
    ]  # fmt: skip
    assert (up.get("Total", "catholic"), up.get("Total", "Total")) == (320, 890)
    halves = keyed([5, 15, 25, 4], [0] * 4)
    even = dc.round_counts(halves, 10, "conventional", ties="even")
    assert inner(even, 4) == [0, 20, 20, 0]
    assert inner(dc.round_counts(halves, 10, "conventional"), 4) == [10, 20, 30, 0]


def test_totals_can_have_another_base(table: dc.Table) -> None:
    safe = dc.round_counts(table, 3, "conventional", margins=10)
    assert safe.get("none", "catholic") == 12
    assert (safe.get("Total", "catholic"), safe.get("none", "Total")) == (320, 50)
    assert "totals to multiples of 10" in safe.notes[0].text()


# -- by the key ----------------------------------------------------------------------------------


@for_all_rows("ties", ["up", "even"])
@for_all_rows("base", range(2, 14))
def test_the_deviation_that_tells_no_count_is_that_of_all_remainders(base: int, ties: str) -> None:
    counts = list(range(2 * base))  # two bases: halves may go to either side
    safe = dc.round_counts(keyed(counts, [0] * len(counts)), base, "conventional", ties=ties)
    error = np.array(inner(safe, len(counts))) - counts
    mean = Rounding(base=base, method="conventional", ties=ties).mean_deviation(np.array([base]))
    assert mean[0] == pytest.approx(np.sqrt(np.mean(error**2)))


@for_all_rows("base", range(2, 14))
def test_the_deviation_of_drawn_rounding_is_that_of_all_remainders(base: int) -> None:
    mean = Rounding(base=base, method="keyed").mean_deviation(np.array([base]))
    variances = [
        sum(share * (to - rest) ** 2 for to, share in ((0, 1 - rest / base), (base, rest / base)))
        for rest in range(base)
    ]
    assert mean[0] == pytest.approx(np.sqrt(np.mean(variances)))


@for_all_rows("base", [2, 3, 5, 1000])
def test_the_key_rounds_up_with_the_share_of_the_rest(base: int) -> None:
    size = 4096
    counts = np.repeat(np.arange(1, base + 2 if base < 20 else 4), size)
    keys = np.tile(np.arange(size), len(counts) // size)
    safe = dc.round_counts(keyed(counts.tolist(), keys.tolist(), size), base)
    shown = np.zeros(len(counts), dtype=np.int64)
    shown[[int(safe.dimensions[0].codes[at]) for at in safe.index[0]]] = safe.value
    assert (shown % base == 0).all()
    assert (np.abs(shown - counts) < base).all()
    for count in np.unique(counts):
        up = int((shown[counts == count] > count).sum())
        assert up == -(-size * (int(count) % base) // base)  # exact, not drawn


def test_equal_sets_are_rounded_equally_and_as_by_a_perturbation_table() -> None:
    draw = np.random.default_rng(5)
    counts, keys = draw.integers(1, 60, 400), draw.integers(0, 10**15, 400)
    table = keyed(counts.tolist(), keys.tolist())
    for base in (2, 3, 5, 10):
        safe = dc.round_counts(table, base)
        assert inner(safe, 400) == inner(dc.perturb(table, rounding_table(base)), 400)
        part = keyed(counts[:9].tolist(), keys[:9].tolist())
        assert inner(dc.round_counts(part, base), 9) == inner(safe, 400)[:9]


@given(base=st.integers(2, 1000), row=st.integers(0, 3000))
@settings(max_examples=15)
def test_the_perturbation_table_is_right_on_average(base: int, row: int) -> None:
    matrix = rounding_table(base)
    edge = -(-(10**15) * (row % base) // base)  # the first key that goes down
    noise = matrix.lookup(np.array([row] * 2), np.array([max(edge - 1, 0), min(edge, 10**15 - 1)]))
    rest = row % base
    assert noise.tolist() == ([base - rest, -rest] if rest else [0, 0])


# -- by a seed -----------------------------------------------------------------------------------


def test_a_seed_rounds_right_on_average_whatever_the_order(lecture: pl.DataFrame) -> None:
    number = 4_000
    counts = np.tile([1, 2, 3, 4], number // 4)
    table = keyed(counts.tolist(), [0] * number)
    with pytest.warns(DisclosureWarning, match="discloses the true value"):
        safe = dc.round_counts(table, 5, "random", seed=7)
    shown = np.array(inner(safe, number))
    for rest in (1, 2, 3, 4):
        mean = shown[counts == rest].mean()
        assert abs(mean - rest) < 4 * np.sqrt(rest * (5 - rest) / (number / 4))
    how = Rounding(base=5, method="random", seed="a text")
    shuffled = lecture.sample(fraction=1, shuffle=True, seed=1)
    one, two = (dc.Table.from_cells(each, by=BY, count="count") for each in (lecture, shuffled))
    (first,), (second,) = round_linked([one], how), round_linked([two], how)
    assert values(first, lecture).tolist() == values(second, lecture).tolist()
    (other,) = round_linked([one], Rounding(base=5, method="random", seed="another"))
    assert values(first, lecture).tolist() != values(other, lecture).tolist()


# -- what is published ---------------------------------------------------------------------------


def test_a_rounded_table_says_so_and_holds_nothing_else() -> None:
    table = keyed([12, 2, 5], [10**14 * 9, 10**14 * 9, 0])
    safe = dc.round_counts(table, 5)
    assert safe.provenance.method == "keyed rounding"
    assert [note.kind for note in safe.notes] == ["rounded", "each-apart"]
    assert safe.notes[0].text("de") == "Die Werte sind auf Vielfache von 5 gerundet."
    frame = safe.to_polars(complete=True).filter(pl.col("a") != "Total")
    assert frame["value"].to_list() == [10, 0, 5]
    assert frame["status"].to_list() == ["published", "zero_or_changed_to_zero", "published"]
    # What was rounded to 0 is not stored, as if there were nobody.
    assert CellStatus.zero_or_changed_to_zero not in safe.status.tolist()


def test_estimates_of_samples_are_rounded_as_well() -> None:
    cells = pl.DataFrame({"a": ["1", "2", "3"], "n": [3, 4, 1], "k": [0, 99, 10],
                          "w": [1234.5, 99.5, 15.0]})  # fmt: skip
    table = dc.Table.from_cells(cells, by=["a"], count="n", cell_key="k", weight="w", key_grid=100)
    safe = dc.round_counts(table, 10, "conventional")
    assert [safe.get(code) for code in "123"] == [1230.0, 100.0, 20.0]
    by_key = dc.round_counts(table, 10)
    assert [by_key.get(code) for code in "123"] == [1240.0, 90.0, 20.0]
    with pytest.raises(
        CountRoundingError, match="estimates are not whole numbers and cannot be rounded"
    ):
        dc.round_counts(table, 10, "controlled")


def test_key_figures_rest_on_rounded_counts(table: dc.Table) -> None:
    of = rounded_ingredient(table, 10, "conventional")
    made = derive(
        {"n": of}, [KeyFigure("n", kind="share", part="n", over=["religion"], decimals=4)]
    )
    assert made.get("abitur", "catholic") == pytest.approx(100 * 60 / 210, abs=1e-3)


@for_all_rows("base", [3, 5, 10])
@for_all_rows("method", ["keyed", "random", "conventional"])
def test_brackets_of_key_figures_follow_the_error_of_the_method(base: int, method: str) -> None:
    """Every remainder with every key: the error of keyed rounding is √2 of the conventional one."""
    grid = 60
    rest, key = np.divmod(np.arange(base * grid), grid)
    every = keyed((rest + 10 * base).tolist(), key.tolist(), grid)
    seed = {"seed": 1} if method == "random" else {}
    made = rounded_ingredient(every, base, method, **seed)
    error = np.sqrt(((made.value - made.original) ** 2).mean())
    odd = base % 2 or method != "conventional"  # halves go up: a base that is even errs more
    assert made.deviation[1] == pytest.approx(error, rel=1e-9 if odd and not seed else 0.1)
    few = 2 * base if base < 10 else 20
    cells = {"a": ["Total", "1", "2"], "n": [101 * few, few, 100 * few], "k": [0, 0, 0]}
    of = rounded_ingredient(
        dc.Table.from_cells(pl.DataFrame(cells), by=["a"], count="n", cell_key="k"),
        base, method, **seed,
    )  # fmt: skip
    share = derive({"n": of}, [KeyFigure("n", kind="share", part="n", over=["a"])])
    status = dict(share.to_polars().select("a", "status").rows())
    # 19 % and more, above the limit of 15 %; with conventional rounding 14 %.
    assert status["1"] == ("published" if method == "conventional" else "bracketed")
    assert status["2"] == "published"


# -- audit ---------------------------------------------------------------------------------------


def test_sums_of_conventionally_rounded_counts_give_true_ones_away() -> None:
    # 3 + 3 = 9 in multiples of 3: only 4 + 4 = 8 rounds so.
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [8, 4, 4]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n")
    how = Rounding(base=3, method="conventional")
    published = round_linked([table], how)
    assert [published[0].get(code) for code in ("Total", "m", "w")] == [9, 3, 3]
    audit = audit_rounding(published, [table], how)
    assert not audit.safe
    assert audit.unprotected == ("total", "sex=m", "sex=w")
    assert "these can be computed from sums" in audit.text()
    assert [each.tolist() for each in audit.intervals()] == [[8, 4, 4], [8, 4, 4]]


@pytest.mark.parametrize(("base", "opened"), [(3, 1), (5, 0), (10, 0)])
def test_the_audit_of_the_lecture(table: dc.Table, base: int, opened: int) -> None:
    how = Rounding(base=base, method="conventional")
    audit = audit_rounding(round_linked([table], how), [table], how)
    assert len(audit.unprotected) == opened
    assert audit.safe is (opened == 0)


@given(st.lists(st.integers(0, 6), min_size=6, max_size=6), st.sampled_from([2, 3]))
@example([0, 0, 0, 0, 0, 1], 3)  # everything is rounded to zero
@settings(max_examples=15)
def test_the_audit_finds_what_enumeration_finds(counts: list[int], base: int) -> None:
    square = np.array(counts).reshape(2, 3)
    whole = np.zeros((3, 4), dtype=np.int64)
    whole[1:, 1:] = square
    whole[0, 1:], whole[1:, 0], whole[0, 0] = square.sum(0), square.sum(1), square.sum()
    rows = [(f"r{i}", f"c{j}", int(whole[i, j])) for i in range(3) for j in range(4)]
    rows = [(a.replace("r0", "Total"), b.replace("c0", "Total"), n) for a, b, n in rows if n]
    if not rows:
        return
    cells = pl.DataFrame(rows, schema=["a", "b", "n"], orient="row")
    table = dc.Table.from_cells(cells, by=["a", "b"], count="n")
    how = Rounding(base=base, method="conventional")
    published = round_linked([table], how)
    audit = audit_rounding(published, [table], how)
    fits = []
    ranges = [range(1, 8) if n else range(1) for n in counts]
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, 2, 3)
    rounded = (2 * whole + base) // (2 * base) * base
    for inside, shown in (
        (grid, rounded[1:, 1:]),
        (grid.sum(1), rounded[0, 1:]),
        (grid.sum(2), rounded[1:, 0]),
        (grid.sum((1, 2)), rounded[0, 0]),
    ):
        same = (2 * inside + base) // (2 * base) * base == shown
        fits.append(same.reshape(len(grid), -1).all(axis=1))
    possible = grid[np.all(fits, axis=0)]
    alone = {
        f"a=r{i + 1}, b=c{j + 1}"
        for i in range(2)
        for j in range(3)
        if square[i, j] and len(np.unique(possible[:, i, j])) == 1
    }
    found = {name for name in audit.unprotected if "a=" in name and "b=" in name}
    assert found == alone


def test_an_audit_is_of_the_figures_that_were_published(table: dc.Table) -> None:
    three, ten = (Rounding(base=base, method="conventional") for base in (3, 10))
    with pytest.raises(CountRoundingError, match="values differ from the data"):
        audit_rounding(round_linked([table], ten), [table], three)


# -- what goes wrong -----------------------------------------------------------------------------


@for_all_rows(
    ("options", "told"),
    [
        ({"base": 1}, "base: .*must be at least 2"),
        ({"base": 5.0}, "base: .*must be a whole number"),
        ({"base": True}, "base: .*must be a whole number"),
        ({"base": 1001}, "base: .*must be at most 1000"),
        ({"margins": 1}, "margins: .*must be at least 2"),
        ({"method": "nearest"}, "(?s)method: .*controlled, small-counts"),
        ({"ties": "even"}, "ties needs conventional rounding"),
        ({"method": "controlled", "margins": 10}, "the base of their parts"),
        ({"unbiased": True}, "unbiased needs controlled rounding"),
        ({"method": "random"}, "needs a seed"),
        ({"seed": 3}, "this method uses no seed"),
        ({"method": "controlled", "steps": 11}, "steps: .*must be at most 10"),
        ({"bases": 3}, "bases: unknown key"),
        ({"method": "random", "seed": 0.5}, "a seed must be a secret, a text or a whole number"),
    ],
)
def test_what_cannot_be_is_refused(table: dc.Table, options: dict, told: str) -> None:
    with pytest.raises(CountRoundingError, match=told):
        dc.round_counts(table, **options)


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(CountRoundingError) as found:
        Rounding(base=0, method="random", margins=1)
    assert len(found.value.problems) == 3


def test_a_table_without_keys_or_that_is_none(table: dc.Table) -> None:
    with pytest.raises(CountRoundingError, match="needs cell keys"):
        dc.round_counts(table)
    with pytest.raises(CountRoundingError, match="expected a Table"):
        round_linked([3], Rounding())  # type: ignore[list-item]


def test_other_values_are_left_out_and_that_is_said() -> None:
    frame = pl.DataFrame({"sex": ["m", "w"], "rent": [1.0, 2.0]})
    table = dc.tabulate(frame, by=["sex"], values=["rent"])
    with pytest.warns(dc.DiscreetWarning, match="value columns"):
        dc.round_counts(table, 5, "conventional")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dc.round_counts(dc.tabulate(frame, by=["sex"]), 5, "conventional")


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


def attacked(safe: ProtectedTable, truth: Table, base: int | None) -> list[tuple[float, float]]:
    """Bounds of the hidden cells: rows, columns and what is printed, by linear programming."""
    by, reader, hidden = ["area", "branch"], Reader(), []
    reader.read("sales", safe.to_polars(), by, False, 0)
    for codes, true in zip(truth.to_polars().select(by).rows(), truth.sums["sales"], strict=True):
        at, shown = reader.at("sales", dict(zip(by, codes, strict=True))), safe.get(*codes)
        if shown is None:
            hidden.append(at)
            reader.bounds[at] = (1, 2 * true)
        elif base is not None:
            reader.bounds[at] = (max(shown - base // 2, 1), shown + (base - 1) // 2)
    return list(reader.intervals(hidden, 0.0).values())


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
    for found, expected in ((told, attack), (plain, before)):
        audited = found.intervals().select("low", "high").rows()
        assert np.allclose(sorted(audited), sorted(expected), atol=1e-4)
    for (least, most), (low, high) in zip(attack, before, strict=True):
        assert least <= low + 1e-6
        assert most >= high - 1e-6


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
    for code in shown:
        off = round_shown(bare, 100)
        other = np.where(np.array(codes) == code, 100, 0) + off.value
        with pytest.raises(SuppressionError, match="not the true ones, rounded"):
            dc.audit(replace(off, value=other), table, few, rounded=100)
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
