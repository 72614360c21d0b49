"""How far a protected result lies from the original one, and noisy answers that say little of it.

In: two results of the same safe command, a secret, what the question was. Out: a true class
(CONFIDENTIAL); the same noisy answer to the same question for ever, and bounds of what answers
tell. The chance of any answer changes at most by the factor e^epsilon, whatever the data are.

Estimates with an interval: 1 less the mean share by which both intervals overlap. Means beside a
standard deviation: their difference in units of it. Correlations and percentages: their difference.
Other numbers: their relative difference. All but overlaps are taken five times, so that one scale
of thresholds fits: 0.1 of it is 2 % of a number.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from discreet.errors import OutputCheckError
from discreet.microdata import Secret
from discreet_fire.statistics import SafeResult

_WHOLE = 1 << 53


class QualityClass(StrEnum):
    """Coarse distance of a protected result from the original one."""

    very_close = "very close"
    close = "close"
    fair = "fair"
    far = "far"


_CLASSES = tuple(QualityClass)


class AnswerKey:
    """Key that makes answers unpredictable and repeatable (SECRET).

    >>> key = AnswerKey(Secret.of("a long and secret sentence"))
    >>> first = key.answer(QualityClass.close, "a question", 1.0)
    >>> first is key.answer(QualityClass.close, "a question", 1.0), key
    (True, <AnswerKey>)
    """

    __slots__ = ("_key",)

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive("discreet: answers of remote analysis")

    def stretch(self, question: str) -> float:
        """A factor on thresholds, from the root of 1/2 to the root of 2 (confidential)."""
        return float(2.0 ** (self._uniform("stretch", question) - 0.5))

    def answer(self, true: QualityClass, question: str, epsilon: float) -> QualityClass:
        """The true class with some chance, otherwise one of the others at random."""
        if self._uniform("truth", question) < truth_chance(epsilon):
            return true
        others = [one for one in _CLASSES if one is not true]
        return others[int(self._uniform("other", question) * len(others))]

    def known_by(self, digest: str) -> str:
        """A keyed digest of records, by which they are known again."""
        return hmac.digest(self._key, f"known by\0{digest}".encode(), "sha256").hex()

    def _uniform(self, purpose: str, question: str) -> float:
        text = f"{purpose}\0{question}".encode()
        drawn = hmac.digest(self._key, text, "sha256")
        return (int.from_bytes(drawn[:8], "big") >> 11) / _WHOLE

    def __repr__(self) -> str:
        return "<AnswerKey>"

    def __reduce__(self) -> str:
        raise TypeError("the key of answers is secret and does not leave the process")


def truth_chance(epsilon: float) -> float:
    """Probability that an answer is the true class (randomised response of four classes).

    >>> round(truth_chance(1.0), 3)
    0.475
    """
    if not (0 < epsilon <= 20):
        raise OutputCheckError("epsilon is a number above 0 and at most 20", code="epsilon")
    return math.exp(epsilon) / (math.exp(epsilon) + len(_CLASSES) - 1)


def bits_per_answer(epsilon: float) -> float:
    """The most bits that one answer can tell about the data: the capacity of the channel.

    >>> round(bits_per_answer(1.0), 3)
    0.17
    """
    true = truth_chance(epsilon)
    other = (1 - true) / (len(_CLASSES) - 1)
    return math.log2(len(_CLASSES)) + true * math.log2(true) + (1 - true) * math.log2(other)


def most_correct(epsilon: float, guesses: int = 2) -> float:
    """The best chance of guessing which of equally likely states of the data is true.

    >>> round(most_correct(1.0), 3)
    0.731
    """
    odds = math.exp(epsilon)
    return odds / (odds + guesses - 1)


#: Distances up to these are very close, close and fair; beyond the last they are far.
THRESHOLDS = (0.1, 0.25, 0.5)

_FACTOR = 5.0
_SIGNIFICANT = 0.05
#: Numbers that follow from others, and descriptions of rows.
_UNUSED = frozenset({"statistic", "p", "std_err", "low", "high", "cumulated", "percentile"})
_DESCRIBING = frozenset({"state"})
_ESTIMATES = ("coefficient", "centile")
_FAR = math.inf

_Row = Mapping[str, Any]


def compare(original: SafeResult, protected: SafeResult, *, stretch: float = 1.0) -> QualityClass:
    """The true class of a protected result (confidential).

    The number that lies farthest off decides. What the original withholds is far.

    Args:
        original: The result of the original records.
        protected: The result of the protected records.
        stretch: A factor on all thresholds.

    >>> one = SafeResult(command="count", shown="", stored={"N": 1000})
    >>> compare(one, SafeResult(command="count", shown="", stored={"N": 1004}))
    <QualityClass.very_close: 'very close'>
    """
    distance = _distance(original, protected)
    for threshold, quality in zip(THRESHOLDS, QualityClass, strict=False):
        if distance <= threshold * stretch:
            return quality
    return QualityClass.far


def has_numbers(result: SafeResult) -> bool:
    """Whether anything is shown that could be compared."""
    rows = [result.stored] if result.frame is None else result.frame.to_dicts()
    return any(_compared(name, value) for row in rows for name, value in row.items())


def _compared(name: str, value: Any) -> bool:
    shown = value is not None and not isinstance(value, str) and not math.isnan(value)
    return shown and name not in _UNUSED


def _distance(original: SafeResult, protected: SafeResult) -> float:
    if (original.frame is None) != (protected.frame is None):
        return _FAR
    if original.frame is None or protected.frame is None:
        return _row_distance(original.stored, protected.stored)
    before, after = _rows(original), _rows(protected)
    if before is None or after is None or before.keys() != after.keys():
        return _FAR
    return max((_row_distance(before[key], after[key]) for key in after), default=0.0)


def _rows(result: SafeResult) -> dict[tuple[Any, ...], _Row] | None:
    """Rows by what they are about; None if that is not unique."""
    assert result.frame is not None
    rows = result.frame.to_dicts()
    rows_by_labels: dict[tuple[Any, ...], _Row] = {}
    for row in rows:
        labels = [
            (name, value)
            for name, value in row.items()
            if (isinstance(value, str) and name not in _DESCRIBING) or name == "percentile"
        ]
        rows_by_labels[tuple(labels)] = row
    return rows_by_labels if len(rows_by_labels) == len(rows) else None


def _row_distance(before: _Row, after: _Row) -> float:
    if before.get("state") != after.get("state"):
        return _FAR
    largest = 0.0
    for name, new in after.items():
        if not _compared(name, new):
            continue  # it is not shown to the researcher, or follows from others
        old = before.get(name)
        if old is None or not math.isfinite(old) or not math.isfinite(new):
            return _FAR
        largest = max(largest, _one(name, float(old), float(new), before, after))
    return largest


def _one(name: str, old: float, new: float, before: _Row, after: _Row) -> float:
    if name in _ESTIMATES:
        return _estimate(old, new, before, after)
    if name == "mean" and before.get("sd"):
        unit = before["sd"]
    elif name == "sum" and before.get("sd") and before.get("sum_w"):
        unit = before["sd"] * before["sum_w"]
    else:
        unit = {"correlation": 1, "rho": 1, "percent": 100}.get(name)
    return _relative(old, new) if unit is None else float(_FACTOR * abs(new - old) / unit)


def _relative(old: float, new: float) -> float:
    return 0.0 if old == new else _FACTOR * abs(new - old) / max(abs(old), abs(new))


def _estimate(old: float, new: float, before: _Row, after: _Row) -> float:
    """By intervals; where the conclusion turns round it is far, where it weakens not close."""
    ends = [row.get(name) for row in (before, after) for name in ("low", "high")]
    if any(end is None or not math.isfinite(end) for end in ends):
        return _relative(old, new)
    low, high, lower, higher = (float(end) for end in ends if end is not None)
    if high <= low or higher <= lower:
        return _relative(old, new)
    shared = min(high, higher) - max(low, lower)
    distance = 1 - (shared / (high - low) + shared / (higher - lower)) / 2
    chances = [row.get("p") for row in (before, after)]
    sure = [chance is not None and chance < _SIGNIFICANT for chance in chances]
    if any(sure) and (old > 0) != (new > 0):
        return _FAR
    if sure[0] != sure[1]:
        distance = max(distance, (THRESHOLDS[1] + THRESHOLDS[2]) / 2)
    return distance
