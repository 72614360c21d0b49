"""The reference page of the small Stata is written from the program."""

from __future__ import annotations

import runpy

from tests.helpers.places import ROOT


def test_the_page_is_what_the_program_says() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "runner_reference.py"))["markdown"]()
    assert (ROOT / "docs" / "reference" / "runner.md").read_text("utf-8") == written
