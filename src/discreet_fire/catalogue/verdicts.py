"""The parts of a policy: actions, verdicts and patterns of words.

In: nothing. Out: what `Policy` and `ScriptPolicy` are made of. Nothing here is confidential.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What becomes of a command, from the mildest to the strictest.

    >>> Action.ALLOWED.rank < Action.REFUSED.rank
    True
    """

    ALLOWED = "allowed"
    WRAPPED = "wrapped"
    REVIEW = "review"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """The place in the order; larger is stricter."""
        return _RANKS[self]


_RANKS = {action: rank for rank, action in enumerate(Action)}


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandVerdict:
    """What a policy says of a command.

    >>> CommandVerdict(action=Action.WRAPPED, name="regress", safe="fdzregress").replaced("reg")
    'fdzregress'
    >>> verdict = CommandVerdict(action=Action.WRAPPED, name="logit", safe="fdzestimate {word}")
    >>> verdict.replaced("logi")
    'fdzestimate logi'
    """

    action: Action  # what becomes of it
    name: str  # the command in full, with its second word where the rule names one
    reason: str = ""  # why, in words for researchers
    safe: str = ""  # for wrapped commands: the safe command's name, or a text with ``{word}``
    known: bool = True  # whether a rule names the command

    @property
    def inserted(self) -> str:
        """What goes before the word where the word itself stays; empty if it is replaced."""
        before, word, _ = self.safe.partition("{word}")
        return before if word else ""

    def replaced(self, word: str) -> str:
        """The words that stand for the command in a safe program."""
        return self.safe.replace("{word}", word)


def strictest(verdicts: Iterable[CommandVerdict]) -> CommandVerdict | None:
    """The strictest of several verdicts, the first of equals; None if there are none.

    >>> strictest([]) is None
    True
    """
    return max(verdicts, key=lambda verdict: verdict.action.rank, default=None)


@dataclass(frozen=True, slots=True)
class WordPattern:
    """A word with its shortest abbreviation.

    >>> WordPattern.of("RESiduals").matches("resid"), WordPattern.of("RESiduals").matches("re")
    (True, False)
    """

    full: str  # the word in full, in small letters
    shortest: int  # how many letters must be there

    @classmethod
    def of(cls, text: str) -> WordPattern:
        """A pattern as policies write it: the capitals are the shortest abbreviation."""
        word = text.removesuffix("()")
        capitals = len(word) - len(word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
        return cls(word.lower(), capitals if capitals and not word.islower() else len(word))

    @property
    def text(self) -> str:
        """As `of` reads it.

        >>> WordPattern.of("RESiduals").text, WordPattern.of("AT").text
        ('RESiduals', 'at')
        """
        if self.shortest == len(self.full):
            return self.full
        return self.full[: self.shortest].upper() + self.full[self.shortest :]

    def matches(self, word: str) -> bool:
        """Whether a word is this one, or an abbreviation of it."""
        lower = word.lower()
        return len(lower) >= self.shortest and self.full.startswith(lower)


@dataclass(frozen=True, kw_only=True)
class StoredRules:
    """Which stored results of a class (``r``, ``e``, ``s``) may be shown."""

    refused: tuple[str, ...] = ()  # names that must not be shown; ``#`` is a number, ``*`` anything
    review: tuple[str, ...] = ()  # names that an officer looks at
    allowed: tuple[str, ...] = ()  # names that may be shown
    default: Action = Action.REVIEW  # the action for all others

    def action(self, name: str) -> Action:
        """What becomes of a command that shows the result.

        >>> StoredRules(refused=("min_*",), allowed=("p#",)).action("min_1").value
        'refused'
        """
        for action, names in (
            (Action.REFUSED, self.refused),
            (Action.REVIEW, self.review),
            (Action.ALLOWED, self.allowed),
        ):
            if any(_fits(pattern, name) for pattern in names):
                return action
        return self.default

    def names(self, name: str) -> bool:
        """Whether a rule names the result, other than the default.

        >>> StoredRules(refused=("min_*",)).names("min_1"), StoredRules().names("min_1")
        (True, False)
        """
        listed = (*self.refused, *self.review, *self.allowed)
        return any(_fits(pattern, name) for pattern in listed)


def _fits(pattern: str, name: str) -> bool:
    if pattern.isidentifier():
        return pattern == name
    expression = re.escape(pattern).replace(r"\#", r"\d+").replace(r"\*", ".*")
    return re.fullmatch(expression, name) is not None
