"""`perturb`: from a confidential table of counts to a protected one."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import (
    CellStatus,
    Classification,
    PerturbationTable,
    ProtectedTable,
    Table,
    perturb,
    tabulate,
)
from discreet.errors import DiscreetWarning, PerturbationError
from discreet.microdata import parse_filter
from discreet.protection.noise import counts
from tests.helpers.noise_tables import ptable, single_cells

CENSUS = 10**15


REGION = Classification(
    name="region", codes=("Total", "N", "N1", "N2", "S"), parents=(-1, 0, 1, 1, 0)
)
PEOPLE = {
    "region": ["N1", "N1", "N1", "N2", "S", "S"],
    "sex": ["m", "m", "w", "m", "w", "m"],
    "record_key": [0.1, 0.05, 0.9, 0.8, 0.3, 0.2],
}
#: Six people by region and sex; N2 × w does not occur.
TABLE = tabulate(pl.DataFrame(PEOPLE), [REGION, "sex"], record_key="record_key")


def values(safe: ProtectedTable) -> dict[tuple[str, ...], Any]:
    frame = safe.to_polars(complete=True)
    return {row[:-2]: row[-2] for row in frame.iter_rows()}


def statuses(safe: ProtectedTable) -> dict[tuple[str, ...], str]:
    frame = safe.to_polars(complete=True)
    return {row[:-2]: row[-1] for row in frame.iter_rows()}


# -- noise ------------------------------------------------------------------------


def test_each_cell_gets_the_noise_of_its_count_and_cell_key() -> None:
    """N1 × m: keys 0.1 + 0.05 = 0.15 lie below ¼: noise −1."""
    safe = perturb(TABLE, ptable)
    assert safe.get("N1", "m") == 2 - 1
    assert safe.get("N1", "w") == 1 + 1
    assert safe.get("N", "Total") == 4 + 1  # 0.1 + 0.05 + 0.9 + 0.8 = 1.85: key 0.85
    assert safe.get("Total", "Total") == 6  # 2.35: key 0.35


def test_zero_cells_stay_zero_and_look_like_counts_changed_to_zero() -> None:
    gone = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 1}, 2: {0: 1}})
    safe = perturb(TABLE, gone)
    assert safe.get("N2", "w") == 0  # never occurred
    assert safe.get("N2", "m") == 0  # one person
    shown = statuses(safe)
    assert shown["N2", "w"] == shown["N2", "m"] == "zero_or_changed_to_zero"
    assert perturb(TABLE, ptable).get("N2", "w") == 0


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_counted_zero_cells_stay_zero_whatever_their_key() -> None:
    zero = PerturbationTable.from_rows({0: {1: 1}, 1: {0: 1}}, zeros=True)
    made = single_cells([0, 1], [0.0, 0.5])
    assert perturb(made, zero).get("c0") == 0


@given(
    cells=st.lists(st.tuples(st.integers(0, 40), st.integers(0, CENSUS - 1)), min_size=1),
    order=st.randoms(use_true_random=False),
)
def test_the_same_cell_has_the_same_figure_in_every_table(
    cells: list[tuple[int, int]], order: Any
) -> None:
    """Whatever other cells stand beside it, and in whatever order."""
    noise = {-1: 0.3, 0: 0.4, 1: 0.3}
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise})
    rows = [(f"c{at}", count, key) for at, (count, key) in enumerate(cells)]
    shuffled = order.sample(rows, len(rows))

    def published(chosen: list[tuple[str, int, int]]) -> dict[tuple[str, ...], Any]:
        frame = pl.DataFrame(
            chosen, schema={"cell": pl.String, "n": pl.Int64, "key": pl.Int64}, orient="row"
        )
        made = Table.from_cells(frame, by=["cell"], count="n", cell_key="key")
        return values(perturb(made, ptable))

    whole, half = published(rows), published(shuffled[: len(rows) // 2 + 1])
    assert published(shuffled) == whole
    assert all(whole[code] == value for code, value in half.items())
    assert min(whole.values()) >= 0


# -- weights --------------------------------------------------------------------


def test_weighted_cells_scale_by_their_mean_weight() -> None:
    people = pl.DataFrame(
        {"region": ["N1", "N1", "S"], "key": [0.1, 0.05, 0.6], "weight": [2.0, 3.0, 7.0]}
    )
    weighted = tabulate(people, [REGION], record_key="key", weight="weight")
    safe = perturb(weighted, ptable, decimals=0)
    assert safe.get("N1") == 2.0  # 2.5
    with pytest.warns(DiscreetWarning, match="disclose the number of records"):
        safe = perturb(weighted, ptable, decimals=None)
    assert safe.get("N1") == pytest.approx((2 - 1) * 2.5)
    assert safe.get("S") == pytest.approx(7.0)
    assert safe.get("N2") == 0
    assert safe.value.dtype == np.float64


# -- suppression of small figures ------------------------------------------------------


def test_small_figures_are_suppressed_by_their_perturbed_value() -> None:
    """Zeros too, whether counted, changed or never occurring: none can be told from another."""
    safe = perturb(TABLE, ptable, suppress_below=2)
    open_figures = values(perturb(TABLE, ptable))
    for code, value in values(safe).items():
        assert value == (open_figures[code] if open_figures[code] >= 2 else None)
    assert statuses(safe)["N2", "w"] == "suppressed"
    assert (
        perturb(TABLE, ptable, suppress_below=0)
        .to_polars()
        .equals(perturb(TABLE, ptable).to_polars())
    )


# -- zeros ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_row_0_speaks_about_every_combination() -> None:
    """A combination that never occurs has cell key 0."""
    zero = PerturbationTable.from_rows({0: {0: 0.5, 1: 0.5}, 1: {0: 1}}, zeros=True)
    assert values(perturb(TABLE, zero, zeros="table"))["N2", "w"] == 0
    other = PerturbationTable.from_rows({0: {1: 0.5, 2: 0.5}, 1: {0: 1}}, zeros=True)
    assert values(perturb(TABLE, other, zeros="table"))["N2", "w"] == 1
    assert values(perturb(TABLE, other, zeros="keep"))["N2", "w"] == 0


def test_zeros_cannot_be_changed_by_a_table_without_row_0() -> None:
    with pytest.raises(PerturbationError, match="no noise for zeros"):
        perturb(TABLE, ptable, zeros="table")
    with pytest.raises(PerturbationError, match='"keep" or "table"'):
        perturb(TABLE, ptable, zeros="maybe")  # type: ignore[arg-type]


def test_zeros_of_weighted_tables_cannot_be_changed() -> None:
    zero = PerturbationTable.from_rows({0: {1: 1}, 1: {0: 1}}, zeros=True)
    cells = pl.DataFrame({"cell": ["a"], "n": [1], "key": [0.5], "w": [2.5]})
    weighted = Table.from_cells(cells, by=["cell"], count="n", cell_key="key", weight="w")
    with pytest.raises(PerturbationError, match="mean weight"):
        perturb(weighted, zero, zeros="table")


def test_a_grid_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "GRID_LIMIT", 14)
    assert perturb(TABLE, ptable).stored > 0
    with pytest.raises(PerturbationError, match="15 cells") as caught:
        perturb(TABLE, ptable, suppress_below=3)
    assert caught.value.code == "grid-size"


# -- official figures -----------------------------------------------------------------


def test_official_figures_are_published_as_they_are() -> None:
    """Population of regions: a figure of every table that shows it, altered in none."""
    text = "sex == 'Total' and age == 'Total'"
    safe = perturb(TABLE, ptable, official=text, totals={"age": "Total"})
    assert [safe.get(code, "Total") for code in ("Total", "N", "N1", "N2", "S")] == [6, 4, 3, 1, 2]
    shown = statuses(safe)
    assert shown["N", "Total"] == "official"
    assert shown["N1", "m"] == "published"
    assert safe.get("N1", "m") == perturb(TABLE, ptable).get("N1", "m")


def test_official_figures_by_level() -> None:
    safe = perturb(TABLE, ptable, official="region.level <= 1 and sex.level == 0")
    official = {code for code, status in statuses(safe).items() if status == "official"}
    assert official == {("Total", "Total"), ("N", "Total"), ("S", "Total")}


@pytest.mark.parametrize(
    ("text", "official"),
    [
        ("region in ['N', 'S'] and sex == 'Total'", {("N", "Total"), ("S", "Total")}),
        ("(sex == 'm' or region == 'S') and region.level == 1", {("N", "m"), ("S", "m"),
                                                                 ("S", "w"), ("S", "Total")}),
        ("not (region.level == 0 or sex != 'w') and region > 'N1'", {("S", "w")}),
    ],
)  # fmt: skip
def test_conditions_on_one_variable_and_on_several(
    text: str, official: set[tuple[str, str]]
) -> None:
    def named(rule: Any) -> set[tuple[str, str]]:
        shown = statuses(perturb(TABLE, ptable, official=rule))
        return {code for code, status in shown.items() if status == "official"}

    condition = parse_filter(text)
    assert named(text) == named(condition) == official
    # A condition that is a part of another stands for itself alone.
    assert named(condition.parts()[-1]) > official


def test_a_variable_the_table_lacks_counts_as_the_total_named() -> None:
    def shown(official: str) -> set[str]:
        totals = {"age": "ALL"}
        safe = perturb(TABLE, ptable, official=official, totals=totals)
        return set(statuses(safe).values())

    assert shown("age == 'ALL'") == {"official", "zero_or_changed_to_zero"}
    assert "official" not in shown("age == 'Total'")
    assert "official" in shown("age.level == 0")
    assert "official" not in shown("age.level == 1")
    assert "official" not in shown("")


def test_a_figure_of_part_of_the_records_is_not_official() -> None:
    people = pl.DataFrame({"region": ["N1", "S"], "age": [10, 40], "key": [0.1, 0.9]})
    adults = tabulate(people, [REGION], record_key="key", where="age >= 18")
    assert "official" not in statuses(perturb(adults, ptable, official="age == 'Total'")).values()


def test_official_figures_are_never_suppressed() -> None:
    safe = perturb(TABLE, ptable, official="sex == 'Total'", suppress_below=100)
    assert safe.get("N2", "Total") == 1
    assert safe.get("N1", "m") is None


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_official_zeros_look_like_other_zeros() -> None:
    safe = perturb(
        single_cells([0, 2], [0.0, 0.1]),
        PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}),
        official="cell.level == 1",
    )
    assert safe.get("c0") == 0
    zero = "zero_or_changed_to_zero"
    assert statuses(safe) == {("c0",): zero, ("c1",): "official"}


@pytest.mark.parametrize(
    "text",
    ["sex != 'male'", "not sex == 'male'", "sex not in ['m', 'male']", "not sex in ['male']"],
)
def test_a_slip_in_what_is_excluded_does_not_make_all_cells_official(text: str) -> None:
    with pytest.raises(PerturbationError, match="sex has no code 'male'"):
        perturb(TABLE, ptable, official=text)
    right = text.replace("male", "m")
    assert "official" in statuses(perturb(TABLE, ptable, official=right)).values()
    assert "official" not in statuses(perturb(TABLE, ptable, official="sex == 'male'")).values()


def test_official_cells_by_mask() -> None:
    mask = np.zeros(len(TABLE), dtype=bool)
    mask[0] = True
    safe = perturb(TABLE, ptable, official=mask, suppress_below=2)
    assert safe.status[0] == CellStatus.official
    assert (safe.status == CellStatus.official).sum() == 1
    for wrong in (mask[:-1], mask.astype(int)):
        with pytest.raises(PerturbationError, match="one boolean"):
            perturb(TABLE, ptable, official=wrong)


# -- what goes along ---------------------------------------------------------------


def test_a_table_without_cell_keys_cannot_be_perturbed() -> None:
    bare = tabulate(pl.DataFrame({"region": ["N1"]}), [REGION])
    with pytest.raises(PerturbationError, match="Hint: tabulate with record_key") as caught:
        perturb(bare, ptable)
    assert caught.value.code == "no-cell-keys"


def test_notes_and_provenance() -> None:
    safe = perturb(
        TABLE, ptable, titles={"en": "People"}, universe={"en": "all"}, digests={"programme": "ab"}
    )
    assert [note.kind for note in safe.notes] == ["non-additivity"]
    assert "Summen" in safe.notes[0].text("de")
    assert (safe.provenance.method, safe.provenance.key_grid) == ("cell-key", "10^15")
    assert safe.title("en") == "People"
    assert dict(safe.universe) == {"en": "all"}


def test_a_guessable_digest_is_left_out() -> None:
    """Few cells, few keys: whoever knows the method could try them all."""
    few = perturb(single_cells([1], [0.5]), ptable, digests={"programme": "ab"})
    assert dict(few.provenance.digests) == {"programme": "ab"}
    many = single_cells([1] * 20, [at / 1000 for at in range(20)])
    key = many.fingerprint()
    assert key is not None
    digests = perturb(many, ptable).provenance.digests
    assert digests["perturbation_table"] == ptable.digest(key)


def test_a_grand_total_alone() -> None:
    people = pl.DataFrame({"key": [0.4, 0.4]})
    total = tabulate(people, [], record_key="key")
    assert perturb(total, ptable).value.tolist() == [3]
    assert perturb(total, ptable, suppress_below=5).status.tolist() == [CellStatus.suppressed]
