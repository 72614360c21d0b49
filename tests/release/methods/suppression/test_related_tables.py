"""Programmes whose tables tell of values that add up: stated, found, unpublished, and before."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.release import audit_release, protect
from tests.helpers.firm_programmes import HEAD, REGIONS, firms, rules, write
from tests.helpers.reader_of_sums import opened

SUM = {"total": -1, "home": 1, "foreign": 1}
APART = (
    HEAD
    + """
[tables.home]
by = ["region", "branch"]
value = "home"

[tables.abroad]
by = ["region", "branch"]
value = "foreign"

[tables.all]
by = ["region", "branch"]
value = "total"
"""
)
STATED = APART + '\n[relations]\ntotal = "home + foreign"\n'


def trade(seed: int = 3, number: int = 140) -> pl.DataFrame:
    """Firms with home and foreign turnover and their sum."""
    draw = np.random.default_rng(seed)
    abroad = np.ceil(draw.lognormal(3, 1.6, number)) * (draw.random(number) < 0.6)
    frame = firms(number, seed).rename({"turnover": "home"})
    return frame.with_columns(foreign=pl.Series(abroad.astype(int))).with_columns(
        total=pl.col("home") + pl.col("foreign")
    )


def folder(tmp_path: Path, seed: int = 3, frame: pl.DataFrame | None = None) -> Path:
    (trade(seed) if frame is None else frame).write_parquet(tmp_path / "firms.parquet")
    return tmp_path


def shown(path: Path, value: str) -> pl.DataFrame:
    frame = pl.read_csv(path, schema_overrides={"region": pl.String, "branch": pl.String})
    if "figure" in frame.columns:
        frame = frame.filter(pl.col("figure") == value)
    return frame.with_columns(pl.col("value").cast(pl.Float64, strict=False))


def rows(out: Path, frame: pl.DataFrame, tables: dict[str, tuple[str, list[str]]]) -> list[Any]:
    """What was published, beside the truth and what the rules find in it."""
    region = dc.Classification.from_prefixes("region", REGIONS, [1, 2])
    found = []
    for name, (value, by) in tables.items():
        spanning = [region if each == "region" else each for each in by]
        table = dc.tabulate(frame, by=spanning, values=[value], contributions=2)
        asked = dc.primary(table, rules(), value=value)
        found.append((value, leaves(shown(out / f"{name}.csv", value)), *innermost(table, asked)))
    return found


def leaves(frame: pl.DataFrame) -> pl.DataFrame:
    """Without subtotals of regions: the reader's sums are those of flat variables."""
    if "region" not in frame.columns:
        return frame
    return frame.filter((pl.col("region").str.len_chars() == 2) | (pl.col("region") == "Total"))


def innermost(table: dc.Table, asked: Any) -> tuple[dc.Table, Any]:
    import dataclasses

    codes = table.to_polars()
    if "region" not in codes.columns:
        return table, asked
    kept = codes["region"].str.len_chars().is_in([2, 5]).to_numpy()
    verdict = np.where(kept, asked.verdict, 0).astype(np.int8)
    return table, dataclasses.replace(asked, verdict=verdict)


NOISY = """
[tables.all]
by = ["region", "branch"]
protect = "noise"
figures.sum = { kind = "sum", of = "total" }

[keys]
column = "record_key"

[perturbation]
table = "ptable.csv"

[magnitudes.total]
table = "noise.csv"
strength = { kind = "simple", share = 0.1 }
"""
THREE = {
    "home": ("home", ["region", "branch"]),
    "abroad": ("foreign", ["region", "branch"]),
    "all": ("total", ["region", "branch"]),
}


@pytest.mark.parametrize(
    "text", [APART, pytest.param(STATED, marks=pytest.mark.exhaustive)], ids=["found", "stated"]
)
def test_tables_of_values_that_add_up_open_nothing(tmp_path: Path, text: str) -> None:
    path = write(folder(tmp_path), "three.toml", text)
    protect(path, tmp_path / "out", internal=tmp_path / "inside")
    assert not opened(rows(tmp_path / "out", trade(), THREE), [SUM])
    found = audit_release(path, tmp_path / "out")
    assert found.safe
    assert [value for _, value in found.audits] == ["home, foreign, total"]
    told = (tmp_path / "inside" / "suppression-internal.txt").read_text()
    assert "total = home + foreign" in told
    assert protect(path, tmp_path / "out").fresh == 0


def test_the_audit_finds_tables_that_were_protected_apart(tmp_path: Path) -> None:
    """Each value in a programme of its own, and all releases laid side by side."""
    folder(tmp_path)
    head, found = APART[: APART.index("\n[tables.")], []
    for name, kind in THREE.items():
        write(tmp_path, f"{name}.toml", head + _section(name))
        protect(tmp_path / f"{name}.toml", tmp_path / name)
        found += rows(tmp_path / name, trade(), {name: kind})
        assert audit_release(tmp_path / f"{name}.toml", tmp_path / name).safe
    wrong = opened(found, [SUM])
    assert len(wrong) > 3
    beside = [tmp_path / "abroad", tmp_path / "all"]
    told = audit_release(tmp_path / "home.toml", tmp_path / "home", beside=beside)
    assert not told.safe
    assert len(told.opened) >= len(wrong)


def _section(name: str) -> str:
    start = APART.index(f"[tables.{name}]")
    end = APART.find("\n[tables.", start)
    return "\n" + APART[start : end if end > 0 else None]


def test_several_values_of_one_table_and_others_beside(tmp_path: Path) -> None:
    text = HEAD + (
        '\n[tables.both]\nby = ["region", "branch"]\nvalue = ["home", "total"]\n'
        '\n[tables.sizes]\nby = ["branch", "size"]\nvalue = "foreign"\n'
        '\n[tables.wages]\nby = ["branch", "size"]\nvalue = "wages"\n'
    )
    path = write(folder(tmp_path), "more.toml", text)
    protect(path, tmp_path / "out")
    known = {"both": ("home", ["region", "branch"]), "sizes": ("foreign", ["branch", "size"])}
    found = rows(tmp_path / "out", trade(), known)
    found += rows(tmp_path / "out", trade(), {"both": ("total", ["region", "branch"])})
    assert not opened(found, [SUM])
    audits = audit_release(path, tmp_path / "out").audits
    assert [value for _, value in audits] == ["home, total, foreign", "wages"]


def test_a_table_published_before_counts_for_values_that_add_up_to_its_own(tmp_path: Path) -> None:
    head = APART[: APART.index("\n[tables.")]
    first = head + _section("all")
    protect(write(folder(tmp_path), "first.toml", first), tmp_path / "first")
    later = head.replace('method = "fast"', 'method = "fast"\nearlier = ["first"]')
    later += _section("home") + _section("abroad")
    path = write(tmp_path, "later.toml", later)
    protect(path, tmp_path / "later")
    found = rows(tmp_path / "later", trade(), {n: THREE[n] for n in ("home", "abroad")})
    found += rows(tmp_path / "first", trade(), {"all": THREE["all"]})
    assert not opened(found, [SUM])
    assert audit_release(path, tmp_path / "later").safe


def test_a_value_that_is_not_published_is_counted_for_its_relation(tmp_path: Path) -> None:
    head = STATED.partition("\n[tables.abroad]")[0]
    text = head + _section("all") + '\n[relations]\nrest = "total = home + foreign"\n'
    path = write(folder(tmp_path), "two.toml", text)
    protect(path, tmp_path / "out")
    found = audit_release(path, tmp_path / "out")
    assert found.safe
    assert [value for _, value in found.audits] == ["home, total"]


# -- what is refused ----------------------------------------------------------------------------


def refusal(tmp_path: Path, text: str) -> str:
    path = write(folder(tmp_path), "wrong.toml", text)
    with pytest.raises(DiscreetError) as caught:
        protect(path, tmp_path / "out")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.csv"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ('total = "home"', "does not hold"),
        ('total = "home +"', "not a sum or difference of values"),
        ('total = "home + inland"', "inland"),
        ("total = 3", "must be a text"),
    ],
)
def test_wrong_relations_are_refused_with_their_place(
    tmp_path: Path, relation: str, said: str
) -> None:
    assert said in refusal(tmp_path, APART + f"\n[relations]\n{relation}\n")


def test_values_that_add_up_are_protected_in_one_way(tmp_path: Path) -> None:
    """The total with noise beside hidden home and foreign turnover is an estimate of both."""
    frame = trade().with_columns(record_key=pl.Series(np.random.default_rng(1).integers(
        0, 10**15, 140
    )))  # fmt: skip
    folder(tmp_path, frame=frame)
    dc.design_perturbation(max_noise=3, variance=1).write(tmp_path / "ptable.csv")
    dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(tmp_path / "noise.csv")
    text = APART[: APART.index("\n[tables.all]")] + NOISY
    path = write(tmp_path, "mixed.toml", text)
    with pytest.raises(DiscreetError) as caught:
        protect(path, tmp_path / "out")
    assert "additive values would be published by" in str(caught.value)
    assert "tables.all.protect" in str(caught.value)


def test_relations_without_effect_are_pointed_out(tmp_path: Path) -> None:
    path = write(folder(tmp_path), "idle.toml", APART + '\n[relations]\nassets = "debts + own"\n')
    assert any("has no effect" in text for text in protect(path, tmp_path / "out").warnings)
