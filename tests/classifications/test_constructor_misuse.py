"""What constructors of classifications are given by mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from discreet import Classification
from discreet.errors import ClassificationError

WRONG: dict[str, Callable[[Any], object]] = {
    "flat": lambda wrong: Classification.flat("v", wrong),
    "parents": lambda wrong: Classification.from_parents("v", wrong),
    "bounds": lambda wrong: Classification.from_intervals("v", wrong),
    "lengths": lambda wrong: Classification.from_prefixes("v", ["01"], wrong),
    "levels": lambda wrong: Classification.from_levels(wrong, ["v"]),
}


@pytest.mark.parametrize("constructor", WRONG)
@pytest.mark.parametrize("wrong", [None, 5, "12"])
def test_what_is_not_a_list_is_refused(constructor: str, wrong: Any) -> None:
    with pytest.raises(ClassificationError):
        WRONG[constructor](wrong)


def test_level_columns_of_mixed_types_are_not_shown() -> None:
    frame = pd.DataFrame({"state": [1, "very private"], "place": ["a", "b"]})
    with pytest.raises(ClassificationError) as refusal:
        Classification.from_levels(frame, ["state", "place"])
    assert "private" not in str(refusal.value)
    assert refusal.value.__suppress_context__
