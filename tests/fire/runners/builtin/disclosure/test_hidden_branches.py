"""What single values decide about: all that may have changed is marked, whether it ran or not."""

from __future__ import annotations

import pytest

from discreet_fire.runners.builtin.language.errors import DoError
from tests.helpers.run_data import Run

DATA = {"x": [1.0 + at * at for at in range(30)], "y": list(range(30))}


def shown(steps: str, after: str, *, chosen: bool = True, before: str = "") -> bool:
    """Whether a figure is shown after steps that one value decides about."""
    test = "x[3] > 0" if chosen else "x[3] < 0"
    run = Run(f"{before}\nif {test} {{\n{steps}\n}}\n{after}", DATA)
    assert "(withheld)" in run.text, "that it is so is withheld in any case"
    return run.text.count("(withheld)") == 1


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize(
    "steps",
    ["run other.do", "replace x = x + 1", "drop in 1", "keep if y > 3", "by y: replace x = 2",
     "local v \"x\"\nreplace `v' = 2", "safely"],
)  # fmt: skip
def test_figures_of_what_may_have_changed_are_withheld(steps: str, chosen: bool) -> None:
    """A do-file, a macro as a command, or a program of the do-file may change anything."""
    before = "program define safely\nreplace x = 5 in 1\nend" if steps == "safely" else ""
    assert not shown(steps, "summarize x", chosen=chosen, before=before)


@pytest.mark.parametrize("steps", ["local a 1", "scalar b = 2", "generate z = 1", "summarize y"])
def test_what_stays_as_it_was_is_shown(steps: str) -> None:
    assert shown(steps, "summarize x" if "generate" not in steps else "display 5")


def test_a_variable_that_is_replaced_is_not_the_others() -> None:
    assert shown("replace x = x + 1", "summarize y")
    assert not shown("replace x = x + 1", "summarize x")


@pytest.mark.parametrize("steps", ["exit", "do other.do", "capture exit 9"])
def test_what_would_stop_the_program_is_refused(steps: str) -> None:
    """Where it ends would tell the value."""
    for chosen in (True, False):
        with pytest.raises(DoError, match="text rests on values of the data"):
            shown(steps, "display 1", chosen=chosen)


def test_a_program_that_calls_itself_may_change_anything() -> None:
    program = "program define again\nagain\nend"
    assert not shown("again", "summarize x", chosen=False, before=program)
