"""How a queue works: who decides, how many must agree, what is drawn for control.

In: an officer's choice when the queue is made. Out: `QueueSettings`, kept in the record.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from discreet_fire.ledger.power_sums import MOST
from discreet_fire.queue.database import queue_error

__all__ = ["QueueSettings", "look_of", "plain_name", "plain_text", "same_person"]

_LONGEST_NAME, _LONGEST_TEXT = 200, 10_000
#: What stands in names beside letters and figures.
_IN_NAMES = frozenset(" .,'-_@+/()\N{RIGHT SINGLE QUOTATION MARK}\N{HYPHEN}")
#: Letters that show nothing.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(
    map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
)
#: Cyrillic and Greek letters, in pairs with the Latin ones that they look like.
_ALIKE = (
    "АA ВB ЕE ІI ЈJ КK МM НH ОO РP СC ЅS ТT УY ХX Ԛq Ԝw "
    "аa еe іi јj оo рp сc ѕs уy хx һh ԁd ԛq ԝw ӏl "
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX αa εe ιi κk νv οo ρp τt υu χx ıi ɑa ɡg ӀI"
)
_LOOKS = str.maketrans({pair[0]: pair[1] for pair in _ALIKE.split()})


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """What a queue goes by.

    Args:
        persons: Who may decide.
        approvals: How many different persons must approve before release: 2 for four eyes.
        clean_approvals: The same for outputs without anything to look at that were not drawn.
        rate: Share of clean outputs that are drawn for control by hand.
        minimum: The smallest number of units by which two universes may differ.

    >>> QueueSettings(persons=("Anna", "Ben"), approvals=2, clean_approvals=1).rate
    0.1
    """

    persons: tuple[str, ...]
    approvals: int = 1
    clean_approvals: int = 1
    rate: float = 0.1
    minimum: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "persons", tuple(plain_name(name) for name in self.persons))
        if not self.persons:
            raise _wrong("nobody is named who may decide", "name them with --person")
        for at, name in enumerate(self.persons):
            if any(same_person(name, other) for other in self.persons[:at]):
                raise _wrong("a person is named twice", "", name)
        if not 1 <= self.approvals <= 2:
            raise _wrong("one or two persons must approve", "", "approvals")
        if not 0 <= self.clean_approvals <= self.approvals:
            raise _wrong("clean outputs need no more approvals than others", "", "clean approvals")
        if not 0 <= self.rate <= 1:
            raise _wrong("the share that is drawn lies between 0 and 1", "", "rate")
        if not 2 <= self.minimum <= MOST:
            raise _wrong(f"the minimum lies between 2 and {MOST}", "", "minimum")
        if self.approvals > len(self.persons):
            raise _wrong("four eyes need two persons", "name them with --person")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "persons": list(self.persons)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> QueueSettings:
        """From plain values."""
        return cls(**{**plain, "persons": tuple(plain["persons"])})

    def person(self, name: str) -> str:
        """The person of this name.

        Args:
            name: As written in the settings.
        """
        asked = plain_name(name)
        if asked not in self.persons:
            hint = "known: " + ", ".join(self.persons)
            raise queue_error("nobody of this name decides here", "unknown-person", asked, hint)
        return asked


def plain_name(name: str) -> str:
    """A name without blanks around it; an error if it is none.

    >>> plain_name(" Anna  Meier ")
    'Anna Meier'
    """
    found = " ".join(unicodedata.normalize("NFC", name).split())
    if not found or len(found) > _LONGEST_NAME or not all(map(_in_names, found)):
        raise _wrong("this is no name", "write letters", "name")
    return found


def _in_names(letter: str) -> bool:
    """Letters that can be seen, figures, and what stands in names and addresses of mail."""
    kind = unicodedata.category(letter)
    if letter in _UNSEEN or (kind == "Mn" and unicodedata.normalize("NFKC", letter) == ""):
        return False
    return kind[0] in "LN" or kind in ("Mn", "Mc") or letter in _IN_NAMES


def plain_text(text: str, where: str) -> str:
    r"""A text on one line that shows as it is; an error if it holds what hides or misleads.

    Args:
        text: The text.
        where: What it is.

    >>> plain_text("no single  firm\nis seen", "reason")
    'no single firm is seen'
    """
    found = " ".join(text.split())
    if len(found) > _LONGEST_TEXT:
        raise _wrong(f"the text is longer than {_LONGEST_TEXT:,} characters", "", where)
    if not found.isprintable():
        hint = "write letters, figures and signs"
        raise _wrong("the text holds characters that hide or mislead", hint, where)
    return found


def same_person(one: str, other: str) -> bool:
    """Whether two names are meant for the same person, or look as if they were.

    >>> same_person("Anna", "anna "), same_person("Anna", "\N{CYRILLIC CAPITAL LETTER A}nna")
    (True, True)
    """
    return look_of(plain_name(one)) == look_of(plain_name(other))


def look_of(name: str) -> str:
    """How a name looks, whatever letters it is written with.

    >>> look_of("M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller, Anna-Maria")
    'muller anna maria'
    """
    letters = unicodedata.normalize("NFKD", name.translate(_LOOKS)).casefold()
    spoken = (" " if one in _IN_NAMES else one for one in letters.translate(_LOOKS))
    found = "".join(one for one in spoken if not unicodedata.combining(one))
    return " ".join(found.split())


def _wrong(what: str, hint: str, where: str = "") -> Exception:
    return queue_error(what, "queue-settings", where, hint)
