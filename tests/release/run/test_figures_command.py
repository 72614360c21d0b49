"""Programmes of key figures on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from discreet.cli.commands import app


def test_protect_with_an_internal_report(figures: Path, tmp_path: Path) -> None:
    words = ["protect", str(figures), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*words, "--internal", str(tmp_path / "inside"), "--json"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert [table["name"] for table in summary["tables"]] == [
        "rents",
        "thinned",
        "weighted",
        "plain",
    ]
    assert summary["tables"][2]["figures"] == ["homes", "rent"]
    assert (tmp_path / "inside" / "quality-internal.json").is_file()


def test_check_says_that_figures_are_in_order(figures: Path) -> None:
    result = CliRunner().invoke(app, ["protect", str(figures), "--check"])
    assert result.exit_code == 0, result.output
    assert "in order: 4 tables" in result.output


def test_open_files_of_noise_are_warned_of(figures: Path) -> None:
    (figures.parent / "rent.csv").chmod(0o644)
    result = CliRunner().invoke(app, ["protect", str(figures), "--check"])
    assert "others on this computer can read the perturbation table" in result.output
    assert "rent.csv" in result.output
