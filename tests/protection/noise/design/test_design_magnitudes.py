"""Perturbation tables for magnitudes: parts, files, lookup, what is refused."""

import stat
from pathlib import Path

import numpy as np
import pytest

from discreet import MagnitudePerturbationTable, design_magnitude_perturbation
from discreet.errors import PerturbationError
from tests.helpers.rows import for_all_rows

HEAD = '"i","j","p","v","p_int_lb","p_int_ub","type"\n'
ROWS = "0,0,1,0,0,1,all\n1,0.5,0.5,-0.5,0,0.5,all\n1,1.5,0.5,0.5,0.5,1,all\n"


@pytest.fixture
def parity() -> MagnitudePerturbationTable:
    """Even, odd and small cells, each with a step of its own."""
    even = design_magnitude_perturbation(4, 1, classes=(1, 4), step=2, kind="even")
    odd = design_magnitude_perturbation(5, 2, classes=(1, 5), step=3, kind="odd")
    small = design_magnitude_perturbation(2, 0.5, classes=(1, 2), step=5, kind="small")
    return MagnitudePerturbationTable.joined(even, odd, small)


def test_parts_keep_their_own_step_and_classes(parity: MagnitudePerturbationTable) -> None:
    assert parity.kinds == ("even", "odd", "small")
    assert [parity.step(kind) for kind in ("even", "odd", "small")] == [2, 3, 5]
    assert parity.classes("odd") == (0, 1, 5)
    assert parity.max_noise("odd") == 5


def test_noise_has_zero_mean_and_never_changes_the_sign(
    parity: MagnitudePerturbationTable,
) -> None:
    for part in parity.parts:
        content = part.content
        for size_class, (_, upper, noise) in zip(part.classes, content.rows(), strict=True):
            widths = np.diff([0, *upper]).tolist()
            assert sum(v * width for v, width in zip(noise, widths, strict=True)) == 0
            assert min(noise) >= -size_class * part.step


def test_interval_lists_are_read_back_without_loss(
    parity: MagnitudePerturbationTable, tmp_path: Path
) -> None:
    path = parity.write(tmp_path / "table.csv")
    assert MagnitudePerturbationTable.read(path) == parity
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_argus_texts_are_read_back_without_loss(
    parity: MagnitudePerturbationTable, tmp_path: Path
) -> None:
    right = parity.with_closed("right")
    with pytest.raises(PerturbationError, match="intervals of the table and of"):
        parity.write(tmp_path / "table.txt")
    with pytest.raises(PerturbationError, match="τ-ARGUS needs a separate file for small cells"):
        right.write(tmp_path / "table.txt")
    main = MagnitudePerturbationTable.joined(right.part("even"), right.part("odd"))
    assert MagnitudePerturbationTable.read(main.write(tmp_path / "main.txt")) == main
    small = right.part("small").write(tmp_path / "small.txt")
    assert MagnitudePerturbationTable.read(small, kind="small") == right.part("small")
    assert right.with_closed("left") == parity


def test_noise_is_looked_up_in_steps() -> None:
    table = design_magnitude_perturbation(1, 0.25, classes=(1,), step=2)
    keys = [0, 10**15 // 2, 10**15 - 1]
    assert table.lookup([1, 1, 1], keys).tolist() == [-2, 0, 2]
    assert table.lookup([0], [7]).tolist() == [0]
    with pytest.raises(PerturbationError, match="1 cell is in size classes without a row"):
        table.lookup([1, 3], [0, 0])


def test_drawn_noise_has_the_designed_moments() -> None:
    # 200,000 keys: the standard error of the mean is 0.0039, so 0.02 is five of them.
    table = design_magnitude_perturbation(10, 3, step=2)
    keys = np.random.default_rng(7).integers(0, 10**15, 200_000)
    noise = table.lookup(np.full(len(keys), 10), keys) / 2
    assert abs(noise.mean()) < 0.02
    assert noise.var() == pytest.approx(3, abs=0.06)


def test_equality_and_digest_follow_the_content(parity: MagnitudePerturbationTable) -> None:
    same = MagnitudePerturbationTable(tuple(reversed(parity.parts)), "other name")
    assert same == parity
    assert hash(same) == hash(parity)
    assert same.digest(b"key") == parity.digest(b"key")
    assert parity.part("odd") != parity.part("even")
    assert parity != 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0,1,0,0,1,all\n1,1,1,0,0,0.9,all\n", "contradict|do not sum to one"),
        (
            "0,0,1,0,0,1,all\n1,0,0.5,-1,0,0.5,all\n1,2,0.4,1,0.6,1,all\n",
            "a gap precedes the interval",
        ),
        ("0,0,1,0,0,1,all\n1,0,0.5,-1,0,0.5,all\n1,2,0.6,1,0.4,1,all\n", "overlaps another"),
        ("0,0,1,0,0,1,all\n1,-1,0.5,-2,0,0.5,all\n1,3,0.5,2,0.5,1,all\n", "change the sign"),
        ("0,0,1,0,0,1,all\n1,3,1,0,0,1,all\n", "differs from the stated target"),
        ("1,1,1,0,0,1,all\n", "needs a row for class 0"),
        ("0,0,1,0,0,1,most\n", "the type is unknown"),
        ("0,0,x,0,0,1,all\n", "a column lacks numbers"),
        ("0,0,1,0,0,1\n", "another number of columns"),
        (ROWS + ROWS.replace("all", "even"), "part 'all' excludes parts 'even' and 'odd'"),
        ("", "no rows"),
    ],
)
def test_files_with_mistakes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(HEAD + text)
    with pytest.raises(PerturbationError, match=message):
        MagnitudePerturbationTable.read(path)


def test_a_table_for_counts_is_refused(reference: Path) -> None:
    with pytest.raises(PerturbationError, match="columns not found: type"):
        MagnitudePerturbationTable.read(reference / "argus/ckm/Magnitude/ptab_freq.txt")


@for_all_rows(
    ("options", "message"),
    [
        ({"step": 0}, "the step must be a whole number from 1 to 100"),
        ({"step": 0.5}, "the step must be a whole number from 1 to 100"),
        ({"classes": ()}, "ascending whole numbers"),
        ({"classes": (5, 1)}, "ascending whole numbers"),
        ({"classes": (0, 1)}, "ascending whole numbers"),
        ({"kind": "most"}, "unknown kind 'most' of perturbation table for magnitudes"),
        ({"small_cells": 3}, "small cells need two numbers"),
        ({"relax": "unimodality", "classes": (1,), "variance": 50}, r"variance of more than 10\n"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], message: str) -> None:
    options = {"max_noise": 10, "variance": 3, **options}
    with pytest.raises(PerturbationError, match=message):
        design_magnitude_perturbation(**options)  # type: ignore[arg-type]


def test_a_part_is_named_where_there_are_several(parity: MagnitudePerturbationTable) -> None:
    with pytest.raises(PerturbationError, match="several parts: name one"):
        parity.transition_matrix()
    with pytest.raises(PerturbationError, match="no part 'all'"):
        parity.transition_matrix(kind="all")
    with pytest.raises(PerturbationError, match="size class 3 not found"):
        parity.transition_matrix(3, "even")
    with pytest.raises(PerturbationError, match="part 'odd' occurs twice"):
        MagnitudePerturbationTable.joined(parity, parity.part("odd"))
