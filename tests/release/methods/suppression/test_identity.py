"""Releases by their records: columns with other names, records that were exchanged, filters."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.disclosure import RecordIdentity
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet.release import audit_release, protect
from discreet.tabulation import Query
from tests.helpers.attacker_apart import Attacker
from tests.helpers.firm_programmes import HEAD, firms, write

SECRET = '\n[keys]\nid = "firm"\nsecret_file = "office.secret"\n'
BEFORE = 'earlier = ["first"]\nearlier_identity = ["inside/identity.parquet"]'
TABLE = '\n[tables.{}]\nby = [{}]\nvalue = "turnover"\n'
LANDS = {"1": "N", "2": "S"}
Frame = Callable[[pl.DataFrame], pl.DataFrame]


def people(seed: int = 7) -> pl.DataFrame:
    """Firms with an identifier, and with the land of their region."""
    frame = firms(240, seed)
    land = pl.col("region").str.head(1).replace(LANDS)
    return frame.with_columns(land=land, firm=pl.int_range(len(frame)) + 1_000)


def programme(*tables: tuple[str, str], earlier: str = "", keys: str = SECRET) -> str:
    """A programme of tables of turnover."""
    stated = HEAD.replace('method = "fast"', f'method = "fast"\n{earlier}')
    return stated + keys + "".join(TABLE.format(*table) for table in tables)


def first_release(folder: Path, text: str, frame: pl.DataFrame | None = None) -> None:
    """The release before, with its internal folder."""
    (folder / "office.secret").write_text("6b1f0e9ac4d27385e1b09f6a2c8d7e43\n", encoding="ascii")
    (folder / "office.secret").chmod(0o600)
    (people() if frame is None else frame).write_parquet(folder / "firms.parquet")
    protect(write(folder, "first.toml", text), folder / "first", internal=folder / "inside")


def later_release(folder: Path, text: str, change: Frame) -> tuple[str, ...]:
    """The release of now, of data that were changed; gives its warnings."""
    change(pl.read_parquet(folder / "firms.parquet")).write_parquet(folder / "firms.parquet")
    path = write(folder, "later.toml", text)
    warnings = protect(path, folder / "later").warnings
    assert audit_release(path, folder / "later").safe
    return tuple(warnings)


def cells(path: Path, names: dict[str, dict[str, str]]) -> dict[tuple[str, ...], float | None]:
    """What a file shows, with codes as they are called elsewhere; None where it is hidden."""
    frame = pl.read_csv(path, schema_overrides=dict.fromkeys(names, pl.String))
    codes = [pl.col(name).replace(meant) for name, meant in names.items()]
    rows = frame.select(*codes, pl.col("value").cast(pl.Float64, strict=False)).rows()
    return {row[:-1]: row[-1] for row in rows}


def opened(
    old: dict[tuple[str, ...], float | None],
    new: dict[tuple[str, ...], float | None],
    parts: dict[str, list[str]],
) -> int:
    """How many cells that one release hides anybody works out of both."""
    shown: dict[tuple[str, ...], float] = {}
    for release in (old, new):
        shown |= {codes: value for codes, value in release.items() if value is not None}
    every = set(old) | set(new)
    known_parts = [parts, {"Total": sorted({codes[1] for codes in every} - {"Total"})}]
    sums = []
    for codes in every:
        for at, below in enumerate(known_parts):
            children = [(*codes[:at], part, *codes[at + 1 :]) for part in below.get(codes[at], [])]
            children = [child for child in children if child in every]
            if children:
                sums.append(({codes: -1} | dict.fromkeys(children, 1), 0.0))
    hidden = {codes for r in (old, new) for codes, value in r.items() if value is None}
    blanks = dict.fromkeys(hidden - set(shown), (0.0, 1e9))
    attacker = Attacker(shown=shown, blanks=blanks, sums=sums)
    exact = 0
    for codes in blanks:
        low, high = attacker.interval(codes)
        exact += high - low < 1e-6
    return len(hidden & set(shown)) + exact


def renamed(frame: pl.DataFrame) -> pl.DataFrame:
    """Sizes under another name, with other codes."""
    codes = {"s": "small", "m": "medium", "l": "large"}
    return frame.rename({"size": "class"}).with_columns(pl.col("class").replace(codes))


def without_land(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the land, which regions still tell."""
    return frame.drop("land")


PLAIN = {"branch": dict[str, str]()}
CASES: dict[str, tuple[str, str, Frame, dict[str, dict[str, str]], dict[str, list[str]]]] = {
    "renamed": (
        '"size", "branch"', '"class", "branch"', renamed,
        {"class": {"small": "s", "medium": "m", "large": "l"}}, {"Total": ["s", "m", "l"]},
    ),
    "a level of a tree": (
        '"land", "branch"', '"region", "branch"', without_land, {"region": {"1": "N", "2": "S"}},
        {"Total": ["N", "S"], "N": ["11", "12", "13"], "S": ["21", "22"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cells_under_other_names_open_nothing(tmp_path: Path, case: str) -> None:
    old, new, change, names, parts = CASES[case]
    first_release(tmp_path, programme(("old", old)), people(7))
    later_release(tmp_path, programme(("new", new), earlier=BEFORE), change)
    before = cells(tmp_path / "first/old.csv", {old.split('"')[1]: {}} | PLAIN)
    now = cells(tmp_path / "later/new.csv", names | PLAIN)
    assert len(set(before) & set(now)) > 8
    assert any(value is None for value in before.values())
    assert opened(before, now, parts) == 0
    assert all((before[codes] is None) == (now[codes] is None) for codes in set(before) & set(now))


def test_without_fingerprints_a_column_that_is_gone_is_refused(tmp_path: Path) -> None:
    first_release(tmp_path, programme(("old", '"size", "branch"')))
    later = programme(("new", '"class", "branch"'), earlier='earlier = ["first"]')
    with pytest.raises(DiscreetError, match="size"):
        later_release(tmp_path, later, renamed)


def test_releases_apart_open_each_other(tmp_path: Path) -> None:
    """What the tests above find closed is open if nobody compares: the attacker can tell."""
    found = 0
    for seed in (7, 8, 11):
        folder = tmp_path / str(seed)
        folder.mkdir()
        first_release(folder, programme(("old", '"land", "branch"')), people(seed))
        later = programme(("new", '"region", "branch"')).replace(
            'method = "fast"', 'method = "optimal"\ncost = "unity"'
        )
        later_release(folder, later, without_land)
        before = cells(folder / "first/old.csv", {"land": {}} | PLAIN)
        now = cells(folder / "later/new.csv", {"region": {"1": "N", "2": "S"}} | PLAIN)
        found += opened(before, now, CASES["a level of a tree"][4])
    assert found


def exchanged(frame: pl.DataFrame) -> pl.DataFrame:
    """Other firms with the same figures."""
    return frame.with_columns(firm=pl.col("firm").shuffle(3) + 10_000)


def test_other_records_with_equal_values_are_other_cells(tmp_path: Path) -> None:
    table = ("old", '"size", "branch"')
    first_release(tmp_path, programme(table))
    with pytest.raises(DiscreetError, match="the records of") as caught:
        later_release(tmp_path, programme(table, earlier=BEFORE), exchanged)
    assert caught.value.code == "earlier"
    stated = programme(table, earlier=f"{BEFORE}\nearlier_change = 0.25")
    warnings = later_release(tmp_path, stated, lambda frame: frame)
    assert any("treated as different cells" in text for text in warnings)


def test_rows_without_identifier_are_told_apart_by_their_codes(tmp_path: Path) -> None:
    """Where nothing identifies records, exchanged ones are the same, and other codes are not."""
    office = '\n[release]\nsecret_file = "office.secret"\n'
    table = ("old", '"size", "branch"')
    first_release(tmp_path, programme(table, keys=office))
    later = programme(table, ("new", '"size"'), earlier=BEFORE, keys=office)
    warnings = later_release(tmp_path, later, exchanged)
    assert not any("other records" in text for text in warnings)

    def moved(frame: pl.DataFrame) -> pl.DataFrame:
        """A firm of no turnover is in another branch."""
        return frame.with_columns(
            branch=pl.when(pl.col("turnover") == 0).then(pl.lit("b")).otherwise("branch")
        )

    zero = people().with_row_index("at").with_columns(
        turnover=pl.when(pl.col("at") == 0).then(0).otherwise("turnover"),
        branch=pl.when(pl.col("at") == 0).then(pl.lit("a")).otherwise("branch"),
    )  # fmt: skip
    first_release(tmp_path, programme(table, keys=office), zero.drop("at"))
    with pytest.raises(DiscreetError, match="the records of"):
        later_release(tmp_path, later, moved)


def test_a_filter_that_passes_others_is_seen(tmp_path: Path) -> None:
    table = TABLE.format("old", '"size", "branch"') + "where = \"asked == 'no'\"\n"
    text = programme() + table
    later = programme(earlier=BEFORE) + table
    frame = people()
    twin = frame.with_columns(firm=pl.col("firm") + 5_000, asked=pl.lit("yes"))
    first_release(tmp_path, text, pl.concat([frame, twin]))

    def other_filter(both: pl.DataFrame) -> pl.DataFrame:
        turned = pl.when(pl.col("firm") > 5_000).then(pl.lit("no")).otherwise(pl.lit("yes"))
        kept = both.join(frame.filter(pl.col("asked") == "no").select(base="firm"),
                         left_on=pl.col("firm") % 5_000, right_on="base", how="semi")  # fmt: skip
        return kept.with_columns(asked=turned)

    with pytest.raises(DiscreetError, match="the records of"):
        later_release(tmp_path, later, other_filter)


def test_the_file_is_for_the_house_and_needs_the_same_secret(tmp_path: Path) -> None:
    first_release(tmp_path, programme(("old", '"size", "branch"')))
    path = tmp_path / "inside/identity.parquet"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list((tmp_path / "first").rglob("identity*"))
    frame = pl.read_parquet(path)
    assert frame.columns == [
        "digest", "table", "mark", "columns", "layer", "codes", "fingerprint"
    ]  # fmt: skip
    leaves = frame.filter(pl.col("layer") == "size 0\x1fbranch 0")["fingerprint"].to_numpy()
    total = frame.filter(pl.col("codes") == "Total\x1fTotal")["fingerprint"].item()
    assert int(np.sum(leaves.astype(object))) % 10**15 == total
    made = path.stat().st_mtime_ns
    protect(tmp_path / "first.toml", tmp_path / "first", internal=tmp_path / "inside")
    assert path.stat().st_mtime_ns == made, "it is made only where it is needed"
    (tmp_path / "office.secret").write_text("2c9d47a0f16e83b5d40a7e9b3f8c6152\n", encoding="ascii")
    later = programme(("new", '"size", "branch"'), earlier=BEFORE)
    with pytest.raises(DiscreetError, match="cannot be identified as in the earlier release"):
        later_release(tmp_path, later, lambda frame: frame)
    (tmp_path / "inside/identity.parquet").write_bytes(b"no")
    with pytest.raises(DiscreetError, match="not a file of fingerprints, or it is damaged"):
        later_release(tmp_path, later, lambda frame: frame)


def test_a_filter_may_select_nothing(tmp_path: Path) -> None:
    """A table without cells has no fingerprints."""
    tables = programme(("T1", '"size"'), ("T2", '"branch"'))
    first_release(tmp_path, f"{tables}where = \"size == 'none'\"\n")
    found = pl.read_parquet(tmp_path / "inside" / "identity.parquet")
    assert set(found["table"]) == {"T1"}


def test_identifiers_are_the_same_as_numbers_and_as_texts() -> None:
    """A file may hold them as the one, and the next file as the other."""
    identity = RecordIdentity(("firm",), Secret(b"a long and secret sentence"))
    frame = people().select("firm", "size")
    odd = frame.with_columns(firm=pl.format("0{}", "firm"))
    some = pl.when(pl.col("size") == "s").then(pl.lit(None)).otherwise(pl.col("firm"))
    texts = frame.with_columns(pl.col("firm").cast(pl.String))
    keys = []
    numbered, mixed = frame.with_columns(firm=some), texts.with_columns(firm=some)
    for records in (frame, texts, odd, numbered, mixed):
        (table,) = identity.counted(records, [Query(by=["size"])])
        assert table.cell_key is not None
        keys.append(table.cell_key.tolist())
    assert keys[0] == keys[1] != keys[2]
    assert keys[3] == keys[4]
    assert keys[0][1:3] == keys[3][1:3], "large and medium firms"
