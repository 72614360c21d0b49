"""The page on what the runner knows is what the runner knows."""

from __future__ import annotations

from discreet_fire.runners.builtin.reference import markdown
from discreet_fire.runners.builtin.registry import commands
from tests.helpers.places import ROOT

PAGE = ROOT / "docs" / "reference" / "runner.md"


def test_the_page_is_that_of_the_program() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == markdown(), "run scripts/runner_reference.py"


def test_there_are_at_least_sixty_commands() -> None:
    assert len([one for one in commands() if one.facts.section != "refused"]) >= 60
