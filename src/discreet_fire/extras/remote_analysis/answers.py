"""Noisy answers: a true class goes in, an answer that says little of it comes out.

In: a true class (CONFIDENTIAL), a secret, what the question was. Out: the same answer to the same
question for ever, and bounds of what answers tell. The chance of any answer changes at most by the
factor e^epsilon, whatever the data are.
"""

from __future__ import annotations

import hmac
import math
from enum import StrEnum

from discreet.errors import OutputCheckError
from discreet.microdata import Secret

_WHOLE = 1 << 53


class QualityClass(StrEnum):
    """How far a protected result lies from the original one, coarsely."""

    very_close = "very close"
    close = "close"
    fair = "fair"
    far = "far"


_CLASSES = tuple(QualityClass)


class AnswerKey:
    """What makes answers unpredictable, and always the same (SECRET).

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
    """How likely an answer is the true class (randomised response of four classes).

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
