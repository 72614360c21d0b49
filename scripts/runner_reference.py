"""Writes docs/reference/runner.md: what the runner of do-files knows."""

from __future__ import annotations

from pathlib import Path

from discreet_fire.runners.builtin.reference import markdown

if __name__ == "__main__":
    place = Path(__file__).parent.parent / "docs" / "reference" / "runner.md"
    place.write_text(markdown(), encoding="utf-8")
