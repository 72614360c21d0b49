"""PRAM: worked matrices, published results, draws that depend on nothing but the identifier."""

import gzip
import json
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import MicrodataError
from discreet.microdata.key_values import KeyFunction
from discreet.microdata.secret import Secret
from discreet.pretabular import Invariant, PramMatrix, pram_estimates
from discreet.pretabular.changed_records import DRAWS, draws
from discreet.pretabular.matrices import second_step
from discreet.pretabular.pram import drawn_codes, rounded_transitions
from tests.helpers.engines import ENGINES, collected
from tests.helpers.rows import for_all_rows

SECRET = "a long and secret sentence"
GRID = dc.KeyGrid(DRAWS)
RELIGION = np.array([315, 320, 13, 4, 242])


changed = partial(dc.pretabular.pram, **{"id": "id", "secret": SECRET})


def people(rows: int = 3_000) -> pl.DataFrame:
    drawn = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "id": np.arange(rows) * 7 + 1,
            "faith": drawn.choice(["none", "roman", "other", None], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "land": drawn.integers(1, 4, rows),
            "age": drawn.choice(["child", "adult"], rows),
        }
    ).with_columns(
        status=pl.when(pl.col("age") == "child").then(pl.lit("single")).otherwise(
            pl.Series(drawn.choice(["single", "married"], rows))
        )
    )  # fmt: skip


def test_worked_matrix_of_two_codes() -> None:
    made = Invariant(stay=0.8).matrix(np.array([900, 100]), ["a", "b"])
    assert made == pytest.approx(np.array([[0.91684, 0.08316], [0.74844, 0.25156]]), abs=5e-6)


def test_worked_matrix_of_religions() -> None:
    made = Invariant(stay=0.8).matrix(RELIGION, list("abcde"))
    expected = [
        [0.7548, 0.1255, 0.0123, 0.0042, 0.1032],
        [0.1236, 0.7572, 0.0123, 0.0042, 0.1027],
        [0.2990, 0.3032, 0.1539, 0.0064, 0.2375],
        [0.3297, 0.3344, 0.0208, 0.0540, 0.2611],
        [0.1343, 0.1359, 0.0128, 0.0043, 0.7128],
    ]
    assert made == pytest.approx(np.array(expected), abs=5e-5)
    assert pytest.approx(RELIGION) == RELIGION @ made
    assert (RELIGION @ np.diag(made)) / 894 == pytest.approx(0.7324, abs=5e-5)
    half = Invariant(stay=0.8, alpha=0.5).matrix(RELIGION, list("abcde"))
    assert (RELIGION @ np.diag(half)) / 894 == pytest.approx(0.8662, abs=5e-5)
    spread = np.sqrt(RELIGION @ (made * (1 - made)))
    assert spread == pytest.approx([11.2, 11.2, 3.5, 2.0, 10.6], abs=0.05)
    ratio = np.diag(made) * RELIGION / (RELIGION @ made - np.diag(made) * RELIGION)
    assert ratio == pytest.approx([3.08, 3.12, 0.18, 0.06, 2.48], abs=0.005)
    plain = RELIGION @ Invariant(stay=0.8).first_step(list("abcde"))
    assert plain == pytest.approx([280.95, 284.70, 54.45, 47.70, 226.20])


@pytest.mark.parametrize("case", ["p01", "p04", "p05", "p06"])
def test_published_matrices_keep_the_frequencies(reference, case) -> None:
    folder = reference / "sdcmicro"
    roofs = pl.read_csv(folder / "pram_input_testdata.csv.gz", infer_schema=False)["roof"]
    counts = roofs.value_counts().sort("roof")["count"].to_numpy()
    stated = json.loads(gzip.decompress((folder / f"{case}_pram.json.gz").read_bytes()))["params"][
        "roof"
    ]
    published = stated["Rs"]
    rows = np.array(published["m"])
    assert counts.tolist() == [814, 3697, 19, 34, 16]
    assert counts @ rows == pytest.approx(counts, abs=1e-8)
    data = pl.DataFrame({"id": range(len(roofs)), "roof": roofs})
    made = changed(data, {"roof": PramMatrix(published["rows"], published["m"])})
    kept = 1 - made.measures["roof"]["changed"] / len(roofs)
    expected = float(counts @ np.diag(rows)) / len(roofs)
    assert abs(kept - expected) < 4 * np.sqrt(expected * (1 - expected) / len(roofs))


@pytest.mark.parametrize(("case", "variable"), [("p02", "roof"), ("p03", "walls"), ("p03", "roof")])
def test_of_strata_one_matrix_is_published_and_ours_keep_each(reference, case, variable) -> None:
    """The published matrix is that of one stratum; what was drawn by it stays in the bounds."""
    folder = reference / "sdcmicro"
    drawn = pl.read_csv(folder / f"{case}_pram.csv.gz", infer_schema=False)
    stated = json.loads(gzip.decompress((folder / f"{case}_pram.json.gz").read_bytes()))["params"]
    published = stated[variable]["Rs"]
    rows, kept = np.array(published["m"]), []
    for (stratum,), part in drawn.group_by("urbrur", maintain_order=True):
        counts = np.array([(part[variable] == code).sum() for code in published["rows"]])
        if counts @ rows != pytest.approx(counts, abs=1e-6):
            continue
        kept.append(stratum)
        share = float(counts @ np.diag(rows)) / part.height
        stayed = float((part[variable] == part[f"{variable}_pram"]).mean())
        assert abs(stayed - share) < 4 * np.sqrt(share * (1 - share) / part.height)
    assert len(kept) == 1
    data = drawn.select(variable, "urbrur").with_row_index("id")
    method = {variable: Invariant(stay=0.8, alpha=0.5)}
    made = changed(data, method, strata="urbrur", exact=True)
    by = ["urbrur", variable]
    assert made.records.group_by(by).len().sort(by).equals(data.group_by(by).len().sort(by))


def test_a_given_matrix_of_decimals_is_taken(reference) -> None:
    stated = json.loads(gzip.decompress((reference / "sdcmicro" / "p07_pd.json.gz").read_bytes()))
    made = PramMatrix(stated["levels"], stated["pd"]).matrix(None, stated["levels"])
    assert made == pytest.approx(np.array(stated["pd"]))


def test_draws_stay_what_they_are() -> None:
    secret = Secret.of(SECRET)
    numbers = draws(pl.DataFrame({"id": [0, 1, 2**40]}), secret, "pinned")
    texts = draws(pl.DataFrame({"id": ["0", "1", str(2**40), "01", "x"]}), secret, "pinned")
    assert texts[:3].tolist() == numbers.tolist() == PINNED[:3]
    assert texts.tolist() == PINNED
    assert draws(pl.DataFrame({"id": [0]}), secret, "other")[0] != numbers[0]


PINNED = [246634879089158, 534931709259031, 376307262635833, 690043470423036, 599954203244340]


def test_order_parts_and_engines_do_not_matter() -> None:
    data = people()
    matrix = {"faith": Invariant(stay=0.6)}
    fixed = {
        "faith": PramMatrix(["none", "roman", "other"], [[0.6, 0.2, 0.2], [0, 1, 0], [0, 0.5, 0.5]])
    }
    plain = changed(data, matrix).records
    for exact in (False, True):
        whole = changed(data, matrix, exact=exact).records
        mixed = changed(data.sample(fraction=1, shuffle=True, seed=1), matrix, exact=exact)
        assert mixed.records.sort("id").equals(whole)
    part = changed(data.head(900), fixed).records
    assert part.equals(changed(data, fixed).records.head(900))
    for name, engine in ENGINES.items():
        given = engine(data)
        made = changed(given, matrix).records
        assert type(made) is type(given)
        assert name != "pandas" or made.index.equals(given.index)
        assert collected(made).equals(plain)


def test_exact_frequencies_stay_in_each_stratum() -> None:
    data = people()
    made = changed(data, {"faith": Invariant(stay=0.5)}, strata="land", exact=True)
    by = ["land", "faith"]
    assert made.records.group_by(by).len().sort(by).equals(data.group_by(by).len().sort(by))
    assert made.measures["faith"]["changed"] > 500
    assert made.changes.height == made.measures["faith"]["changed"]
    assert made.records["faith"].is_null().equals(data["faith"].is_null())


def test_joint_pram_makes_no_combination_that_was_not_there() -> None:
    data = people()
    made = changed(data, {("age", "status"): Invariant(stay=0.5)})
    pairs = made.records.select("age", "status").unique()
    assert pairs.height == 3
    assert ("child", "married") not in pairs.rows()
    assert made.measures["age/status"]["changed"] > 300


def test_bands_and_blocks() -> None:
    codes = list("abcd")
    banded = Invariant(stay=0.6, band=1).first_step(codes)
    assert banded[0].tolist() == [0.6, 0.4, 0, 0]
    blocks = Invariant(stay=0.6, blocks=[["a", "c"], ["b"]]).first_step(codes)
    assert blocks.tolist() == [[0.6, 0, 0.4, 0], [0, 1, 0, 0], [0.4, 0, 0.6, 0], [0, 0, 0, 1]]


@given(
    st.lists(st.integers(1, 400), min_size=2, max_size=6), st.floats(0.1, 0.9), st.integers(0, 9)
)
def test_rounded_transitions_keep_sums_and_are_next_to_what_is_expected(counts, stay, key) -> None:
    row = np.array(counts)
    expected = row[:, None] * Invariant(stay=stay).matrix(row, [str(at) for at in range(len(row))])
    choose = KeyFunction(bytes([key] * 32), GRID)
    made = rounded_transitions(expected, choose)
    assert made.sum(0).tolist() == made.sum(1).tolist() == counts
    assert (np.abs(made - expected) < 1).all()


def test_rounded_transitions_are_right_on_average() -> None:
    expected = np.array([[1.2, 0.5, 0.3], [0.5, 2.1, 0.4], [0.3, 0.4, 0.3]])
    made = [
        rounded_transitions(expected, KeyFunction(bytes([at, over] * 16), GRID))
        for at in range(250) for over in range(4)
    ]  # fmt: skip
    assert np.mean(made, axis=0) == pytest.approx(expected, abs=0.06)


def test_what_has_no_probability_is_never_drawn() -> None:
    matrix = np.array([[1 / 3, 2 / 3, 0], [0, 1, 0], [0.1, 0.2, 0.7]])
    ends = np.array([0, DRAWS - 1])
    new = drawn_codes(np.zeros(2, np.int64), np.zeros(2, np.int64), ends, [matrix])
    assert new.tolist() == [0, 1]


def test_estimates_are_unbiased_and_variances_right() -> None:
    matrix = Invariant(stay=0.7).first_step(list("abc"))
    truth = np.array([900, 80, 20])
    drawn = np.random.default_rng(3)
    found = [
        pram_estimates(
            sum(drawn.multinomial(n, row) for n, row in zip(truth, matrix, strict=True)), matrix
        )
        for _ in range(2_000)
    ]
    estimates = np.array([one[0] for one in found])
    assert estimates.mean(0) == pytest.approx(truth, abs=3)
    assert estimates.var(0) == pytest.approx(np.mean([one[1] for one in found], axis=0), rel=0.12)


def test_second_step_of_a_code_that_is_never_reached() -> None:
    back = second_step(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([2, 3]))
    assert back.sum(1).tolist() == [1, 1]


@for_all_rows(
    ("call", "word"),
    [
        (lambda: PramMatrix(["a", "b"], [[0.9, 0.2], [0.5, 0.5]]), "some rows do not sum to 1"),
        (lambda: PramMatrix(["a"], [[0.9, 0.1]]), "a matrix needs one row and one column per"),
        (lambda: Invariant(stay=1.2), "between 0 and 1"),
        (lambda: Invariant(band=0), "band"),
        (lambda: changed(people(), {}), "one or more"),
        (lambda: changed(people(), {"id": Invariant()}), "identifier"),
        (lambda: changed(people(), {"faith": Invariant()}, id="land"), "records have a repeated"),
        (lambda: changed(people(), {"faith": PramMatrix(["none"], [[1]])}), "codes of the"),
        (lambda: changed(people(), {"land": PramMatrix(list("1239"), [[0.7, 0, 0, 0.3]] * 4)},
                      id="id", secret=SECRET), "the matrix leads to codes that do not occur"),
        (lambda: pram_estimates([1, 2], [[0.5, 0.5], [0.5, 0.5]]), "no inverse"),
        (lambda: changed(people().with_columns(pay=1.5), {"pay": Invariant()}), "cannot be"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused(call, word) -> None:
    with pytest.raises(MicrodataError, match=word):
        call()


def test_rows_are_normalised_only_when_asked() -> None:
    made = PramMatrix(["a", "b"], [[3, 1], [0, 2]], normalise=True).matrix(None, ["a", "b"])
    assert made.tolist() == [[0.75, 0.25], [0, 1]]


def test_nothing_secret_is_shown() -> None:
    made = changed(people(), {"faith": Invariant(stay=0.615)})
    assert "roman" not in repr(made)
    shown = repr(made.statement) + repr(made.provenance)
    assert "0.615" not in shown
    assert SECRET not in shown
    again = changed(people(), {"faith": Invariant(stay=0.615)}, secret=SECRET + "!")
    assert again.provenance["parameters"] != made.provenance["parameters"]
