"""Keys over periods: who keeps the key, on every engine; what does not go together is refused."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from tests.helpers.command import run
from tests.helpers.engines import collected
from tests.helpers.rows import for_all_rows

SECRET = "the secret of these tests"
FIRST = pl.DataFrame({"id": [1, 2, 3, 4], "area": ["a", "a", "b", None], "work": [1, 0, 1, 0]})
SECOND = pl.DataFrame({"id": [4, 3, 2, 5], "area": [None, "b", "a", "a"], "work": [0, 0, 0, 1]})
HOW: dict[str, Any] = {
    "id": "id",
    "secret": SECRET,
    "option": "changed",
    "watched": ["area", "work"],
}


def changed(frame: Any, period: str, **more: Any) -> Any:
    return dc.with_period_keys(frame, period=period, **{**HOW, **more})


def table(frame: pl.DataFrame) -> dict[int, tuple[int, str]]:
    return {
        row[0]: (row[1], row[2])
        for row in frame.select("id", "record_key", "record_key_since").rows()
    }


def test_who_changed_gets_a_new_key_and_nobody_else() -> None:
    """Unit 2 and 4 stay as they are (4 has no area in both), 3 leaves work, 5 is new."""
    old = table(changed(FIRST, "2025", first=True))
    new = table(changed(SECOND, "2026", previous=changed(FIRST, "2025", first=True)))
    assert {unit: since for unit, (_, since) in new.items()} == {
        4: "2025",
        3: "2026",
        2: "2025",
        5: "2026",
    }
    assert new[2] == old[2]
    assert new[4] == old[4]
    assert new[3][0] != old[3][0]


def test_who_returns_to_an_earlier_state_gets_no_earlier_key() -> None:
    one = changed(FIRST, "2025", first=True)
    two = changed(FIRST.with_columns(work=1 - pl.col("work")), "2026", previous=one)
    three = changed(FIRST, "2027", previous=two)
    keys = [set(each["record_key"].to_list()) for each in (one, two, three)]
    assert len(set.union(*keys)) == 3 * FIRST.height


def test_the_construction_is_as_written_down() -> None:
    """A key of identifier 7 worked out by hand: HKDF, one block of AES, the grid."""
    info = b"discreet record keys, version 1; grid 4096; id columns 1; since 2025"
    cipher = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(SECRET.encode())
    block = (1).to_bytes(4, "big") + b"7" + bytes(11)
    coded = Cipher(algorithms.AES(cipher), modes.ECB()).encryptor().update(block)
    frame = pl.DataFrame({"id": [7], "area": ["a"], "work": [0]})
    (key,) = changed(frame, "2025", first=True, grid=4096)["record_key"].to_list()
    assert key == int.from_bytes(coded, "big") * 4096 >> 128


def test_same_keys_are_those_of_record_keys_and_periods_have_their_own() -> None:
    plain = dc.with_record_keys(FIRST, id="id", secret=SECRET)
    same = dc.with_period_keys(FIRST, id="id", secret=SECRET, period="2025", option="same")
    assert same.equals(plain)
    years = [
        dc.with_period_keys(FIRST, id="id", secret=SECRET, period=year, option="period")
        for year in ("2025", "2026", "2025")
    ]
    assert years[0].equals(years[2])
    assert not set(years[0]["record_key"]) & set(years[1]["record_key"])
    assert not set(years[0]["record_key"]) & set(plain["record_key"])
    assert years[1]["record_key_since"].unique().to_list() == ["2026"]


def test_engines_and_orders_agree(engine: Any) -> None:
    frame = engine(SECOND)
    expected = changed(SECOND, "2026", previous=changed(FIRST, "2025", first=True)).sort("id")
    if isinstance(frame, duckdb.DuckDBPyRelation):
        with pytest.raises(DiscreetError, match="period keys are created in memory, but"):
            changed(frame, "2026", previous=changed(FIRST, "2025", first=True))
        return
    found = changed(frame, "2026", previous=engine(changed(FIRST, "2025", first=True)))
    assert type(found) is type(frame)
    assert (
        collected(found)
        .sort("id")
        .select("id", "record_key", "record_key_since")
        .equals(expected.select("id", "record_key", "record_key_since"))
    )


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=2, max_size=4),
    st.randoms(),
)
def test_a_key_holds_exactly_as_long_as_nothing_changes(
    years: list[list[int]], random: Any
) -> None:
    """For any history of six units, in any order of records, absent where the value is 0."""
    previous, history = None, []
    for at, values in enumerate([[1] * 6, *years]):
        rows = [(unit, value) for unit, value in enumerate(values) if value or unit == 0]
        random.shuffle(rows)
        frame = pl.DataFrame(rows, schema={"id": pl.Int64, "v": pl.Int64}, orient="row")
        how = {**HOW, "watched": "v"}
        previous = dc.with_period_keys(
            frame, period=str(at), previous=previous, first=not at, **how
        )
        history.append(dict(zip(previous["id"], previous["record_key"], strict=True)))
    for at, (was, now) in enumerate(zip([[1] * 6, *years], years, strict=False)):
        for unit in history[at + 1].keys() & history[at].keys():
            assert (history[at][unit] == history[at + 1][unit]) == (was[unit] == now[unit])


KEYED = changed(FIRST, "2025", first=True)
UNDATED = KEYED.with_columns(record_key_since=pl.lit(None, pl.String))
OTHER = "4 of 4 earlier keys come from another secret, grid or"


@for_all_rows(
    ("frame", "more", "message"),
    [
        (SECOND, {"previous": KEYED, "secret": SECRET[::-1]}, OTHER),
        (SECOND, {"previous": KEYED, "grid": 4096}, OTHER),
        (SECOND, {"previous": KEYED, "option": "period", "watched": ()}, OTHER),
        (SECOND, {"previous": KEYED, "id": ["id", "work"], "watched": "area"}, OTHER),
        (SECOND, {"previous": KEYED, "period": "2025"}, "previous holds keys of the same period"),
        (SECOND, {"previous": KEYED.drop("record_key_since")}, "previous holds keys of another"),
        (SECOND, {"previous": KEYED.drop("work")}, "missing"),
        (SECOND, {"previous": pl.concat([KEYED, KEYED])}, "records have a repeated identifier"),
        (pl.concat([SECOND, SECOND]), {"previous": KEYED}, "records have a repeated identifier"),
        (SECOND.clear(2).select(SECOND.columns), {"previous": KEYED}, "have no identifier"),
        (SECOND.cast({"work": pl.String}), {"previous": KEYED}, "the type changed from whole"),
        (SECOND.with_columns(id=pl.col("id") + 100), {"previous": KEYED}, "this period and the"),
        (KEYED, {"previous": KEYED}, "the column exists already"),
        (SECOND, {}, "give either previous= or first=True"),
        (SECOND, {"previous": KEYED, "first": True}, "give either previous= or first=True"),
        (SECOND, {"previous": KEYED, "watched": ()}, "watch is missing"),
        (SECOND, {"previous": KEYED, "period": " "}, "a period needs a name"),
        (SECOND, {"previous": KEYED, "option": "other"}, "unknown option"),
        (SECOND, {"option": "same"}, "watch does not apply to option"),
        (SECOND, {"previous": KEYED, "option": "same", "watched": ()}, OTHER),
        (SECOND, {"previous": UNDATED}, "units lack the first period of their key"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    frame: pl.DataFrame, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(DiscreetError, match=message) as error:
        changed(frame, more.pop("period", "2026"), **more)
    assert SECRET not in str(error.value)


def test_keys_of_both_periods_on_the_command_line(tmp_path: Path) -> None:
    Secret.of(SECRET).write(tmp_path / "secret.key")
    for name, frame in (("2025", FIRST), ("2026", SECOND)):
        frame.write_parquet(tmp_path / f"{name}.parquet")

    def program(period: str, out: str, *more: str | Path) -> int:
        line = f"keys period {tmp_path}/{period}.parquet --period {period} --out {tmp_path}/{out}"
        line += f" --id id --option changed --watch area,work --secret-file {tmp_path}/secret.key"
        return run(*line.split(), *more).exit_code

    assert program("2025", "old.parquet", "--first") == 0
    assert program("2026", "new.parquet") == 2
    assert not (tmp_path / "new.parquet").exists()
    assert program("2026", "new.parquet", "--previous", tmp_path / "old.parquet") == 0
    made = pl.read_parquet(tmp_path / "new.parquet")
    assert made.equals(changed(SECOND, "2026", previous=changed(FIRST, "2025", first=True)))
