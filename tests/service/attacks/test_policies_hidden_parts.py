"""Attacks on hidden parts (P7): whatever else is asked, a hidden cell tells nothing of itself.

An adversary who has all that is shown is given twin data sets that differ in hidden cells alone,
key figures with conditions, indices, finer classifications of the same column, and linear algebra
over every table of some variables.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.microdata import Secret
from discreet.tables import CellStatus, ProtectedTable
from discreet_service.permissions import Grant, Principal
from discreet_service.policies.document import SparsityPolicy
from discreet_service.policies.rules import hidden_parts
from discreet_service.queries import read_query
from discreet_service.queries.answers import Answers, PreparedQuery
from discreet_service.queries.formats import ANSWER_FORMATS, written_answer
from discreet_service.queries.measures import COUNT_MEASURE
from discreet_service.queries.presentation import every_cell, in_order
from discreet_service.queries.sparse_parts import judgements_of
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.service_data import OPEN_POLICY, write_census_dataset, write_policy

#: Every format of many tables is written, and all tables of some variables are asked for.
pytestmark = pytest.mark.exhaustive

OPEN = "small = 0, share_small = 1, share_single = 1, least_cells = 1_000_000"
#: Regions of dwellings are shown, and regions by tenure are not.
SPARSE = 'small = 4, share_small = 0.2, share_single = 1, least_cells = 10, then = "hide"'
ANNA = Principal(name="anna", kind="key", grants=(Grant("requester", "census"),))
REGION = {"variable": "region", "level": ["state", "district", "municipality"]}
#: What a programme and a data set may say besides, and what attackers would use.
VARIABLES = f"""
[variables.tenure]
codes = ["owned", "rented", "vacant"]
[variables.year]
column = "age"
intervals = [{", ".join(map(str, range(90)))}]
[variables.sex]"""
FIGURES = """
[units.dwelling.figures]
against = { kind = "index", part = "count", base = { tenure = "vacant" } }
old = { kind = "count", where = "area > 140 and tenure != 'owned'" }
unnamed = { kind = "count", where = "rent > 900" }
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set and the secret of its services."""
    folder = tmp_path_factory.mktemp("hidden")
    Secret.generate().write(folder / "secret")
    place = write_census_dataset(folder / "datasets", persons=3_000)
    programme = place / "programme.toml"
    programme.write_text(programme.read_text().replace("[variables.sex]", VARIABLES, 1))
    dataset = place / "DATASET.toml"
    dataset.write_text(dataset.read_text().replace("[units.dwelling.figures]", FIGURES, 1))
    return folder


def served(
    data: Path, own: Path, sparsity: str, database: str = "", publish: bool = True
) -> Service:
    """A service of its own over the data, with the policy in force that says this."""
    place = data / "datasets" / "census-2022-1"
    trusted = write_policy(place, data, OPEN_POLICY.replace(OPEN, sparsity))
    service = Service(
        ServiceSettings(
            folder=own,
            datasets=data / "datasets",
            secret_file=data / "secret",
            database=database,
            trusted_signers=(trusted,),
            limits=LimitSettings(cells_instant=10_000, cells_job=500_000),
        )
    )
    if publish:
        service.datasets.publish("census", "2022-1", "berta")
    service.policies.in_force.ensure("census", "2022-1")
    return service


@pytest.fixture(scope="module")
def services(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Answers]]:
    """The same data under a policy that hides, and one that shows everything."""
    made = {
        name: served(data, tmp_path_factory.mktemp(name), sparsity)
        for name, sparsity in {"hiding": SPARSE, "showing": OPEN}.items()
    }
    yield {name: service.answers for name, service in made.items()}
    for service in made.values():
        service.close()


def prepared(answers: Answers, by: list[Any], **more: Any) -> PreparedQuery:
    return answers.prepared("census", read_query({"unit": "dwelling", "by": by, **more}))


def shown(answers: Answers, by: list[Any], **more: Any) -> pl.DataFrame:
    """Cells with their status, totals and levels included."""
    query = prepared(answers, by, **more)
    answers.admit(query, ANNA, "en")
    table = answers.answer(query).table
    return table.to_polars(complete=True).with_columns(pl.col("status").cast(pl.String))


def hidden(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("status") == "suppressed")


# -- key figures -----------------------------------------------------------------------------------


def test_a_figure_with_a_condition_is_the_slice_that_it_counts(
    services: dict[str, Answers],
) -> None:
    """`vacant` by region is a slice of the table by region and tenure, and hidden with it."""
    table = shown(services["hiding"], [REGION, "tenure"])
    slices = table.filter(tenure="vacant").select("region", "value", "status")
    gone = set(hidden(slices)["region"])
    regions = shown(services["hiding"], [REGION])
    assert gone - set(hidden(regions)["region"])  # the parts by region alone are shown
    for measures in (["vacant"], ["vacancy"], ["count", "vacant"], ["vacancy", "count"]):
        told = shown(services["hiding"], [REGION], measures=measures)
        if "figure" in told.columns:
            told = told.filter(pl.col("figure") != "count")
        assert set(hidden(told)["region"]) >= gone, measures
    # What is not hidden is the same figure as ever, and the count beside it stays.
    whole = shown(services["showing"], [REGION], measures=["count", "vacant"])
    both = shown(services["hiding"], [REGION], measures=["count", "vacant"])
    assert both.filter(figure="count").equals(whole.filter(figure="count"))
    kept = both.filter(pl.col("status") != "suppressed")
    assert kept.join(whole, on=kept.columns, nulls_equal=True).height == kept.height


def test_without_that_the_figure_was_the_hidden_cell(services: dict[str, Answers]) -> None:
    """The attack is real: the same records have the same noise, so the figures are equal."""
    table = shown(services["showing"], [REGION, "tenure"]).filter(tenure="vacant")
    figure = shown(services["showing"], [REGION], measures=["vacant"])
    both = table.join(figure, on="region", suffix="_figure")
    assert both.height > 20
    assert (both["value"] == both["value_figure"]).all()


def test_conditions_on_columns_nobody_can_ask_for_are_judged_by_their_own_counts(
    services: dict[str, Answers],
) -> None:
    unit = prepared(services["hiding"], []).version.units["dwelling"]
    query = prepared(services["hiding"], [REGION], measures=["unnamed"]).query
    judges = {
        (each.axes, each.measure.name) for each in judgements_of(query, query.measures[0], unit)
    }
    assert judges == {((("region", 3),), "count"), ((("region", 3),), "unnamed")}
    counts = shown(services["showing"], [REGION], measures=["unnamed"])
    finest = counts.filter(pl.col("region").str.len_chars() == 8)["value"].to_numpy()
    limits = SparsityPolicy(small=4, share_small=0.2, share_single=1, least_cells=10, then="hide")
    sparse = ((finest > 0) & (finest <= limits.small)).sum() / (finest > 0).sum()
    assert sparse > limits.share_small
    told = shown(services["hiding"], [REGION], measures=["unnamed"])
    assert hidden(told).filter(pl.col("region").str.len_chars() == 8).height > 20


def test_conditions_on_several_columns_are_judged_by_all_of_them(
    services: dict[str, Answers],
) -> None:
    unit = prepared(services["hiding"], []).version.units["dwelling"]
    query = prepared(services["hiding"], [REGION], measures=["old"]).query
    axes = [each.axes for each in judgements_of(query, query.measures[0], unit)]
    assert (("area_class", 1), ("region", 3), ("tenure", 1)) in axes
    # A variable that the table has anyway counts by its finest level, in its totals too.
    query = prepared(services["hiding"], ["tenure"], measures=["old"]).query
    (judge,) = [
        each for each in judgements_of(query, query.measures[0], unit) if len(each.axes) == 2
    ]
    assert dict(judge.stands) == {"tenure": (1, 1), "area_class": (1,)}


def test_an_index_does_not_tell_its_hidden_base(services: dict[str, Answers]) -> None:
    """The total over the base is the base, to whoever is shown the total."""
    told = shown(services["hiding"], [REGION, "tenure"], measures=["against"])
    table = shown(services["hiding"], [REGION, "tenure"])
    bases = hidden(table.filter(tenure="vacant"))["region"]
    totals = told.filter(tenure="Total").filter(pl.col("region").is_in(bases.implode()))
    assert totals.height > 20
    assert set(totals["status"]) == {"suppressed"}


# -- finer classifications of one column -----------------------------------------------------------


def test_what_adds_up_to_hidden_codes_is_hidden(services: dict[str, Answers]) -> None:
    """Ages in single years, beside groups of five years: judged as these are, too."""
    unit = prepared(services["hiding"], []).version.units["person"]
    where = [{"variable": "sex", "codes": ["w"]}]
    query = prepared(services["hiding"], ["year"], unit="person", where=where).query
    judges = [each.axes for each in judgements_of(query, COUNT_MEASURE, unit)]
    names = {name for axes in judges for name, _ in axes}
    assert names == {"year", "age5", "legal_age", "sex"}  # single years make up both
    query = prepared(services["hiding"], ["age5"], unit="person").query
    judges = [each.axes for each in judgements_of(query, COUNT_MEASURE, unit)]
    assert judges == [(("age5", 1),)]  # and groups of five years no legal ages
    years = shown(services["hiding"], [REGION, "year"], unit="person")
    fives = shown(services["hiding"], [REGION, "age5"], unit="person")
    gone, inner = set(hidden(fives)["region"]), pl.col("year") != "Total"
    assert gone
    assert set(hidden(years.filter(inner))["region"]) >= gone


# -- twins: data that differ in hidden cells alone -------------------------------------------------


def changed(table: ProtectedTable, cells: np.ndarray, seed: int) -> ProtectedTable:
    """The table with other figures in some of its cells: none, zeros, without a value, large."""
    generator = np.random.default_rng(seed)
    index, value, status = every_cell(table)
    states = [CellStatus.published, CellStatus.zero_or_changed_to_zero, CellStatus.bracketed,
              CellStatus.not_applicable]  # fmt: skip
    drawn = generator.choice(np.array(states, dtype=status.dtype), len(value))
    status = np.where(cells, drawn, status)
    figures = np.where(status == CellStatus.published, generator.integers(0, 99, len(value)), 0)
    value = np.where(cells, figures, value).astype(value.dtype)
    kept = ~cells | generator.integers(0, 2, len(value)).astype(bool)
    return dataclasses.replace(
        table, index=tuple(part[kept] for part in index), value=value[kept], status=status[kept]
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"by": [REGION, "tenure"]},
        {"by": [REGION, "tenure"], "totals": "none"},
        {"by": [REGION, "area_class"], "measures": ["count", {"mean": "rent"}]},
        {"by": ["area_class", REGION], "where": [{"variable": "tenure", "codes": ["vacant"]}]},
    ],
    ids=["totals", "no totals", "means", "slice"],
)
def test_hidden_cells_change_no_byte_of_any_format(
    services: dict[str, Answers], asked: dict[str, Any]
) -> None:
    answers = services["hiding"]
    query = prepared(answers, **asked)
    noisy = answers._table(query.version, query.query)
    sparse = answers._sparse
    first = sparse.thinned(noisy, query.query, query.version)
    # What the policy hides; means that tell of one dwelling are hidden before it looks.
    cells = (every_cell(first)[2] == CellStatus.suppressed) & (
        every_cell(noisy)[2] != CellStatus.suppressed
    )
    assert cells.sum() > 20
    for seed in range(3):
        twin = changed(noisy, cells, seed)
        other = sparse.thinned(twin, query.query, query.version)
        assert not np.array_equal(every_cell(twin)[1], every_cell(noisy)[1])
        for form in ANSWER_FORMATS.values():
            for language in ("en", "de") if form.name in ("csv", "html") else ("en",):
                bytes_of = [
                    written_answer(in_order(each, query.order), form, language,
                                   query.plan.geography)
                    for each in (first, other)
                ]  # fmt: skip
                assert bytes_of[0] == bytes_of[1], (form.name, language)


# -- linear algebra over everything ----------------------------------------------------------------


def functionals(
    frame: pl.DataFrame, leaves: pl.DataFrame, columns: list[str]
) -> Iterator[tuple[bool, np.ndarray]]:
    """Of each cell, whether it is shown, and which of the finest cells it is the sum of."""
    for row in frame.iter_rows(named=True):
        inside = np.ones(leaves.height, dtype=bool)
        for name in columns:
            if row[name] != "Total":
                inside &= leaves[name].str.starts_with(row[name]).to_numpy()
        yield row["status"] != "suppressed", inside.astype(float)


def test_no_hidden_cell_follows_from_all_that_is_shown(services: dict[str, Answers]) -> None:
    """Every table over three variables, their slices and figures: none is in the span of others.

    Sums and differences of whatever is shown never give a hidden cell, but for codes that are the
    only ones below another: they are that one's cell, and are told by it.
    """
    answers = services["hiding"]
    names = ["region", "tenure", "area_class"]
    unit = prepared(answers, []).version.units["dwelling"]
    codes = [unit.variables[name].codes_of(unit.variables[name].finest) for name in names]
    leaves = pl.DataFrame([*itertools.product(*codes)], schema=names, orient="row")
    seen, unseen = [], []
    for size in range(len(names) + 1):
        for by in itertools.combinations(names, size):
            asked = [REGION if name == "region" else name for name in by]
            told = shown(answers, asked)
            for is_shown, which in functionals(told, leaves, [*by]):
                (seen if is_shown else unseen).append(which)
            if "tenure" not in by:
                told = shown(answers, asked, measures=["vacant"])
                vacant = (leaves["tenure"] == "vacant").to_numpy()
                for is_shown, which in functionals(told, leaves, [*by]):
                    (seen if is_shown else unseen).append(which * vacant)
    known, wanted = np.unique(seen, axis=0), np.unique(unseen, axis=0)
    assert min(len(known), len(wanted)) > 50
    wanted = wanted[~(wanted[:, None] == known[None]).all(axis=2).any(axis=1)]
    basis = np.linalg.svd(known, full_matrices=False)
    rows = basis.Vh[basis.S > 1e-9]
    left = wanted - wanted @ rows.T @ rows
    assert len(wanted) > 50
    assert np.linalg.norm(left, axis=1).min() > 0.1


def test_random_tables_hide_no_sum_of_what_they_show() -> None:
    """The same for the rule itself, on random counts of three variables with two levels each."""
    random = np.random.default_rng(11)
    levels = [np.array([0]), np.array([1, 2]), np.array([3, 4, 5, 6])]
    below = np.eye(7)[:, 3:] + 0
    below[1, :2] = below[2, 2:] = below[0] = 1
    for _ in range(20):
        limits = SparsityPolicy(
            small=int(random.integers(1, 4)), share_small=float(random.uniform(0.1, 0.9)),
            share_single=0.9, least_cells=2, then="hide",
        )  # fmt: skip
        counts = random.poisson(random.uniform(0.5, 6), (7, 7, 7))
        gone = hidden_parts(counts, [levels] * 3, [True] * 3, limits)
        depth = np.array([0, 1, 1, 2, 2, 2, 2])
        cells = [*itertools.product(range(7), repeat=3)]
        vectors = np.array([np.einsum("i,j,k->ijk", *below[list(at)]).ravel() for at in cells])
        is_gone = np.array([gone[tuple(depth[list(at)])] for at in cells])
        if not is_gone.any() or is_gone.all():
            continue
        basis = np.linalg.svd(vectors[~is_gone], full_matrices=False)
        rows = basis.Vh[basis.S > 1e-9]
        left = vectors[is_gone] - vectors[is_gone] @ rows.T @ rows
        assert np.linalg.norm(left, axis=1).min() > 0.1


# -- both databases, and what is kept --------------------------------------------------------------


def test_either_database_hides_the_same_and_keeps_it_hidden(
    data: Path, services: dict[str, Answers], tmp_path: Path, service_url: str
) -> None:
    """Asked, asked again, by another process on the same database, and as a job."""
    by: list[Any] = [REGION, "tenure"]
    expected = shown(services["hiding"], by)
    assert hidden(expected).height > 20
    for at in range(2):
        (tmp_path / str(at)).mkdir()
        service = served(data, tmp_path / str(at), SPARSE, service_url, publish=at == 0)
        try:
            answers = service.answers
            assert shown(answers, by).equals(expected)
            assert shown(answers, by).equals(expected)
            query = prepared(answers, by)
            again = answers.answer(answers.again_of(answers.document(query))).table
            states = again.to_polars(complete=True)["status"].cast(pl.String)
            assert states.equals(expected["status"])
        finally:
            service.close()


def test_status_and_headers_do_not_tell_what_is_hidden(
    services: dict[str, Answers],
) -> None:
    """A question is admitted, tagged and planned alike, whether its cells are hidden or not."""
    answers, verdicts = services["hiding"], []
    for codes in (["01"], ["01001001"]):
        query = prepared(answers, ["tenure"], where=[{"variable": "region", "codes": codes}])
        verdict = answers.admit(query, ANNA, "en")
        verdicts.append((verdict.allowed, verdict.names, answers.is_instant(query, verdict)))
        assert len(answers.etag(query, "csv en")) == 32
    states = [
        set(shown(answers, ["tenure"], where=[{"variable": "region", "codes": codes}])["status"])
        for codes in (["01"], ["01001001"])
    ]
    assert verdicts[0] == verdicts[1]
    assert states[0] != states[1]
