"""The strength of noise: flex function and constant share."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import FlexStrength, SimpleStrength
from discreet.errors import PerturbationError
from tests.helpers.rows import for_all_rows


def test_flex_function_is_that_of_the_reference(reference: Path):
    with gzip.open(reference / "cellkey" / "C_flex_function.json.gz") as stream:
        cases = json.load(stream)
    compared = 0
    for case in cases:
        if case["x"] < case["fp"]:  # the bare formula; contributions so small use the share
            continue
        strength = FlexStrength(
            point=case["fp"], small=case["p_small"], large=case["p_large"], exponent=case["q"]
        )
        made = strength.multipliers(np.array([float(case["x"])]))
        assert made[0] == pytest.approx(case["m"], abs=1e-12)
        compared += 1
    assert compared == 189


flex = st.builds(
    lambda point, small, share, exponent: FlexStrength(
        point=point, small=small, large=small * share, exponent=exponent
    ),
    st.floats(1, 1e6),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
    st.integers(2, 6),
)


@given(flex)
def test_flex_is_continuous_at_its_point_and_ends_at_the_large_share(strength: FlexStrength):
    sizes = np.array([strength.point * (1 - 1e-12), strength.point, strength.point * 1e12])
    below, at, far = strength.multipliers(sizes)
    assert below == strength.small
    assert at == pytest.approx(strength.small, rel=1e-9)
    assert far == pytest.approx(strength.large, rel=1e-6)


@given(flex, st.floats(0, 1e9))
def test_the_sign_of_a_contribution_does_not_matter(strength: FlexStrength, size: float):
    assert strength.multipliers(np.array([-size])) == strength.multipliers(np.array([size]))


def test_everything_wrong_is_named_at_once():
    with pytest.raises(PerturbationError) as caught:
        FlexStrength(point=0, small=1.5, large=float("nan"), exponent=2.5)  # type: ignore[arg-type]
    assert caught.value.code == "magnitude-noise"
    assert [problem.where for problem in caught.value.problems] == [
        "point",
        "small",
        "large",
        "exponent",
    ]


@for_all_rows("share", [0, -0.1, 2, True, "0.1", None, float("inf")])
def test_a_share_is_a_number_up_to_one(share: object):
    with pytest.raises(PerturbationError, match="share"):
        SimpleStrength(share=share)  # type: ignore[arg-type]


def test_large_contributions_never_get_the_larger_share():
    with pytest.raises(
        PerturbationError, match="the share for large contributions exceeds that for small ones"
    ):
        FlexStrength(point=100, small=0.03, large=0.2, exponent=2)
