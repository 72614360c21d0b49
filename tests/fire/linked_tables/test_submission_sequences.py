"""Sequences of submissions: what is released tells a reader of all logs of no small group."""

from pathlib import Path

import pytest

from tests.helpers.submission_sequences import play

#: Sequences in which several tables together tell of small groups.
_TELLING = (5, 27)


@pytest.mark.parametrize("seed", _TELLING)
def test_what_is_not_flagged_tells_of_no_small_group(tmp_path: Path, seed: int) -> None:
    outcome = play(seed, tmp_path, 3)
    assert outcome.opened == 0
    assert outcome.caught == outcome.harmful > 0


@pytest.mark.exhaustive
def test_many_sequences_leave_nothing_open_and_flag_little_without_harm(
    tmp_path: Path,
) -> None:
    outcomes = [play(seed, tmp_path / str(seed)) for seed in range(10)]

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in outcomes)

    assert total("opened") == 0, [one.said for one in outcomes if one.opened]
    assert total("targets") > 2_000
    assert total("caught") == total("harmful") > 1
    assert total("flagged") < 0.15 * total("harmless")
