"""Names of persons and data sets, and reasons in their words.

In: what someone wrote. Out: the same as plain text, and whether two names look the same: another
spelling is no other person.
"""

from __future__ import annotations

import unicodedata

from discreet.errors import OutputCheckError

__all__ = ["look_of", "plain_name", "plain_text", "same_person"]

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


def plain_name(name: str) -> str:
    """A name without blanks around it; an error if it is none.

    >>> plain_name(" Anna  Meier ")
    'Anna Meier'
    """
    frame = " ".join(unicodedata.normalize("NFC", name).split())
    if not frame or len(frame) > _LONGEST_NAME or not all(map(_in_names, frame)):
        raise _wrong("not a name", "write letters", "name")
    return frame


def _in_names(letter: str) -> bool:
    """Letters that can be seen, figures, and what stands in names and addresses of mail."""
    kind = unicodedata.category(letter)
    if letter in _UNSEEN or (kind == "Mn" and unicodedata.normalize("NFKC", letter) == ""):
        return False
    return kind[0] in "LN" or kind in ("Mn", "Mc") or letter in _IN_NAMES


def plain_text(text: str, where: str) -> str:
    r"""A text on one line that shows as it is; an error if it holds what hides or misleads.

    >>> plain_text("no single  firm\nis seen", "reason")
    'no single firm is seen'
    """
    frame = " ".join(text.split())
    if len(frame) > _LONGEST_TEXT:
        raise _wrong(f"the text is longer than {_LONGEST_TEXT:,} characters", "", where)
    if not frame.isprintable():
        hint = "write letters, figures and signs"
        raise _wrong("the text holds characters that hide or mislead", hint, where)
    return frame


def same_person(one: str, other: str) -> bool:
    """Whether two names are meant for the same person, or look as if they were.

    >>> same_person("Anna", "anna "), same_person("Anna", "\N{CYRILLIC CAPITAL LETTER A}nna")
    (True, True)
    """
    return look_of(plain_name(one)) == look_of(plain_name(other))


def look_of(name: str) -> str:
    """Look of a name, whatever alphabet its letters are from.

    >>> look_of("M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller, Anna-Maria")
    'muller anna maria'
    """
    letters = unicodedata.normalize("NFKD", name.translate(_LOOKS)).casefold()
    spoken = (" " if one in _IN_NAMES else one for one in letters.translate(_LOOKS))
    frame = "".join(one for one in spoken if not unicodedata.combining(one))
    return " ".join(frame.split())


def _wrong(message: str, hint: str, where: str) -> OutputCheckError:
    return OutputCheckError(message, code="queue-settings", where=where, hint=hint)
