"""The page on what the runner knows is what the runner knows."""

from __future__ import annotations

import runpy

from discreet_fire.runners.builtin.registry import commands
from tests.helpers.places import ROOT

PAGE = ROOT / "docs" / "reference" / "runner.md"


def test_the_page_is_that_of_the_program() -> None:
    markdown = runpy.run_path(str(ROOT / "scripts" / "runner_reference.py"))["markdown"]
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run scripts/runner_reference.py"


def test_there_are_at_least_sixty_commands() -> None:
    assert len([one for one in commands() if one.facts.section != "refused"]) >= 60
