"""Details: one thing as a page made of parts: facts, tables, notes, texts, buttons, forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Response

from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit
from discreet_service.web.lists import Value
from discreet_service.web.pages import page


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page; the others are `PageTable`, `PageForm`, and a word alone, which is a note.

    `facts` are words with their values, `buttons` and `items` values; a `note` is a sentence, a
    `source` a text that is folded away, a `term` the question that opens the glossary.
    """

    template: Literal["note", "heading", "facts", "items", "buttons", "source", "term", "wrong"]
    word: str = ""  # What it says, among the words of the page
    values: Sequence[Value] | Sequence[tuple[str, Value]] = ()  # What it shows
    look: str = ""  # Of a note: "note", "quiet", "care", "good" or "problem"
    lead: str = ""  # What stands before the word of a note
    text: str = ""  # The text of a source, the name of a term, what is wrong
    name: str = ""  # Its name in the page
    error: ServiceError | None = None  # What is wrong, if there is more to say of it


def detail_page(
    visit: Visit,
    name: str,
    parts: Sequence[Any],
    *,
    title: str = "",
    up: tuple[str, str] | None = None,
    error: ServiceError | None = None,
    **more: Any,
) -> Response:
    """A page of parts, with words of its own name. `up` is the page above: its address and title.

    An error stands before all else, and gives the page its status.
    """
    status, first = (
        (200, []) if error is None else (error.kind.status, [Part("wrong", error=error)])
    )
    return page(visit, "detail", status=status, title=title, said_in=name,
                parts_of_page=[*first, *parts], up=up, **more)  # fmt: skip
