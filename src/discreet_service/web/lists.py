"""Lists and details: rows to read, to search and to act on, as one page for all that is a list; one
thing as a page of parts: facts, tables, notes, texts, buttons, forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

from fastapi import Response

from discreet_service.problems import ServiceError
from discreet_service.web.access import Visit
from discreet_service.web.pages import page, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A button that sends a form, in a cell or a part of a page."""

    path: str  # Where the form goes
    word: str  # Its label among the words of the page
    value: str = ""  # What it sends as `act`
    about: str = ""  # What it acts on, for those who hear the page
    hidden: Mapping[str, str] = field(default_factory=dict)  # What it sends besides
    second: bool = True  # Whether there is something more important to do
    reason: str = ""  # The word of the reason that must be given; empty for none


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its looks; a plain one is its text."""

    text: str
    link: str = ""  # Where it leads
    tag: str | None = None  # As a tag: "good", "problem", or "" for a plain one
    look: str = ""  # "code", "quiet", "strong" or "number"
    about: str = ""  # What the link says to those who hear the page
    download: bool = False  # Whether the link is a file to keep


@dataclass(frozen=True, slots=True)
class Fold:
    """Folded details: a word, and the lines behind it."""

    word: str
    lines: Sequence[str]


#: What stands in a place of a page: several things stand side by side.
Value = str | Cell | Act | Fold | Sequence[str | Cell | Act | Fold]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of a page. Columns are words; the first one names the row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    name: str = "rows"  # Its name in the page
    heading: str = ""  # The word above it; none if empty
    nothing: str = "nothing"  # What is said where no rows
    more: str = ""  # Where further rows are

    template = "table"


def list_page(
    visit: Visit,
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Value]],
    *,
    path: str = "",
    fields: Mapping[str, str] | None = None,
    choices: Mapping[str, Mapping[str, str]] | None = None,
    older: tuple[str, object] = ("", 0),
    up: str = "",
    above: tuple[str, str] | None = None,
    css: str = "",
    term: str = "",
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    status: int = 200,
    table: str = "rows",
    **more: Any,
) -> Response:
    """A list, with words of its own name: `title`, `lead`, `nothing`, and each column and field.

    Fields hold what was searched for; choices of a field are its values with their labels. `older`
    is the parameter that leads to further rows, if there are any. `up` names the page above, or
    `above` gives its address and title; `term` is what the glossary explains; parts stand before
    or after the table.
    """
    path, fields = path or visit.url.path, fields or {}
    searched = [(field, value) for field, value in fields.items() if value]
    onward = "" if not older[1] else address(path, [*searched, (older[0], str(older[1]))])
    return page(
        visit,
        "list",
        status=status,
        said_in=name,
        table=PageTable(columns, rows, table, more=onward),
        path=path,
        fields=fields,
        choices=choices or {},
        up=above or (up and (f"/{up}", words("base", visit.language)[up])),
        css=css,
        term=term,
        before=before,
        after=after,
        **more,
    )


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


def path_to(*parts: str) -> str:
    """The path of a page, whatever its parts are called.

    >>> path_to("releases", "a/b")
    '/releases/a%2Fb'
    """
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def address(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    """An address that people can read.

    >>> address("/tables/census", [("by", "region:1,sex"), ("where.age", "Y15-29")])
    '/tables/census?by=region:1,sex&where.age=Y15-29'
    """
    text = urlencode(pairs, quote_via=quote, safe=":,")
    return f"{path}?{text}" if text else path
