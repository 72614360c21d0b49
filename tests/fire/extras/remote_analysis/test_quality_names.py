"""Remote analysis: other names, other spellings and failing questions are no new budget."""

import hashlib
from pathlib import Path

import polars as pl
import pytest

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.extras.remote_analysis import Budget, BudgetLedger, QualityClass, RemoteAnalysis

FRAME = pl.DataFrame(
    {"pid": range(300), "x": [n * 37 % 101 for n in range(300)], "g": ["a", "b", "c"] * 100}
)
WEBER = [
    "weber",
    "WEBER",
    "W\N{CYRILLIC SMALL LETTER IE}ber",
    "We\N{FULLWIDTH LATIN SMALL LETTER B}er",
]


def desk(ledger: BudgetLedger, data: str = "panel", frame: pl.DataFrame = FRAME) -> RemoteAnalysis:
    return RemoteAnalysis(frame, FRAME, secret=b"salt of our tests", ledger=ledger, data=data)


def new_ledger(folder: Path, **budget: float) -> BudgetLedger:
    return BudgetLedger.create(folder / "b", Budget(**{"answer": 1, "each": 3, **budget}))


@pytest.mark.parametrize("name", WEBER)
def test_another_spelling_of_a_researcher_is_no_new_budget(tmp_path: Path, name: str) -> None:
    ledger = new_ledger(tmp_path)
    assert desk(ledger).ask("Weber", "count").left == 2
    assert desk(ledger).ask(name, "count").left == 2
    assert ledger.usage("panel", name).answers == 1


def test_another_spelling_or_name_of_the_data_is_no_new_budget(tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path)
    desk(ledger).ask("Weber", "count")
    assert desk(ledger, "Panel").ask("Weber", "count", where="x > 5").left == 1
    with pytest.raises(OutputCheckError, match="known by another name") as caught:
        desk(ledger, "panel of 2024").ask("Weber", "count", where="x > 7")
    assert caught.value.code == "data-name"
    changed = FRAME.with_columns(x=pl.col("x") + 1)  # other records may have another name
    assert desk(ledger, "panel of 2024", changed).ask("Weber", "count").left == 2


def test_the_noise_of_a_question_does_not_hang_on_names(tmp_path: Path) -> None:
    """Who could choose names would draw again and again, and take the most frequent class."""
    told = set()
    for at in range(6):
        ledger = BudgetLedger.create(tmp_path / f"b{at}", Budget())
        told.add(desk(ledger, f"panel {at}").ask(f"Weber {at}", "count", where="x > 50").quality)
    assert len(told) == 1
    asked = {
        desk(ledger, "panel 5").ask(f"R {at}", "count", where=f"x > {at}").quality
        for at in range(12)
    }
    assert len(asked) > 1  # other questions have other noise


def test_what_may_not_be_shown_is_charged(tmp_path: Path) -> None:
    """Whether one record of the copy passes a filter is told by a refusal, once for an answer."""
    ledger = new_ledger(tmp_path)
    low, high, codes = 0, 128, []
    while "budget" not in codes:
        middle = (low + high) // 2
        try:
            desk(ledger).ask("Weber", "count", where=f"pid == 7 and x >= {middle}")
            high = middle
        except OutputCheckError as error:
            codes.append(error.code)
            low = middle
    assert codes == ["nothing-shown", "nothing-shown", "budget"]
    assert ledger.usage("panel", "Weber").answers == 3  # three bits, not all seven
    with pytest.raises(OutputCheckError, match="nothing to compare"):
        desk(ledger).ask("weber", "count", where="x >= 32 and pid == 7")  # once paid, for ever
    assert ledger.usage("panel", "Weber").answers == 3


def test_errors_that_hang_on_values_are_charged_and_slips_are_not(tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path)
    slips = [
        {"command": "summarize", "names": "nothing"},
        {"command": "summarize", "names": "x", "where": "nothing > 1"},
        {"command": "regress", "outcome": "x", "terms": "i.nothing"},
        {"command": "summarize", "names": "g"},
        {"command": "summarize", "names": "x", "where": "g > 5"},
        {"command": "centile", "names": "x", "centiles": [200]},
        {"command": "tabulate", "row": "g", "percent": ["all"]},
    ]
    for slip in slips:
        with pytest.raises(DiscreetError):
            desk(ledger).ask("Weber", **slip)
    assert ledger.usage("panel", "Weber").answers == 0
    with pytest.raises(DiscreetError, match="group of its own"):
        desk(ledger).ask("Weber", "tabulate", row="pid")
    assert ledger.usage("panel", "Weber").answers == 1


def test_a_ledger_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    ledger = new_ledger(tmp_path)
    asked = desk(ledger)
    asked.ask("Weber", "count")
    (tmp_path / "b").unlink()
    with pytest.raises(OutputCheckError):
        asked.ask("Weber", "count", where="x > 1")
    with pytest.raises(OutputCheckError, match="ledger not found"):
        BudgetLedger(tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["", " ", " Weber", "a\n", "\x1b[2J", "--"])
def test_names_that_name_nobody(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputCheckError, match="a name is a text"):
        desk(new_ledger(tmp_path)).ask(name, "count")


def test_zeros_gaps_and_few_records_are_answered_like_others(tmp_path: Path) -> None:
    """No class is sure: neither for nothing at all, nor for records that are all alike."""
    flat = FRAME.select("pid", z=pl.lit(0.0), n=pl.lit(None, dtype=pl.Float64))
    told: dict[str, set[QualityClass]] = {}
    for seed in range(20):
        ledger = BudgetLedger.create(tmp_path / f"b{seed}", Budget(answer=0.5))
        key = hashlib.sha256(seed.to_bytes(16, "big")).digest()
        asked = RemoteAnalysis(flat, flat, secret=key, ledger=ledger, data="d")
        for name in ("z", "n"):
            told.setdefault(name, set()).add(asked.ask("W", "summarize", names=name).quality)
        told.setdefault("0", set()).add(asked.ask("W", "count", where="pid > 999").quality)
    assert all(one == set(QualityClass) for one in told.values())
