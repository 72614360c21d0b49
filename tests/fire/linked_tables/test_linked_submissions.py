"""Tables of several submissions: what one withholds, another may tell."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.queue import Queue, Submission, approve, reject, release, submit, verify, view
from tests.helpers.queue_parts import new_queue, version
from tests.helpers.run_panel import counties

FINE, COARSE = "tabulate cty sex\n", "tabulate region sex\n"
FOLLOWS = (
    "submission 1, line 8, tabulate cty sex: cty = 9, sex = 1 follows from line 8, tabulate region "
    "sex: region = E, sex = 1, less cty = 1, 3, 4 of the same table"
)


def records(years: int = 1) -> pl.DataFrame:
    return counties().with_row_index("pid").with_columns(pid=pl.col("pid") // years)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path, minimum=3)


def hand(queue: Queue, place: Path, text: str, frame: pl.DataFrame, **more: object) -> int:
    place.mkdir(exist_ok=True)
    frame.write_csv(place / "d.csv")
    (place / "a.do").write_text(text)
    words: dict[str, Any] = {"researcher": "Weber", "data": (place / "d.csv",), "unit": "pid"}
    words |= more
    return submit(queue, Submission(program=place / "a.do", **words))


def told(queue: Queue, number: int, rule: str = "linked-tables") -> list[str]:
    return [one.what for one in view(queue, number).findings if one.rule == rule]


def sign(queue: Queue, number: int, **more: Any) -> None:
    words: dict[str, Any] = {"reason": "the submission changed since your last view"}
    for person in ("Anna", "Ben"):
        if not view(queue, number).row.standing.approvals.get(person):
            now = version(queue, number)
            approve(queue, number, person=person, version=now, **words, **more)


def test_the_split_example_is_found_over_two_submissions(queue: Queue, tmp_path: Path) -> None:
    first = hand(queue, tmp_path / "1", FINE, records())
    second = hand(queue, tmp_path / "2", COARSE, records())
    assert not told(queue, first)
    assert told(queue, second)[0] == FOLLOWS
    assert not told(queue, second, "linked-tables-left")


def test_other_extracts_of_the_same_people_are_one_problem(queue: Queue, tmp_path: Path) -> None:
    hand(queue, tmp_path / "1", FINE, records().drop("region"))
    shuffled = records().drop("cty").sample(fraction=1, shuffle=True, seed=1)
    assert told(queue, hand(queue, tmp_path / "2", COARSE, shuffled))[0] == FOLLOWS


def test_records_of_the_same_people_are_known_by_their_places(queue: Queue, tmp_path: Path) -> None:
    hand(queue, tmp_path / "1", FINE, records(years=2))
    found = told(queue, hand(queue, tmp_path / "2", COARSE, records(years=2)))
    assert any(one.startswith("submission 1, line 8, tabulate cty sex: cty = 9") for one in found)


def test_other_people_are_no_matter(queue: Queue, tmp_path: Path) -> None:
    hand(queue, tmp_path / "1", FINE, records())
    others = records().with_columns(pid=pl.col("pid") + 10_000)
    assert not told(queue, hand(queue, tmp_path / "2", COARSE, others))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_part_is_held_against_the_whole_less_the_other_part(
    queue: Queue, tmp_path: Path, order: tuple[int, ...]
) -> None:
    """The last two have no record in common; both have some in common with the first."""
    codes = np.repeat([0, 1, 4, 5], [20, 12, 16, 2])  # values of few become (other), with 1
    frame = pl.DataFrame({"fine": np.tile(codes, 2), "half": np.repeat([0, 1], 50)})
    frame = frame.with_columns(coarse=pl.col("fine") // 2).with_row_index("pid")
    texts = [
        f"tabulate {name}\n" for name in ("coarse", "coarse if half == 0", "fine if half == 1")
    ]
    numbers = [hand(queue, tmp_path / str(at), texts[at], frame) for at in order]
    assert [len(told(queue, one, "difference")) for one in numbers] == [0, 0, 1]


def test_what_is_rejected_tells_nothing(queue: Queue, tmp_path: Path) -> None:
    first = hand(queue, tmp_path / "1", FINE, records())
    reject(queue, first, person="Anna", reason="no", version=version(queue, first))
    assert not told(queue, hand(queue, tmp_path / "2", COARSE, records()))


def test_what_is_released_counts_and_is_known_at_the_approval(queue: Queue, tmp_path: Path) -> None:
    first = hand(queue, tmp_path / "1", FINE, records())
    second = hand(queue, tmp_path / "2", COARSE, records())
    sign(queue, second)
    release(queue, second, person="Anna", reason="done", version=version(queue, second))
    (conflict,) = {one for one in view(queue, first).conflicts if FOLLOWS in one}
    assert conflict == f"released as 2, with this one: {FOLLOWS}"
    with pytest.raises(OutputCheckError, match="released as 2"):
        sign(queue, first)
    third = hand(queue, tmp_path / "3", FINE.replace("\n", ", row\n"), records())
    assert any("submission 2, line 8, tabulate region sex" in one for one in told(queue, third))


def test_what_cannot_be_followed_is_said_of_both(queue: Queue, tmp_path: Path) -> None:
    text = f"{FINE}codebook cty\n"
    hand(queue, tmp_path / "1", text, records())
    second = hand(queue, tmp_path / "2", "tabulate sex\n", records())
    (left,) = told(queue, second, "linked-tables-left")
    assert left == "not compared with tables of other submissions: submission 1, line 10, codebook"


def test_changed_tables_are_told(queue: Queue, tmp_path: Path) -> None:
    number = hand(queue, tmp_path / "1", FINE, records())
    assert verify(queue) == []
    path = queue.store(queue.told(number, "token")) / "tables.npz"
    assert b"sex" not in path.name.encode()
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    path.write_bytes(b"other")
    assert any("its table data changed" in one for one in verify(queue))


def test_a_session_is_held_against_programs(queue: Queue, tmp_path: Path) -> None:
    hand(queue, tmp_path / "1", FINE, records())
    session = fire.session("P1", data=records(), entity="pid")
    session.crosstab("region", "sex")
    folder = session.finalise(tmp_path / "handed")
    words: dict[str, Any] = {"researcher": "Weber", "unit": "pid", "project": "P1"}
    second = submit(queue, Submission(program=folder, data=(tmp_path / "1" / "d.csv",), **words))
    found = told(queue, second)
    assert found[0].startswith("submission 1, line 8, tabulate cty sex: cty = 9, sex = 1 follows")
    assert not told(queue, second, "linked-tables-left")


def test_what_stopped_is_no_witness_until_it_is_released(queue: Queue, tmp_path: Path) -> None:
    first = hand(queue, tmp_path / "1", f"{FINE}not a command\n", records())
    assert "the run stopped" in " ".join(told(queue, first, "unsupported"))
    second = hand(queue, tmp_path / "2", COARSE, records())
    assert not told(queue, second)
    sign(queue, second)
    release(queue, second, person="Anna", reason="done", version=version(queue, second))
    assert any("cty = 9, sex = 1 follows from submission 2" in one for one in _conflicts(queue, 1))
    with pytest.raises(OutputCheckError, match="released as 2"):
        sign(queue, first)


def test_what_a_waiting_one_gives_away_is_no_excuse_for_another(
    queue: Queue, tmp_path: Path
) -> None:
    first = hand(queue, tmp_path / "1", FINE, records())
    second = hand(queue, tmp_path / "2", COARSE, records())
    third = hand(queue, tmp_path / "3", f"count\n{COARSE}", records())
    assert told(queue, second)  # it waits, and the third gives away no more than both
    sign(queue, first)
    release(queue, first, person="Anna", reason="done", version=version(queue, first))
    with pytest.raises(OutputCheckError, match="released as 1"):
        sign(queue, third)


def _conflicts(queue: Queue, number: int) -> tuple[str, ...]:
    return tuple(view(queue, number).conflicts)
