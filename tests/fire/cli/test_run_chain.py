"""From a researcher's do-file to a cleaned log: rewritten, run and cleaned by three commands."""

from pathlib import Path

import polars as pl
import pytest

from tests.helpers.command import fire
from tests.helpers.places import ROOT
from tests.helpers.run_panel import FORTY_STATEMENTS, panel


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    from discreet_fire.runners.builtin.data import DataSet, dta_bytes

    place = tmp_path_factory.mktemp("chain")
    (place / "secure").mkdir()
    (place / "secure" / "panel.dta").write_bytes(dta_bytes(DataSet.of(panel())))
    (place / "wages.do").write_text(FORTY_STATEMENTS)
    data = place / "secure" / "panel.dta"
    fire("pre", place / "wages.do")
    fire("run", place / "wages_FiRe.do", "--data", data, "--entity", "pid")
    fire("post", place / "wages_FiRe.log")
    return place


def test_nothing_of_single_persons_is_in_any_log(folder) -> None:
    ordered = [f"{wage:.2f}" for wage in panel()["wage"].sort()]
    ends = {*ordered[:9], *ordered[-9:]}  # percentiles well inside may be shown
    for name in ("wages_FiRe.log", "wages_FiRe_clean.log"):
        if (folder / name).exists():
            text = (folder / name).read_text()
            assert not ends & set(text.replace(",", "").split())


def test_the_cleaned_log_keeps_safe_figures(folder) -> None:
    cleaned = list(folder.glob("*_FiRe_clean.log"))
    assert len(cleaned) == 1
    text = cleaned[0].read_text()
    mean = panel()["wage"].mean()
    assert f"{mean:.7g}" in text
    assert "list" not in text
    assert "scatter" not in text


def shown_lines(log: Path) -> list[str]:
    """What a log shows, less commands, and less what the rewritten xtset no longer prints."""
    return [
        line
        for line in log.read_text().splitlines()
        if line[:2] not in (". ", "> ")
        and "*FDZ" not in line
        and line != "(withheld)"
        and not line.lstrip().startswith(("Panel variable:", "Time variable:", "Delta:"))
    ]


def test_the_rewritten_program_gives_the_same_as_the_original(folder) -> None:
    data = folder / "secure" / "panel.dta"
    out = folder / "plain"
    fire("run", folder / "wages.do", "--data", data, "--entity", "pid", "--out", out)
    plain, safe = shown_lines(out / "wages.log"), shown_lines(folder / "wages_FiRe.log")
    assert plain[2:] == safe[2:]
    assert len(safe) > 100


def test_the_commands_of_the_readme_end_well_in_an_empty_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    program = next(line.split("'")[1] for line in lines if line.startswith("printf "))
    Path("analysis.do").write_text(program.replace("\\n", "\n"))
    Path("demo-output/census").mkdir(parents=True)
    columns = {"age": [at % 90 for at in range(600)], "sex": ["m", "w"] * 300}
    pl.DataFrame(columns).write_parquet("demo-output/census/persons.parquet")
    commands = [line.split()[2:] for line in lines if line.startswith("discreet fire ")]
    assert [words[0] for words in commands] == ["pre", "run", "post"]
    told = [fire(*words) for words in commands]
    assert "0 to review, 0 errors" in told[0]
    assert "outputs, 0 withheld because of broken rules" in told[1]
    assert "analysis_FiRe_clean.log: 0 changes" in told[2]
    assert not any(" review " in text for text in told)
