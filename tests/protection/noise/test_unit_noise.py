"""Noise by unit: balanced factors, tables that add up and agree, programmes, what is left open."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError, PerturbationError, ProgrammeError
from discreet.protection.noise import UnitNoise, unit_risk
from discreet.protection.noise.unit_factors import with_unit_noise
from discreet.release import protect
from tests.helpers.command import run
from tests.helpers.programmes import editor
from tests.helpers.rows import for_all_rows

SECRET = "a long and secret sentence"
NOISE = UnitNoise(unit="firm")


def firms(number: int = 600, seed: int = 4) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "firm": [f"f{at:05}" for at in range(number)],
            "area": draw.choice([*"abcdef"], number),
            "branch": draw.choice([*"uvwxyz"], number),
            "sales": np.rint(draw.lognormal(6, 1.5, number)),
            "staff": draw.integers(0, 9, number) // 4,
        }
    )


def moved(frame: pl.DataFrame, noise: UnitNoise, value: str = "sales") -> pl.DataFrame:
    made, _ = with_unit_noise(frame, {value: 0}, noise, SECRET)
    return made.with_columns(off=pl.col(f"discreet noisy {value}") - pl.col(value))


@given(
    values=st.lists(st.integers(-5000, 10**7), min_size=1, max_size=60),
    shape=st.sampled_from(["falling", "even"]),
    balance=st.booleans(),
)
def test_no_value_but_zero_comes_nearer_than_the_least_share(
    values: list[int], shape: Any, balance: bool
) -> None:
    places = {"firm": range(len(values)), "area": [at % 3 for at in range(len(values))]}
    frame = pl.DataFrame({**places, "sales": values})
    noise = UnitNoise(unit="firm", least=0.1, most=0.3, shape=shape, balance=["area"] * balance)
    for value, off in moved(frame, noise).select("sales", "off").rows():
        assert 0.1 * abs(value) <= abs(off) <= max(0.3 * abs(value) + 0.5, abs(value) > 0)


def test_areas_keep_their_totals_but_where_one_unit_outweighs_the_others() -> None:
    giant = pl.when(pl.col("firm") == firms().filter(area="c")["firm"][0]).then(10**8)
    frame = firms().with_columns(sales=giant.otherwise("sales"))
    _, told = with_unit_noise(frame, {"sales": 0}, UnitNoise(unit="firm", balance="area"), SECRET)
    assert told["sales"][1:] == (6, 5, 1)
    off = moved(frame, UnitNoise(unit="firm", balance="area")).group_by("area").agg(pl.sum("off"))
    assert off.filter(pl.col("off") != 0)["area"].to_list() == ["c"]
    assert off["off"].abs().max() > 0.04 * 10**8  # type: ignore[operator]


def test_units_in_several_areas_keep_the_sign_that_was_drawn() -> None:
    at = pl.int_range(600)
    frame = firms().with_columns(firm=pl.when(at < 480).then(at // 2).otherwise(at))
    frame = frame.with_columns(
        area=pl.when(pl.col("firm") < 180).then(pl.lit("a")).otherwise("area")
    )
    plain, balanced = (moved(frame, UnitNoise(unit="firm", balance=b)) for b in ((), ("area",)))
    several = frame.group_by("firm").agg(pl.n_unique("area")).filter(pl.col("area") > 1)["firm"]
    assert len(several) > 20
    for each in (plain, balanced):
        signs = (
            each.filter(pl.col("off") != 0).group_by("firm").agg(pl.col("off").sign().n_unique())
        )
        assert signs["off"].max() == 1
    both = plain["firm"].is_in(several.implode())
    assert plain.filter(both)["off"].equals(balanced.filter(both)["off"])
    assert not plain["off"].equals(balanced["off"])


def test_balancing_tells_no_sign_of_another_unit() -> None:
    """The two largest of an area or of a published cell once had opposite signs always."""
    size = np.tile([900, 700, 500, 300, 200, 100], 100)
    frame = pl.DataFrame(
        {"firm": range(600), "area": np.repeat(np.arange(100), 6), "sales": size * 1000}
    )
    noise = UnitNoise(unit="firm", balance="area")
    _, factors = with_unit_noise(frame, {"sales": 0}, noise, SECRET)
    assert factors["sales"].kept > 50
    signs = moved(frame, noise).with_columns(pl.col("off").sign().cast(pl.Int8))
    apart = signs.group_by("area", maintain_order=True).agg("off")["off"].list
    opposite = (apart.get(0) != apart.get(1)).sum()
    assert 30 <= opposite <= 70
    assert signs["off"].equals(moved(frame, NOISE)["off"].sign().cast(pl.Int8))


def test_the_best_guess_of_who_knows_how_factors_are_drawn() -> None:
    frame = pl.DataFrame({"firm": range(4000), "place": range(4000), "sales": [10**6] * 4000})
    often, factor = NOISE.guessed(0.05)
    shown = moved(frame, NOISE)["discreet noisy sales"].to_numpy()
    hits = np.abs(shown / factor - 10**6) <= 0.05 * 10**6
    assert 0.45 < often <= 0.5
    assert abs(hits.mean() - often) < 0.03
    assert UnitNoise(unit="firm", least=0.1, most=0.6, shape="even").guessed(0.05)[0] < 0.16
    risk = unit_risk(frame, ["place"], "sales", NOISE, secret=SECRET)
    assert risk.nearest is not None
    assert risk.nearest >= 0.05
    assert abs(risk.guessed / 4000 - often) < 0.03
    assert risk.chance == often


def test_the_second_largest_knows_its_own_factor() -> None:
    size = pl.Series([10**6, 8 * 10**5] * 2000)
    frame = pl.DataFrame({"firm": range(4000), "pair": np.arange(4000) // 2, "sales": size})
    risk = unit_risk(frame, ["pair"], "sales", NOISE, secret=SECRET)
    assert risk.open == 2000
    assert abs(risk.found / 2000 - risk.chance) < 0.05


def test_order_and_engine_do_not_matter() -> None:
    frame = firms().with_columns(sales=pl.when(pl.int_range(600) != 7).then("sales"))
    noise = UnitNoise(unit="firm", balance=["area"])
    ask = {"secret": SECRET, "chance": 1}
    expected = dc.perturb_units(frame, ["area", "branch"], "sales", noise, **ask)
    engines = [
        frame.sample(fraction=1.0, shuffle=True, seed=1),
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        duckdb.sql("select * from frame order by sales"),
    ]
    for each in engines:
        found = dc.perturb_units(each, ["area", "branch"], "sales", noise, **ask)
        assert found.to_polars().equals(expected.to_polars()), type(each)
    words = "another secret sentence!"
    other = dc.perturb_units(frame, ["area", "branch"], "sales", noise, secret=words, chance=1)
    assert not other.to_polars().equals(expected.to_polars())


def test_tables_add_up_and_agree_and_columns_have_other_noise() -> None:
    frame = firms()
    wide = dc.perturb_units(frame, ["area", "branch"], "sales", NOISE, secret=SECRET, decimals=2)
    narrow = dc.perturb_units(frame, ["branch"], "sales", NOISE, secret=SECRET, decimals=2)
    part = dc.perturb_units(
        frame, [], "sales", NOISE, secret=SECRET, decimals=2, where="area == 'a'"
    )
    for branch in "uvwxyz":
        inner = [wide.get(area, branch) or 0 for area in "abcdef"]
        assert round(sum(inner), 2) == wide.get("Total", branch) == narrow.get(branch)
    assert part.get() == wide.get("a", "Total")
    assert "sums of their parts" in wide.notes[0].text("en")
    twice = frame.with_columns(copy="sales")
    made, _ = with_unit_noise(twice, {"sales": 0, "copy": 0}, NOISE, SECRET)
    assert not made["discreet noisy sales"].equals(made["discreet noisy copy"])


def test_factors_have_the_stated_shape() -> None:
    frame = pl.DataFrame({"firm": range(4000), "sales": [10**9] * 4000})
    for shape in ("falling", "even"):
        noise = UnitNoise(unit="firm", least=0.04, most=0.1, shape=shape)  # type: ignore[arg-type]
        off = moved(frame, noise)["off"].to_numpy() / 10**9
        assert abs(np.std(off) / noise.deviation - 1) < 0.02
        assert abs(np.mean(off)) < 4 * noise.deviation / 4000**0.5


def test_what_contributors_can_work_out() -> None:
    found = unit_risk(firms(90), ["area", "branch"], "sales", NOISE, secret=SECRET)
    truth = dc.tabulate(firms(90), ["area", "branch"], values=["sales"])
    assert found.alone == int((truth.count == 1).sum()) > 0
    assert found.nearest is not None
    assert 0.05 <= found.nearest < 0.06
    assert found.open > found.found
    assert "sales" not in str(found.described())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"least": 0.2}, "least must be below most"),
        ({"least": 0.0}, "least: must be above 0"),
        ({"shape": "flat"}, "known: falling, even"),
        ({"unit": ""}, "unit: must not be empty"),
    ],
)
def test_noise_that_cannot_be(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DiscreetError, match=words):
        UnitNoise(**{"unit": "firm", **change})


@for_all_rows(
    ("frame", "words"),
    [
        (firms().with_columns(firm=pl.lit(1.5)), "units cannot be of type"),
        (firms().with_columns(firm=pl.lit("")), "600 of 600 records belong to no unit"),
        (firms().with_columns(sales=pl.lit("many")), "not a numeric column"),
        (firms().with_columns(sales=pl.lit(float("inf"))), "infinite or too large"),
        (firms().drop("area"), "column not found"),
    ],
)
def test_records_that_cannot_be_used(frame: pl.DataFrame, words: str) -> None:
    noise = UnitNoise(unit="firm", balance=["area"])
    with pytest.raises(DiscreetError, match=words):
        dc.perturb_units(frame, ["branch"], "sales", noise, secret=SECRET)


PROGRAMME = """\
[data]
source = "firms.parquet"

[protection.unit-noise]
unit = "firm"
balance = ["area"]
chance = 1
secret_file = "secret.key"

[values.sales]
decimals = 1
title = { en = "Sales", de = "Umsatz" }

[defaults]
protect = "unit-noise"
formats = ["csv", "html"]

[tables.areas]
by = ["area", "branch"]
value = ["sales", "staff"]

[tables.branches]
by = ["branch"]
value = "sales"
"""


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    firms(90).write_parquet(tmp_path / "firms.parquet")
    dc.microdata.Secret.of(SECRET).write(tmp_path / "secret.key")  # type: ignore[attr-defined]
    return editor(tmp_path / "programme.toml", PROGRAMME)


def test_a_release(edited: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "release"
    summary = protect(edited(), out, internal=tmp_path / "internal")
    assert summary.fresh == 2
    areas = pl.read_csv(out / "areas.csv", comment_prefix="#", infer_schema=False)
    branches = pl.read_csv(out / "branches.csv", comment_prefix="#", infer_schema=False)
    floats = ["branch", pl.col("value").cast(pl.Float64)]
    own = areas.filter(area="Total", figure="sales").select(floats)
    assert own.sort("branch").equals(branches.select(floats).sort("branch"))
    noise = UnitNoise(unit="firm", balance=["area"])
    direct = dc.perturb_units(firms(90), ["branch"], "sales", noise, secret=SECRET, decimals=1)
    assert dict(own.rows()) == {code: direct.get(code) for code in [*"uvwxyz", "Total"]}
    told = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert told["deviations"]
    assert "random share" in (out / "branches.html").read_text("utf-8")
    assert protect(edited(), out).fresh == 0
    changed = edited(('balance = ["area"]', "least = 0.1"))
    assert any(
        "had other values before; both releases together disclose more" in each
        for each in protect(changed, out).warnings
    )


def dominated_cells(by: list[str]) -> int:
    """Cells of the firms where all but the two largest are less than 10 % of the largest."""
    truth = dc.rules.count_holdings(  # type: ignore[attr-defined]
        firms(90), by, holding="firm", values=["sales"], contributions=2
    ).contributions["sales"]
    top = np.nan_to_num(truth.top)
    return int((truth.absolute - top.sum(axis=1) < 0.1 * top[:, 0]).sum())


def test_the_function_refuses_noise_that_lets_a_guess_come_too_near() -> None:
    by, ask = ["area", "branch"], {"secret": SECRET}
    number = dominated_cells(by)
    assert number > 10
    for noise in (NOISE, UnitNoise(unit="firm", least=0.1, most=0.6)):
        with pytest.raises(PerturbationError) as caught:
            dc.perturb_units(firms(90), by, "sales", noise, **ask)
        assert caught.value.code == "unit-noise-gate"
        assert f"in {number} cells with a single" in str(caught.value)
        assert "chance = …" in str(caught.value)
    weak = {options: dc.perturb_units(firms(90), by, "sales", NOISE, **ask, **dict(options))
            for options in ((("chance", 1),), (("p_percent", 0),))}  # fmt: skip
    first, second = weak.values()
    assert first.to_polars().equals(second.to_polars())
    wide = UnitNoise(unit="firm", most=0.95, shape="even")
    assert dc.perturb_units(firms(90), by, "sales", wide, **ask).get("a", "u")
    with pytest.raises(DiscreetError):  # within 20 % it is guessed more often
        dc.perturb_units(firms(90), by, "sales", wide, **ask, p_percent=20)
    assert dc.perturb_units(firms(90), ["branch"], "sales", NOISE, **ask).get("u")  # none of so few
    for wrong in ({"p_percent": 100}, {"chance": 1.5}):
        with pytest.raises(
            DiscreetError, match="p_percent must be at least 0 and below 100, chance from 0 to 1"
        ):
            dc.perturb_units(firms(90), by, "sales", NOISE, **ask, **wrong)
    for noise, refused in ((NOISE, number), (wide, 0)):
        gate = unit_risk(firms(90), by, "sales", noise, **ask).closeness
        assert gate is not None
        assert (gate.cells, gate.failed) == (number, refused)
        assert gate.chance == noise.guessed(0.1)[0]
        assert abs(gate.near - gate.chance) < 0.15
    assert unit_risk(firms(90), by, "sales", NOISE, **ask, p_percent=0).closeness is None


def test_noise_that_lets_a_guess_come_too_near_is_refused(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    """Cells of one unit, or dominated by one, are open to who knows how factors are drawn."""
    dominated = dominated_cells(["area", "branch"])
    out, internal = tmp_path / "release", tmp_path / "internal"
    for least in ("", "least = 0.1\nmost = 0.6\n"):
        with pytest.raises(DiscreetError) as caught:
            protect(edited(("chance = 1\n", least)), out)
        words = f"sales: in {dominated} cells with a single"
        assert words in str(caught.value)
        assert "within 10 % of it more often than 20%" in str(caught.value)
        assert not list(out.glob("*.csv"))
    wide = 'least = 0.05\nmost = 0.98\nshape = "even"\n'
    for changes, limit in ((("chance = 1\n", wide), 0.2), ((), 1.0)):
        changed = edited(('balance = ["area"]\n', ""), *([changes] if changes else []))
        protect(changed, out, internal=internal)
        report = json.loads((internal / "quality-internal.json").read_text("utf-8"))
        gate = report["each_table"]["areas"]["closeness"]["sales"]
        assert (gate["cells"], gate["failed"], gate["shown"]) == (dominated, 0, dominated)
        assert 0.15 < gate["chance"] <= limit
        assert abs(gate["near"] - gate["chance"]) < 0.15
    assert gate["chance"] > 0.7
    attacked = dc.attack(out)
    assert attacked.rates()["values"] is None
    assert "sales in areas: Cells: 47; Independent estimates: 1; Within: 10 %" in attacked.text()
    attacked = dc.attack(out, truth=tmp_path / "programme.toml")
    own = next(item for item in attacked.values if item.figure.endswith("sales in areas"))
    assert (own.dominated, own.published) == (dominated, gate["near"])
    assert own.chance == gate["chance"]
    assert attacked.rates()["values"] == max(item.published or 0 for item in attacked.values)
    assert f"Dominated sums: {dominated}; Detected from the value: " in attacked.text()
    line = ["attack", str(out), "--truth", str(tmp_path / "programme.toml")]
    page = tmp_path / "attack.html"
    failed = run(*line, "--out", page, "--fail-over", "values=0.2")
    assert "FAILED: values is" in failed.output
    assert "sales in areas" in page.read_text("utf-8")
    public = run(*line, "--public", tmp_path / "public.html")
    assert public.exit_code != 0
    assert not (tmp_path / "public.html").exists()
    none = edited(("chance = 1", "p_percent = 0"))
    assert any("remove p_percent = 0" in one for one in protect(none, out).warnings)
    sales = ('value = ["sales", "staff"]', 'value = "sales"')
    coarse = edited(("chance = 1\n", ""), ('["area", "branch"]', '["branch"]'), sales)
    assert protect(coarse, tmp_path / "coarse").fresh == 2  # no cell rests on so few


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('value = "sales"', ""), "not counts"),
        (('unit = "firm"\n', ""), "unit is missing"),
        (('secret_file = "secret.key"\n', ""), "secret_file is missing"),
        (('unit = "firm"', 'unit = "firm"\nsecret_env = "NO_SECRET"'), "exclude each other"),
        (('value = "sales"', 'value = "sales"\nweight = "staff"'), "without weights"),
        (('unit = "firm"', 'unit = "firm"\nleast = 0.5'), "least must be below most"),
        (('unit = "firm"', 'unit = "company"'), "company"),
        (('"staff"]', '"sales"]'), "named twice"),
    ],
)
def test_programmes_that_cannot_be(
    edited: Callable[..., Path], tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    with pytest.raises(ProgrammeError) as caught:
        protect(edited(change), tmp_path / "release")
    assert words in str(caught.value)
    assert not (tmp_path / "release").exists()


def test_a_column_of_ones_tells_counts(edited: Callable[..., Path], tmp_path: Path) -> None:
    firms(90).with_columns(one=pl.lit(1)).write_parquet(tmp_path / "firms.parquet")
    counts = '[tables.counts]\nby = ["branch"]\nprotect = "rounding"\n'
    rounding = '[protection.rounding]\nbase = 3\nmethod = "conventional"'
    path = edited(
        ('"branch"]\nvalue = ["sales", "staff"]', f'"branch"]\nvalue = "one"\n{counts}{rounding}')
    )
    with pytest.raises(ProgrammeError, match="one = count: additive values would be published"):
        protect(path, tmp_path / "release")


def test_the_command(edited: Callable[..., Path], tmp_path: Path) -> None:
    edited()
    words = ["unit-noise", "firms.parquet", "--by", "branch", "--value", "sales", "--unit", "firm"]
    words[1] = str(tmp_path / words[1])
    end = ["--secret", str(tmp_path / "secret.key"), "--out", str(tmp_path / "table.csv")]
    done = run(*words, *end, "--internal", tmp_path / "risk.json")
    assert done.exit_code == 0, done.output
    direct = dc.perturb_units(firms(90), ["branch"], "sales", NOISE, secret=SECRET)
    shown = pl.read_csv(tmp_path / "table.csv", comment_prefix="#")
    assert dict(shown.select("branch", "value").rows()) == {
        code: direct.get(code) for code in [*"uvwxyz", "Total"]
    }
    assert json.loads((tmp_path / "risk.json").read_text())["cells"] == 7
    assert (tmp_path / "risk.json").stat().st_mode & 0o077 == 0
    assert run(*words, *end[2:]).exit_code == 2
    words[3] = "area,branch"
    refused = run(*words, *end, "--internal", tmp_path / "near.json")
    assert refused.exit_code != 0
    said = " ".join(refused.output.split())
    assert "--chance: sales: in 23 cells with a single or dominating contribution" in said
    assert "--most 0.95 and --shape even" in said
    assert "--p-percent … and --chance …" in said
    gate = json.loads((tmp_path / "near.json").read_text())["closeness"]
    assert gate["cells"] == gate["failed"] == dominated_cells(["area", "branch"])
    assert gate["chance"] > 0.7
    for more in (["--chance", "1"], ["--most", "0.95", "--shape", "even"], ["--p-percent", "0"]):
        assert run(*words, *more, *end).exit_code == 0
