"""The noise of a value column: what it may be, and what is never shown of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    FlexStrength,
    MagnitudeNoise,
    MagnitudePerturbationTable,
    SimpleStrength,
    design_magnitude_perturbation,
)
from discreet.errors import PerturbationError
from tests.helpers.rows import for_all_rows

TABLE = design_magnitude_perturbation(2, 1, classes=(1, 2), step=4)
SMALL = design_magnitude_perturbation(2, 1, classes=(1, 2), step=4, kind="small")
SIMPLE = SimpleStrength(share=0.1)


def noise(**changes: Any) -> MagnitudeNoise:
    return MagnitudeNoise(**({"table": TABLE, "strength": SIMPLE} | changes))


def test_everything_wrong_is_named_at_once():
    with pytest.raises(PerturbationError) as caught:
        noise(
            table="ptable.csv",
            strength=0.1,
            of="median",
            top=17,
            epsilon=(0.5,),
            mu_c=-1,
            same_key=1,
        )
    assert caught.value.code == "magnitude-noise"
    assert {problem.where for problem in caught.value.problems} == {
        *("table", "strength", "of", "same_key", "top", "epsilon", "mu_c")
    }


@for_all_rows(
    "epsilon", [(), (0.9,), (1, 1.5), (1, 0), (1, -0.5), "1", (1, "a"), (1, float("nan")), 1, None]
)
def test_weights_begin_with_one_and_do_not_rise(epsilon: object):
    with pytest.raises(PerturbationError, match="epsilon"):
        noise(top=2, epsilon=epsilon)


@for_all_rows("top", [0, 17, 1.5, True, "2", None, -1])
def test_contributions_are_few(top: object):
    with pytest.raises(PerturbationError, match="top"):
        noise(top=top)


def test_there_is_one_weight_for_each_contribution():
    with pytest.raises(PerturbationError, match="expected 3 numbers, one per contribution"):
        noise(top=3)


@pytest.mark.parametrize("of", ["mean", "range", "sum"])
def test_a_cell_has_one_mean_one_range_and_one_sum(of: str):
    assert noise(of=of).top == 1
    with pytest.raises(PerturbationError, match='this needs of = "top"'):
        noise(of=of, top=2, epsilon=(1, 0.5))


def test_numbers_of_other_libraries_are_numbers():
    made = noise(top=np.int32(2), epsilon=np.array([1.0, 0.5]), mu_c=np.float32(2))
    assert (made.top, made.weights, made.mu_c) == (2, (1.0, 0.5), 2.0)


@pytest.mark.parametrize("kind", ["small", "even", "odd"])
def test_ordinary_cells_need_a_part(kind: Any):
    table = design_magnitude_perturbation(2, 1, classes=(1, 2), step=4, kind=kind)
    with pytest.raises(PerturbationError, match="no rows for ordinary cells"):
        noise(table=table)


def test_separation_is_where_ordinary_noise_has_the_variance_of_small_cells():
    """sd of small cells = share · sqrt(Σ ε²) · separation."""
    table = MagnitudePerturbationTable.joined(TABLE, SMALL)
    made = noise(table=table, top=2, epsilon=(1, 0.5))
    matrix, targets = SMALL.transition_matrix(2), SMALL.targets()
    fixed = float(np.sqrt((matrix * (targets - 2) ** 2).sum()))
    assert made.separation == pytest.approx(fixed / (0.1 * np.sqrt(1.25)))
    assert noise().separation == 0


def test_digest_covers_every_parameter():
    flex = FlexStrength(point=100, small=0.2, large=0.1, exponent=2)
    made = [
        noise(),
        noise(table=MagnitudePerturbationTable.joined(TABLE, SMALL)),
        noise(strength=SimpleStrength(share=0.2)),
        noise(strength=flex),
        noise(of="mean"),
        noise(top=2, epsilon=(1, 0.5)),
        noise(top=2, epsilon=(1, 0.25)),
        noise(keys="shared"),
        noise(keys="shared", same_key=True),
        noise(period="2025"),
        noise(period="2026"),
        noise(zeros_in_key=True),
        noise(mu_c=1),
        noise(top=2, epsilon=(1, 0.5), mu_c=1),
        noise(top=2, epsilon=(1, 0.5), mu_c=1, mu_c_for="all"),
        noise(of="range"),
        noise(of="range", range_floor=0.25),
    ]
    assert len({one.digest(b"key") for one in made}) == len(made)
    assert noise().digest(b"key") == noise(epsilon=[1]).digest(b"key")
    assert noise().digest(b"key") != noise().digest(b"other")


def test_tables_of_the_argus_family_are_used_closed_on_the_right(reference: Path):
    """Their example: three contributions, flex function, a file for small cells of its own."""
    folder = reference / "argus" / "ckm" / "Magnitude"
    every = MagnitudePerturbationTable.read(folder / "ptab_savings_all.txt")
    small = MagnitudePerturbationTable.read(folder / "ptab_savings_smallcells.txt", kind="small")
    made = MagnitudeNoise(
        table=MagnitudePerturbationTable.joined(every, small),
        strength=FlexStrength(point=1000, small=0.3, large=0.03, exponent=3),
        top=3,
        epsilon=(1, 0.5, 0.2),
        zeros_in_key=False,
    )
    assert made.separation == pytest.approx(np.sqrt(2) / (0.3 * np.sqrt(1.29)), rel=1e-6)
    bound = np.array([240_066_140_000_000])  # upper bound of class 1's first interval
    one = np.array([1])
    assert every.lookup(one, bound)[0] == -2
    assert every.lookup(one, bound + 1)[0] == -1
