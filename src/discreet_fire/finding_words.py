"""What findings say in the language of the reader. They are kept in English.

In: a sentence of a finding. Out: the same in German, put together from `finding_words.toml`; one
that cannot be read in a single way stays in English. Names and numbers stay as they are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["finding_in", "known_sentences", "sentence_in"]

_SLOT = re.compile(r"\{(\w+)([*;]?)\}")
#: A fixed text this long stands once in a sentence, or names hold it and it can be read twice.
_TELLING = 6
_DEEPEST = 8
Said = TypeVar("Said", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """An English sentence with slots, and its German."""

    pattern: re.Pattern[str]
    kinds: Mapping[str, str]
    fixed: Sequence[str]
    german: str

    @classmethod
    def of(cls, english: str, german: str) -> _Sentence:
        kinds = dict(_SLOT.findall(english))
        if set(kinds) != {name for name, kind in _SLOT.findall(german) if not kind}:
            raise ValueError(f"finding_words.toml: {english!r} is filled in alike in German")
        fixed = _SLOT.split(english)[::3]
        slots = [f"(?P<{name}>.+?)" for name, _ in _SLOT.findall(english)]
        parts = [re.escape(fixed[0])]
        for slot, text in zip(slots, fixed[1:], strict=True):
            parts += [slot, re.escape(text)]
        return cls(re.compile("".join(parts), re.DOTALL), kinds, fixed, german)

    def read(self, sentence: str, depth: int) -> str | None:
        """The German of a sentence that has this form; None if it has not."""
        match = self.pattern.fullmatch(sentence)
        if match is None or not self._once(sentence):
            return None
        parts = {}
        for name, kind in self.kinds.items():
            item = match[name].split("; ") if kind == ";" else [match[name]]
            texts = [_german(one, depth + 1) if kind else one for one in item]
            if None in texts:
                return None
            parts[name] = "; ".join(one for one in texts if one is not None)
        return _SLOT.sub(lambda slot: parts[slot[1]], self.german)

    def _once(self, sentence: str) -> bool:
        whole = "\0".join(self.fixed)
        telling = (text for text in self.fixed if len(text) >= _TELLING)
        return all(sentence.count(text) == whole.count(text) for text in telling)


def sentence_in(sentence: str, language: str) -> str:
    """A sentence of a finding, or its hint, in a language; in English if it is not known.

    >>> sentence_in("regress: too few cases (wage)", "de")
    'regress: zu wenige Fälle (wage)'
    >>> sentence_in("it may show the first value of wage", "de")
    'zeigt vielleicht den ersten Wert von wage'
    >>> sentence_in("something new", "de")
    'something new'
    """
    if language != "de" or not sentence:
        return sentence
    return _known(sentence) or sentence


def finding_in(found: Said, language: str) -> Said:
    """A finding, or findings of one cause, with what it says in a language.

    >>> from discreet_fire.findings import Finding, Severity
    >>> one = Finding(rule="command", severity=Severity.REFUSED, what="list: shows single records",
    ...               line=1, column=1, start=0, end=4, hint="choose another name")
    >>> print(finding_in(one, "de"))
    1:1 refused [command] list: zeigt einzelne Datensätze
      Hint: einen anderen Namen wählen
    """
    plain: Any = found
    field = "what" if hasattr(plain, "what") else "reason"
    parts = {name: sentence_in(getattr(plain, name), language) for name in (field, "hint")}
    return replace(found, **parts)


def known_sentences() -> Mapping[str, str]:
    """English sentences with their German, with slots for names.

    >>> known_sentences()["too few cases"]
    'zu wenige Fälle'
    """
    text = files("discreet_fire").joinpath("finding_words.toml").read_text("utf-8")
    sentences: dict[str, str] = tomllib.loads(text)["german"]
    return sentences


@cache
def _forms() -> tuple[Mapping[str, str], Sequence[_Sentence]]:
    sentences = known_sentences()
    exact = {english: german for english, german in sentences.items() if not _SLOT.search(english)}
    slotted = [_Sentence.of(one, german) for one, german in sentences.items() if one not in exact]
    # What says most in fixed words is tried first.
    slotted.sort(key=lambda one: -sum(map(len, one.fixed)))
    return exact, slotted


@lru_cache(maxsize=4096)
def _known(sentence: str) -> str | None:
    return _german(sentence, 0)


def _german(sentence: str, depth: int) -> str | None:
    exact, slotted = _forms()
    if sentence in exact:
        return exact[sentence]
    if depth > _DEEPEST:
        return None
    read = (form.read(sentence, depth) for form in slotted)
    return next((german for german in read if german is not None), None)
