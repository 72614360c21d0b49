"""The words of the pages about quality, in English and German; see `words.toml`."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import PublicationError
from discreet.publication.words import LANGUAGES, read_words

Words = Mapping[str, str]

_WORDS: Mapping[str, Words] = read_words("discreet.release.report")


def words(language: str) -> Words:
    """The words of a language.

    >>> words("de")["tables"]
    'Tabellen'
    """
    if language not in _WORDS:
        what = f"there are no words about quality in language {language!r}"
        hint = f"languages: {', '.join(LANGUAGES)}"
        raise PublicationError(what, code="language", where="languages", hint=hint)
    return _WORDS[language]
