"""The same key figures, sums and means to the last bit: engines, sources, orders, threads.

Dwellings with tied rents, negative values, weights that are no whole numbers, and missing
ones. Drawn noise is pinned: a figure once published must come out again.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.protection.noise import count_ingredient, magnitude_ingredient, mean_ingredient
from discreet.release import protect
from discreet.tabulation import memory
from tests.helpers.rows import for_all_rows

HOMES = 4_000
FIGURES = [
    dc.KeyFigure(name="homes", kind="count"),
    dc.KeyFigure(name="total", kind="sum"),
    dc.KeyFigure(name="rent", kind="mean"),
    dc.KeyFigure(name="gain", kind="sum"),
    dc.KeyFigure(name="vacancy", kind="share", part="vacant", whole="homes", decimals=4),
    dc.KeyFigure(name="shares", kind="share", part="homes", over=["kind"], decimals=3),
    dc.KeyFigure(name="average", kind="ratio", part="total", whole="homes", decimals=6),
    dc.KeyFigure(name="surplus", kind="balance", part="homes", whole="vacant"),
    dc.KeyFigure(name="price", kind="index", part="rent", base={"kind": "house"}, decimals=5),
]


def homes(number: int = HOMES) -> pl.DataFrame:
    draw = np.random.default_rng(99)
    rent = draw.choice([400.0, 650.25, 800.5, 1200.75, 5000.0], number)  # ties everywhere
    return pl.DataFrame(
        {
            "place": draw.choice(["n1", "n2", "s1", "s2", "s3"], number),
            "kind": draw.choice(["flat", "house", "other"], number, p=[0.7, 0.295, 0.005]),
            "vacant": (draw.random(number) < 0.1).astype(int),
            "rent": pl.Series(rent).set(pl.Series(draw.random(number) < 0.1), None),
            "gain": np.round(draw.normal(0, 300, number), 1),
            "weight": draw.choice([0.1, 0.7, 1.0, 3.3], number),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


PLACE = dc.Classification.from_prefixes("place", ["n1", "n2", "s1", "s2", "s3"], lengths=[1, 2])
KIND = dc.Classification.flat("kind", ["flat", "house", "other"])
COUNTS = dc.design_perturbation(max_noise=4, variance=2, forbidden=(1, 2))
NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.FlexStrength(point=1000, small=0.2, large=0.05, exponent=2),
    top=3,
    epsilon=(1, 0.5, 0.25),
)
OF_RANGE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.1),
    of="range",
)


def figures(
    source: Any, weight: str | None = "weight", keys: Literal["column", "shared"] = "column"
) -> dc.ProtectedTable:
    """All key figures of some dwellings."""
    noise, of_range = NOISE, OF_RANGE
    if keys == "shared":  # as it was before columns had noise of their own
        noise = NOISE.with_options(keys="shared", zeros_in_key=True)
        of_range = OF_RANGE.with_options(keys="shared", range_floor=0)

    def counted(where: str | None = None) -> dc.Table:
        return dc.tabulate(
            source,
            [PLACE, KIND],
            record_key="record_key",
            weight=weight,
            values=["rent", "gain"],
            contributions=3,
            where=where,
        )

    every = counted()
    options: dict[str, Any] = {"ptable": COUNTS, "count_decimals": 0}
    return dc.derive(
        {
            "homes": count_ingredient(every, COUNTS, decimals=0),
            "vacant": count_ingredient(counted("vacant == 1"), COUNTS, decimals=0),
            "total": magnitude_ingredient(
                every, noise, "rent", publish="means", **options, p_percent=0
            ),
            "rent": mean_ingredient(every, noise, "rent", publish="means", **options, p_percent=0),
            "gain": magnitude_ingredient(
                every, of_range, "gain", grain=0.1, **options, p_percent=0
            ),
        },
        FIGURES,
    )


def bits(table: dc.ProtectedTable) -> str:
    """A digest of positions, values and status of all cells."""
    digest = hashlib.sha256()
    for column in (*table.index, np.asarray(table.value, dtype=np.float64), table.status):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def expected() -> str:
    return bits(figures(homes()))


SOURCES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "shuffled": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@for_all_rows("source", SOURCES)
def test_every_engine_and_order(source: str, expected: str) -> None:
    shuffled = homes().sample(fraction=1, shuffle=True, seed=5)
    assert bits(figures(SOURCES[source](shuffled))) == expected


@pytest.mark.spark
@pytest.mark.exhaustive
def test_spark(spark: Any) -> None:
    schema = (
        "place string, kind string, vacant bigint, rent double, gain double, weight double, "
        "record_key bigint"
    )
    frame = homes(600)
    records = spark.createDataFrame(frame.rows(), schema).repartition(3).cache()
    assert bits(figures(records)) == bits(figures(frame))


@pytest.mark.parametrize("weight", ["weight", None])
def test_compiled_loops_give_the_same_figures(
    weight: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreted = bits(figures(homes(), weight=weight))
    monkeypatch.setattr(memory, "_compiled_pays", lambda records: True)
    assert bits(figures(homes(), weight=weight)) == interpreted


def test_a_process_with_one_thread(expected: str) -> None:
    """The number of threads of an engine is fixed when it is loaded."""
    command = "import test_same_figures as t; print(t.bits(t.figures(t.homes().lazy())))"
    one = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    path = {"PYTHONPATH": str(Path(__file__).parent)}
    found = subprocess.run(
        [sys.executable, "-c", command],
        env={**os.environ, **one, **path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == expected


@pytest.mark.filterwarnings("ignore:the noise of:discreet.errors.DisclosureWarning")
def test_figures_with_shared_keys_are_pinned() -> None:
    """Those of earlier releases, which programmes keep by keys = "shared"."""
    table = figures(homes(400), weight=None, keys="shared")
    found = {cell: [table.get(*cell, figure.name) for figure in FIGURES] for cell in SHARED}
    assert found == SHARED
    assert bits(table) == SHARED_BITS
    assert bits(figures(homes(400), keys="shared")) == SHARED_WEIGHTED


def test_figures_are_pinned() -> None:
    """Changing any of these changes what has been published."""
    table = figures(homes(400), weight=None)
    cells = [("Total", "Total"), ("n", "house"), ("s3", "flat")]
    found = {cell: [table.get(*cell, figure.name) for figure in FIGURES] for cell in cells}
    assert found == PINNED
    assert bits(table) == PINNED_BITS
    assert bits(figures(homes(400))) == PINNED_WEIGHTED


PINNED: dict[tuple[str, str], list[float | None]] = {
    ("Total", "Total"): [400, 556767, 1529.58, -5013.2, 11.0, 100.0, 1391.9175, 356, 95.56447],
    ("n", "house"): [58, 86119, 1794.15, -4358.6, 10.3448, 40.845, 1484.810345, 52, 100.0],
    ("s3", "flat"): [63, 92986, 1660.46, -3249.5, 11.1111, 74.118, 1475.968254, 56, 107.7757],
}
SHARED: dict[tuple[str, str], list[float | None]] = {
    ("Total", "Total"): [400, 556476, 1528.78, -4440.8, 11.0, 100.0, 1391.19, 356, 94.55738],
    ("n", "house"): [58, 84999, 1770.81, -4358.6, 10.3448, 40.845, 1465.5, 52, 100.0],
    ("s3", "flat"): [63, 94736, 1691.71, -3448.4, 11.1111, 74.118, 1503.746032, 56, 121.03847],
}
PINNED_BITS = "b5cf6875d086fac3a71bc981a4f18724c25c120c3d0b89bc96884e991de2e60e"
PINNED_WEIGHTED = "bd2d5490296a425099f84ab892e2f14f90ef229f704690f822cdc5336c013943"
SHARED_BITS = "b250b462cf6a325e258e9ace04c3c4854149f5cd1461e1c96c9e50b8fdf8238f"
SHARED_WEIGHTED = "b76df954a4fd6741a24862db73f69a435690ff8bc6b50e4fba0332cb8ad07a2f"

PROGRAMME = """
title = "Homes"
[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[magnitudes.rent]
table = "rent.csv"
chance = 1
strength = { kind = "flex", point = 1000, small = 0.2, large = 0.05, exponent = 2 }
top = 2
epsilon = [1, 0.5]
publish = "means"

[variables.place]
prefixes = [1, 2]

[parts]
min_average_size = 5

[tables.rents]
by = ["place", "kind"]
formats = ["csv", "sdmx-csv"]
weight = "weight"

[tables.rents.figures]
homes = { kind = "count" }
total = { kind = "sum", of = "rent" }
rent = { kind = "mean", of = "rent" }
vacancy = { kind = "share", part = "vacant", whole = "homes" }
vacant = { kind = "count", where = "vacant == 1", hidden = true }

[data]
"""


def test_every_source_of_a_release(tmp_path: Path) -> None:
    """Text, Parquet in pieces and a database, in other orders: the same files."""
    frame = homes()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=8)
    frame.write_csv(tmp_path / "homes.csv")
    (tmp_path / "pieces").mkdir()
    for at in range(3):
        shuffled[at * 1_500 : (at + 1) * 1_500].write_parquet(tmp_path / "pieces" / f"{at}.parquet")
    with duckdb.connect(str(tmp_path / "homes.duckdb")) as database:
        database.register("frame", shuffled.to_arrow())
        database.execute("create table homes as select * from frame")
    COUNTS.write(tmp_path / "ptable.json")
    NOISE.table.write(tmp_path / "rent.csv")
    sources = {
        "csv": 'source = "homes.csv"',
        "parquet": 'source = "pieces/*.parquet"',
        "database": 'database = "homes.duckdb"\ntable = "homes"',
    }
    found = {}
    for name, entry in sources.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(PROGRAMME + entry + "\n", encoding="utf-8")
        protect(path, tmp_path / name)
        names = ("decisions.json", "quality.json")
        files = [*sorted((tmp_path / name).glob("rents.*")), *(tmp_path / name / n for n in names)]
        found[name] = {file.name: file.read_bytes() for file in files}
    assert found["csv"] == found["parquet"] == found["database"]
