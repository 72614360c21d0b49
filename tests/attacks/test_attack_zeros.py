"""An attacker looks at which codes are listed to tell original zeros from changed ones."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import Classification, PerturbationTable, ProtectedTable, Table, perturb, tabulate
from discreet.errors import (
    DiscreetError,
    DiscreetWarning,
    FilterError,
    ProgrammeError,
    PublicationError,
    RecordKeyError,
    TableError,
)
from discreet.microdata import Secret
from discreet.microdata.filters import parse_filter
from tests.helpers.rows import for_all_rows

#: Counts of one become zero or two, all others stay.
PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {0: 1}})


@pytest.fixture
def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "village": ["a", "b", "c", "d", None],
            "district": ["x", "x", "y", "y", "y"],
            "income": [1, 2, 3, 4, 5],
            "record_key": [0.1, 0.2, 0.7, 0.8, 0.3],
        }
    )


def codes(safe: ProtectedTable, name: str) -> list[str]:
    return safe.to_polars(complete=True)[name].unique(maintain_order=True).to_list()


def test_a_found_code_is_listed_only_with_a_figure(people: pl.DataFrame) -> None:
    """a and b have one record each, changed to zero; d has none. All three are absent."""
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    safe = perturb(table, PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "c"]
    said = []
    for code in ("a", "d"):  # nor is what is said of them another
        with pytest.raises(TableError, match="not found") as caught:
            safe.get(code)
        said.append(str(caught.value).replace(repr(code), "…"))
    assert said[0] == said[1]


def test_the_dictionary_of_a_parquet_file_lists_no_more(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    table = tabulate(people, ["village"], record_key="record_key")
    perturb(table, PTABLE, found_codes="hide").write(tmp_path / "T.parquet")
    column = pq.read_table(tmp_path / "T.parquet")["village"].chunk(0)
    assert column.dictionary.to_pylist() == ["Total", "c", "d"]


def test_the_missing_category_appears_only_with_a_figure(people: pl.DataFrame) -> None:
    village = Classification.flat("village", ["a", "b", "c", "d"])
    safe = perturb(tabulate(people, [village], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c", "d"]


def test_stated_codes_are_always_listed(people: pl.DataFrame) -> None:
    village = Classification.flat("village", ["a", "b", "c", "d", "e"], missing="none")
    stated = village.replace(codes=(*village.codes, "none"), parents=(*village.parents, 0))
    safe = perturb(tabulate(people, [stated], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c", "d", "e", "none"]


def test_level_columns_keep_what_stands_above_a_figure(people: pl.DataFrame) -> None:
    known = people.drop_nulls()
    region = Classification.from_levels(known, ["district", "village"], name="region")
    safe = perturb(tabulate(known, [region], record_key="record_key"), PTABLE, found_codes="hide")
    assert codes(safe, "region") == ["Total", "x", "y", "c", "d"]
    assert [safe.get(code) for code in codes(safe, "region")] == [4, 2, 2, 2, 2]


def test_what_is_suppressed_stays_listed_and_unknown(people: pl.DataFrame) -> None:
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    safe = perturb(table, PTABLE, suppress_below=2, found_codes="hide")
    assert codes(safe, "village") == ["Total", "a", "b", "c"]
    assert safe.get("a") is None
    with pytest.raises(TableError, match="code 'elsewhere' not found"):
        safe.get("elsewhere")


def test_cells_made_elsewhere_are_no_exception() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 1, 0], "key": [0.1, 0.1, 0.0]})
    table = Table.from_cells(cells, ["sex"], count="n", cell_key="key")
    assert codes(perturb(table, PTABLE, found_codes="hide"), "sex") == ["Total"]


def test_the_values_found_are_the_classification_unless_hidden(people: pl.DataFrame) -> None:
    table = tabulate(people, ["village"], record_key="record_key", where="income <= 3")
    assert codes(perturb(table, PTABLE), "village") == ["Total", "a", "b", "c"]


COUNT = 60_000
RNG = np.random.default_rng(2022)
DESIGNED = dc.design_perturbation(max_noise=5, variance=3)
AREAS = RNG.integers(0, 400, COUNT)
AGES = RNG.integers(0, 5, COUNT)
LARGE = 8

KEYS = {
    "proper": RNG.integers(0, 10**15, COUNT),
    "person id": np.arange(COUNT) + 1,
    "income": RNG.lognormal(10, 0.6, COUNT).astype(np.int64),
    "keys of the grid 2^32": RNG.integers(0, 2**32, COUNT),
    "keys of 12 digits": RNG.integers(0, 10**12, COUNT),
    "one constant": np.full(COUNT, 2_000_000_000_003),
}


def recovered(name: str) -> float:
    """The share of large counts that follow from the commonest noise."""
    people = pl.DataFrame({"area": AREAS, "age": AGES, "key": KEYS[name]})
    table = dc.tabulate(people, ["area", "age"], record_key="key", allow_unsuitable_keys=True)
    safe = dc.perturb(table, DESIGNED)
    both = table.to_polars().join(safe.to_polars(), on=["area", "age"])
    large = both.filter(pl.col("count") >= LARGE)
    noise = Counter((large["value"] - large["count"]).to_list())
    return max(noise.values()) / large.height


@for_all_rows(
    ("name", "least", "most"),
    [
        ("proper", 0.15, 0.30),
        ("person id", 0.99, 1.0),
        ("income", 0.99, 1.0),
        ("keys of the grid 2^32", 0.98, 1.0),
        ("keys of 12 digits", 0.45, 1.0),
        ("one constant", 0.45, 1.0),
    ],
)
def test_what_follows_from_the_commonest_noise(name: str, least: float, most: float):
    share = recovered(name)
    assert least <= share <= most, share


@for_all_rows("name", [name for name in KEYS if name != "proper"])
def test_such_keys_are_refused(name: str):
    people = pl.DataFrame({"area": AREAS, "key": KEYS[name]})
    with pytest.raises(RecordKeyError, match="does not contain record keys"):
        dc.tabulate(people, ["area"], record_key="key")


@pytest.fixture
def aged_people() -> pl.DataFrame:
    return pl.DataFrame(
        {"sex": ["m", "w", "m"], "age": [1, 2, 3], "key": [11, 22, 33], "w": [3.0, 4.0, 4.0]}
    )


@pytest.mark.parametrize(
    "query",
    [
        {"by": ["key"]},
        {"by": ["sex"], "weight": "key"},
        {"by": ["sex"], "values": ["key"]},
        {"by": ["sex"], "where": "key < 20"},
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_no_table_is_made_of_record_keys(
    aged_people: pl.DataFrame, query: dict[str, Any], lazy: bool
) -> None:
    frame = aged_people.lazy() if lazy else aged_people
    with pytest.raises(
        RecordKeyError, match="contains the record keys and cannot be used in tables"
    ) as caught:
        tabulate(frame, **query, record_key="key", key_grid=256)
    assert not any(key in str(caught.value) for key in ("11", "22", "33"))


@pytest.mark.parametrize("column", ["n", "key", "w"])
def test_true_counts_cannot_be_codes(column: str) -> None:
    cells = pl.DataFrame({"n": [3, 4], "key": [1, 2], "w": [5, 6]})
    with pytest.raises(TableError, match="is confidential and cannot be a spanning variable"):
        Table.from_cells(cells, [column], count="n", cell_key="key", weight="w", key_grid=256)


@for_all_rows(
    "text",
    [
        "not " * 2_000 + "age == 1",
        "age == " + "- " * 3_000 + "1",
        "age" + ".b" * 3_000 + " == 1",
        "(" * 150 + "age == 1" + ")" * 150 + " and not " * 120 + "age == 2",
        "sex == '\ud800'",
    ],
)
def test_filters_that_would_exhaust_the_parser(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    str(caught.value).encode("utf-8")


def test_a_long_list_of_conditions_is_not_deep(aged_people: pl.DataFrame) -> None:
    text = " or ".join(f"age == {age}" for age in range(600))
    assert tabulate(aged_people, ["sex"], where=text).count.tolist() == [3, 2, 1]


def test_a_quoted_name_cannot_be_reached_by_another(aged_people: pl.DataFrame) -> None:
    with pytest.raises(FilterError, match="quoted_name_0_"):
        tabulate(aged_people, ["sex"], where="`age` == 1 or quoted_name_0_ == 2")


def test_all_digits_of_a_weighted_figure_give_its_count_away(aged_people: pl.DataFrame) -> None:
    """Three records of whole weights: 4 × 11 / 3 has the denominator 3, rounded it has none."""
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {1: 1}})
    table = tabulate(aged_people, ["sex"], record_key="key", key_grid=256, weight="w")
    with pytest.warns(DiscreetWarning, match="disclose the number of records"):
        assert perturb(table, ptable, decimals=None).get("Total") == pytest.approx(44 / 3)
    assert perturb(table, ptable).get("Total") == 15


def test_of_two_secrets_written_at_once_one_is_kept(tmp_path: Path) -> None:
    """Keys made with a secret that another run then replaced could not be made again."""
    place = tmp_path / "secret.key"

    def write(secret: Secret) -> bool:
        try:
            secret.write(place)
        except RecordKeyError:
            return False
        return True

    made = [Secret.generate() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        kept = [secret for secret, won in zip(made, pool.map(write, made), strict=True) if won]
    assert [secret.derive("x") for secret in kept] == [Secret.from_file(place).derive("x")]
    assert place.stat().st_mode & 0o777 == 0o600


def test_errors_of_a_data_engine_quote_no_record() -> None:
    connection = duckdb.connect()
    connection.execute("create table t as select 'private value' v, 1 k")
    relation = connection.sql("select cast(v as integer) v, k from t")
    with pytest.raises(DiscreetError) as caught:
        tabulate(relation, ["v"], record_key="k", key_grid=256)
    assert "private" not in str(caught.value)


SMALL_PROGRAMME = """
[data]
source = "records.csv"
[keys]
column = "key"
grid = 256
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv", "json"]
[tables.T1]
by = ["sex"]
"""


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {"sex": ["m", "w", "m", "w"], "key": [1, 2, 200, 255], "w": [4.0, 5.0, 3.0, 7.0]}
    )
    frame.write_csv(tmp_path / "records.csv")
    table = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {1: 1}})
    table.write(tmp_path / "ptable.json")
    path = tmp_path / "programme.toml"
    path.write_text(SMALL_PROGRAMME)
    return path


def test_a_planted_memory_reaches_no_file_outside(programme: Path, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim.txt", tmp_path / "out"
    victim.write_text("keep me")
    dc.protect(programme, out)
    for names in (["../victim.txt"], [str(victim)], [".."], [".discreet"], [""], [7]):
        memory = {"version": 1, "programme": programme.name, "planned": names, "files": {}}
        (out / ".discreet" / "T9.json").write_text(json.dumps(memory))
        dc.protect(programme, out)
        assert victim.read_text() == "keep me"
    assert (out / "T1.csv").exists()


def test_a_link_in_place_of_the_memory_is_refused(programme: Path, tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    (out / ".discreet").symlink_to(elsewhere)
    with pytest.raises(PublicationError, match="not a folder but a link"):
        dc.protect(programme, out)
    assert not list(elsewhere.iterdir())


def test_few_records_on_a_small_grid_publish_no_digests(programme: Path, tmp_path: Path) -> None:
    """Four keys of 256 could be found by trial from a digest."""
    dc.protect(programme, tmp_path / "out")
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["tables"][0]["digests"] == {}
    assert json.loads((tmp_path / "out" / "T1.json").read_text())["provenance"]["digests"] == {}


def test_record_keys_span_and_weigh_no_table(programme: Path, tmp_path: Path) -> None:
    for change in ('by = ["key"]', 'by = ["sex"]\nweight = "key"'):
        programme.write_text(SMALL_PROGRAMME.replace('by = ["sex"]', change))
        with pytest.raises(
            ProgrammeError, match="contains keys or identifiers and cannot be used in tables"
        ):
            dc.protect(programme, tmp_path / "out")
    assert not (tmp_path / "out").exists()
