"""What attackers learn from noisy classes, against the bounds that are stated."""

import hashlib
import math
from hashlib import sha256

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet.microdata.secret import Secret
from discreet_fire.extras.remote_analysis import (
    Budget,
    BudgetLedger,
    QualityClass,
    RemoteAnalysis,
    compare,
    truth_chance,
)
from discreet_fire.extras.remote_analysis.answers import AnswerKey
from discreet_fire.statistics import SafeResult

CLASSES = list(QualityClass)


def chance_of(answer: QualityClass, true: QualityClass, epsilon: float) -> float:
    """Written down here a second time: randomised response of four classes."""
    odds = math.exp(epsilon)
    return (odds if answer is true else 1) / (odds + 3)


@given(st.floats(min_value=0.01, max_value=20))
def test_no_answer_is_more_than_e_to_the_epsilon_times_likelier(epsilon: float) -> None:
    true = truth_chance(epsilon)
    other = (1 - true) / 3
    assert true / other <= math.exp(epsilon) * (1 + 1e-6)


def test_answers_have_the_stated_chances() -> None:
    """20,000 questions; a chance off by 0.016 is found with a power above 0.99 (4.5 sd)."""
    key = AnswerKey(Secret(b"salt of our tests"))
    for epsilon in (0.5, 2.0):
        answers = [key.answer(QualityClass.close, f"{epsilon} {x}", epsilon) for x in range(20_000)]
        for one in CLASSES:
            expected = chance_of(one, QualityClass.close, epsilon)
            found = answers.count(one) / len(answers)
            assert abs(found - expected) < 4.5 * math.sqrt(expected * (1 - expected) / 20_000)


def best_guess(
    answers: list[QualityClass], worlds: list[list[QualityClass]], epsilon: float
) -> int:
    """Which world makes the answers likeliest (no attacker does better)."""
    likely = [
        sum(math.log(chance_of(a, t, epsilon)) for a, t in zip(answers, world, strict=True))
        for world in worlds
    ]
    return likely.index(max(likely))


@pytest.mark.parametrize("epsilon", [1.0])
def test_one_record_cannot_be_told_better_than_the_bound(epsilon: float) -> None:
    """All three questions turn on one record; 1,000 secrets.

    The success is between chance plus 0.05 (the attack works at all) and the bound plus
    4 sd. Without noise, the same attacker is always right: the test can tell.
    """
    worlds = [[QualityClass.very_close] * 3, [QualityClass.far] * 3]
    hits = sure = 0
    for seed in range(1000):
        key = AnswerKey(Secret(sha256(seed.to_bytes(16, "big")).digest()))
        world = seed % 2
        told = [key.answer(t, f"{world} {q}", epsilon) for q, t in enumerate(worlds[world])]
        hits += best_guess(told, worlds, epsilon) == world
        plain = [key.answer(t, f"{world} {q}", 20.0) for q, t in enumerate(worlds[world])]
        sure += best_guess(plain, worlds, 20.0) == world
    odds = math.exp(3 * epsilon)
    bound = odds / (odds + 1)  # the best chance of guessing which of two is true
    assert 0.55 < hits / 1000 < bound + 4 * math.sqrt(bound * (1 - bound) / 1000)
    assert sure == 1000


def test_thresholds_differ_from_question_to_question() -> None:
    key = AnswerKey(Secret(b"salt of our tests"))
    factors = [key.stretch(str(x)) for x in range(2000)]
    assert math.sqrt(0.5) <= min(factors) < 0.72
    assert 1.40 < max(factors) <= math.sqrt(2)
    one, other = (SafeResult(command="count", shown="", stored={"N": n}) for n in (1000, 1025))
    assert {compare(one, other, stretch=x) for x in factors} == {
        QualityClass.very_close,
        QualityClass.close,
    }


def test_asking_again_and_in_other_words_tells_nothing_new(tmp_path) -> None:
    frame = pl.DataFrame({"x": range(300), "g": [0, 1, 2] * 100})
    ledger = BudgetLedger.create(tmp_path / "b", Budget(answer=1, each=3, everyone=4))
    desk = RemoteAnalysis(frame, frame, secret=b"salt of our tests", ledger=ledger, data="d")
    wordings = ["x > 20 and g == 1", "g==1.0 and 20<x", "(20 < x) and (1 == g)", "x>20 and g==1"]
    answers = [desk.ask("W", "count", where=text) for text in wordings * 5]
    assert len({one.quality for one in answers}) == 1
    assert {one.left for one in answers} == {2}
    turned = RemoteAnalysis(
        frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1),
        secret=b"salt of our tests", ledger=ledger, data="d",
    )  # fmt: skip
    assert turned.ask("W", "count", where=wordings[0]).left == 2


def test_a_corrected_version_is_a_new_question_of_the_same_budget(tmp_path) -> None:
    """Differencing by one record: each version costs, so the bound holds over both."""
    frame = pl.DataFrame({"x": range(300)})
    ledger = BudgetLedger.create(tmp_path / "b", Budget(answer=1, each=2, everyone=4))
    for version, left in ((frame, 1), (frame.slice(1), 0)):
        desk = RemoteAnalysis(version, frame, secret=b"salt of our tests", ledger=ledger, data="d")
        assert desk.ask("W", "count").left == left
    desk = RemoteAnalysis(
        frame.slice(2), frame, secret=b"salt of our tests", ledger=ledger, data="d"
    )
    with pytest.raises(OutputCheckError, match="budget of the researcher"):
        desk.ask("W", "count")


def test_too_few_cases_in_the_original_are_no_refusal(tmp_path) -> None:
    """A filter that only one original record passes is answered as any other is.

    25 secrets: were the case told apart by an error or by a fixed class, all answers would be
    alike.
    """
    protected = pl.DataFrame({"x": range(100)})
    original = protected.with_columns(x=pl.when(pl.col("x") == 0).then(1000).otherwise("x"))
    told = set()
    for seed in range(25):
        ledger = BudgetLedger.create(tmp_path / f"b{seed}", Budget(answer=0.5))
        desk = RemoteAnalysis(
            original,
            protected,
            secret=hashlib.sha256(seed.to_bytes(16, "big")).digest(),
            ledger=ledger,
            data="d",
        )
        told.add(desk.ask("W", "summarize", names="x", where="x < 50 or x == 1000").quality)
    assert told == set(QualityClass)
