"""``discreet fire quality``: from new folder to answers, and wrong input."""

import json

import polars as pl
import pytest

from tests.helpers.command import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"pid": range(400)}).with_columns(
        x=pl.col("pid") * 37 % 101, g=pl.Series(["a", "b"] * 200)
    )
    frame.write_parquet("panel.parquet")
    return tmp_path


def call(text: str) -> tuple[int, str]:
    done = run("fire", "quality", *text.split())
    return done.exit_code, done.output


ASK = (
    "ask count --desk desk --original panel.parquet --protected copy.parquet "
    "--data panel --researcher Weber"
)
PROTECT = "protect panel.parquet --out copy.parquet --desk desk --id pid --numeric x"


def test_from_folder_to_answer(folder) -> None:
    assert call("init desk --answer 1 --each 2 --everyone 2")[0] == 0
    assert call(f"{PROTECT} --categorical g")[0] == 0
    assert (folder / "copy.parquet").stat().st_mode & 0o077 == 0
    code, shown = call(f"{ASK} --json where=x>50")
    assert code == 0
    first = json.loads(shown)
    assert first["left"] == 1
    again = json.loads(call(f"{ASK} --json where=50<x")[1])
    assert [again[key] for key in ("quality", "chance", "left")] == [
        first[key] for key in ("quality", "chance", "left")
    ]
    assert again["result"]["stored"] == first["result"]["stored"]
    code, shown = call(ASK.replace("count", "correlate names=pid,x"))
    assert code == 0
    assert "a noisy class" in shown
    assert "answers left: 0" in shown
    code, shown = call(ASK)
    assert code != 0
    assert "budget of the researcher is used up" in shown
    code, shown = call("usage --desk desk --data panel --researcher Weber")
    assert (code, shown) == (0, "Weber had 2 answers on panel; 0 are left.\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("init desk --answer 3 --each 2", "one answer costs no more"),
        ("init desk --answer nan", "epsilon is a number"),
        ("init panel.parquet", "the folder cannot be created"),
        (f"{PROTECT} --categorical g", "secret file cannot be read"),
        ("usage --desk desk --data panel --researcher Weber", "ledger not found"),
    ],
)
def test_wrong_input_is_told(folder, text: str, told: str) -> None:
    code, shown = call(text)
    assert code != 0
    assert told in " ".join(shown.split())
    assert not (folder / "copy.parquet").exists()


def test_columns_and_files_are_checked_before_anything_is_written(folder) -> None:
    assert call("init desk")[0] == 0
    code, shown = call(PROTECT)
    assert code != 0
    assert "nothing is said about the column" in shown
    code, shown = call(PROTECT.replace("copy.parquet", "copy.csv") + " --categorical g")
    assert code == 2
    code, shown = call(f"{PROTECT.replace('copy.parquet', 'panel.parquet')} --categorical g")
    assert code == 2
    assert [one.name for one in folder.iterdir() if "copy" in one.name] == []


def test_originals_are_read_as_is_said(folder) -> None:
    assert call("init desk --answer 1 --each 2 --everyone 2")[0] == 0
    assert call(f"{PROTECT} --categorical g")[0] == 0
    lines = [f"{pid};{x},0; {g}" for pid, x, g in pl.read_parquet("panel.parquet").rows()]
    (folder / "panel.csv").write_text("\n".join(["pid;x;g", *lines]), encoding="latin-1")
    other = f"{PROTECT} --categorical g".replace("panel.parquet", "panel.csv")
    assert call(other.replace("copy.", "other."))[0] != 0
    assert call(other.replace("copy.", "other.") + " --read auto")[0] == 0
    assert pl.read_parquet("other.parquet")["g"].equals(pl.read_parquet("copy.parquet")["g"])
    ask = ASK.replace("panel.parquet", "panel.csv").replace("copy.", "other.")
    assert call(f"{ask} --read auto --json")[0] == 0
