"""Formulas mean the models that they mean elsewhere."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.research_session.session_data import read_formula
from tests.helpers.rows import for_all_rows


def _data() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    n = 600
    frame = pd.DataFrame(
        {
            "x": draw.normal(size=n),
            "z": draw.normal(size=n),
            "g": draw.integers(1, 4, n),
            "h": draw.integers(0, 2, n),
            "t": draw.choice(["a", "b", "c"], n),
        }
    )
    frame["y"] = frame.x + 0.5 * frame.g + draw.normal(size=n)
    frame["two"] = (frame.y > 1).astype(int)
    return frame


@for_all_rows(
    "right",
    [
        "x + z",
        "x*C(g)",
        "t + x:z",
        "C(g)*C(h) + x",
        "x:C(g)",
        "x + x:t",
        "C(g):C(h)",
        "x*z*C(h)",
        "x + z - 1",
        "0 + x",
        "x + x + 1",
        "x:C(g)*z",
        "1",
    ],
)
def test_the_same_model_as_elsewhere(right: str) -> None:
    frame = _data()
    known = smf.ols(f"y ~ {right}", frame).fit()
    fit = fire.session("P", data=frame)
    shown = fit.ols(f"y ~ {right}")
    stored = fit._tables.entries[
        1
    ].result.result.stored  # the model as such, whatever its base levels
    assert shown.frame is not None
    assert stored["rss"] == pytest.approx(known.ssr, rel=1e-5)
    assert stored["df_r"] == known.df_resid


@for_all_rows(
    "wrong",
    [
        "y",
        "y ~",
        "~ x",
        "y ~ x +",
        "y ~ x ** 2",
        "y ~ np.where(x)",
        "y ~ x - z",
        "y ~ C(g) - 1",
        "y ~ x:x",
        "y ~ x:",
        "y ~ x z",
        "y ~ 2",
        "y ~ `x`",
        "sin(y) ~ x",
        "y ~ " + "x + " * 300 + "x",
    ],
)
def test_what_cannot_be_said_is_an_error(wrong: str) -> None:
    with pytest.raises(OutputCheckError, match="formula"):
        read_formula(wrong)
