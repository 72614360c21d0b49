"""Pages: templates filled with values, in the reader's language, and what they are made of: lists,
parts, forms. Everything is escaped, scripts and styles are our own files, and every form carries
the token of its session. Labels, hints and options are words: `NAME`, `NAME_hint`, `OPTION`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_origin
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

from discreet.publication import date_text, number_text
from discreet_service.permissions import ROLES, Permission
from discreet_service.problems import ServiceError, hint_in
from discreet_service.service import Service
from discreet_service.web.access import OpenVisit, Visit, check_allowed, known_visit, needs
from discreet_service.web.security import cookie_name, session_cookie

router = APIRouter(tags=["pages"], include_in_schema=False)

#: Where templates, words and files lie: here, and in the studio, which stands above.
_FOLDERS = (Path(__file__).parent, Path(__file__).parent.parent / "studio")
_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
#: A place of our own: neither another host nor anything that browsers take for one.
_OWN = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,8000}")


#: Words by name; in templates they come before the methods of such a table.
PageWords = dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class NavigationEntry:
    """A page in the navigation, as the module of the page declares it: `NAVIGATION`."""

    path: str  # Without its slash it is the name of its word, too
    place: int  # Entries stand in the order of their places
    permissions: tuple[Permission, ...]  # Whoever has one of them finds the page there
    count: Callable[[Visit], int] | None = None  # How much waits there for somebody

    @property
    def word(self) -> str:
        """Its name among the words."""
        return self.path[1:]


@cache
def _files() -> Mapping[str, Path]:
    return {
        path.name: path
        for folder in _FOLDERS
        for path in sorted((folder / "static").glob("*"))
        if path.suffix in _TYPES
    }


@router.get("/static/{name}")
def get_static(name: str, visit: OpenVisit) -> Response:
    """A static file of the studio, from a fixed list, or the logo of the office."""
    path = visit.service.settings.logo if name == "logo" else _files().get(name)
    if path is None:
        raise ServiceError("file not found", "not-found")
    headers = {"Cache-Control": "public, max-age=3600"}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix.lower()], headers=headers)


@cache
def asset(name: str) -> str:
    """The address of a file of our own, another one when it changes.

    >>> asset("service.css").startswith("/static/service.css?v=")
    True
    """
    digest = hashlib.sha256(_files()[name].read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


def page(
    visit: Visit,
    template: str,
    *,
    status: int = 200,
    secret: bool = False,
    title: str = "",
    said_in: str = "",
    error: ServiceError | None = None,
    **values: Any,
) -> HTMLResponse:
    """A page. `said_in` names where its words are; of several places the last one wins.

    An error that it shows gives it its status.
    """
    language, principal, session = visit.language, visit.principal, visit.login
    cookie = session_cookie(visit) if session is not None else None
    entries: Sequence[NavigationEntry] = visit.app.state.navigation
    # The name of an entry is the title of its page, or stands in `base`.
    pages = [one.word for one in entries if "title" in _all_words().get(one.word, ())]
    titles = {word: words(word, language)["title"] for word in pages}
    layout = {**titles, **words("base", language)}
    spoken = dict(layout)
    for name in (said_in or template).split():
        spoken |= words(name, language)
    shown = {
        "layout": layout,
        "words": spoken,
        "heading": title or spoken["title"],
        "language": language,
        "current_path": f"{visit.url.path}/",
        "here": visit.url.path + (f"?{visit.url.query}" if visit.url.query else ""),
        "office": visit.service.settings.name,
        "logo": visit.service.settings.logo is not None,
        "session": session,
        "principal": principal,
        "csrf": None if cookie is None else visit.service.sessions.csrf_token(cookie),
        "roles": {name: getattr(role, language) for name, role in ROLES.items()},
        "navigation": [
            (one, one.count(visit) if one.count is not None and session is not None else 0)
            for one in entries
            if any(map(principal.may, one.permissions))
        ],
        "Permission": Permission,
        "error": error,
    }
    status = status if error is None else error.kind.status
    text = _environment().get_template(f"{template}.html").render(shown | values)
    headers = {"Cache-Control": "no-store" if secret else "private, no-cache"}
    return HTMLResponse(text, status, headers)


@cache
def words(template: str, language: str) -> Mapping[str, str]:
    """The words of a template in a language.

    >>> words("login", "de")["title"]
    'Anmeldung'
    """
    return {name: both[language] for name, both in _all_words()[template].items()}


@cache
def _all_words() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """The words of all templates; each template has its words in one file."""
    found: dict[str, Mapping[str, Mapping[str, str]]] = {}
    for folder in _FOLDERS:
        for path in (folder / "words.toml", *sorted((folder / "words").glob("*.toml"))):
            if path.is_file():
                document = tomllib.loads(path.read_text("utf-8"))
                twice = found.keys() & document.keys()
                if twice:
                    raise AssertionError(f"{path.name}: {sorted(twice)}")
                found |= document
    return found


def told(visit: Visit, error: ServiceError) -> str:
    """Error on a page: its kind in the reader's language, and the problem."""
    kind: str = getattr(error.kind, visit.language)
    return f"{kind}: {error.what}" if error.what != kind else kind


def set_cookie(
    response: Response,
    service: Service,
    name: str,
    value: str,
    *,
    from_elsewhere: bool = False,
    seconds: int | None = None,
) -> None:
    """Let the browser keep a cookie that no script reads."""
    secure = service.settings.secure
    response.set_cookie(
        cookie_name(secure=secure, name=name),
        value,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax" if from_elsewhere else "strict",
    )


@needs(None)
def check_form(request: Request, csrf: Annotated[str, Form(max_length=100)] = "") -> Visit:
    """A dependency of forms: they come from our own pages, in a session that is still there."""
    visit = known_visit(request)
    if visit.principal.kind != "session":
        raise ServiceError("forms need a login", "not-allowed", hint="programs must use the API")
    visit.service.sessions.check_csrf(session_cookie(request), csrf)
    return visit


FormVisit = Annotated[Visit, Depends(check_form)]


def form_visit_with(permission: Permission) -> Callable[[Visit], Visit]:
    """Dependency for users with a permission on the data set of the path."""

    @needs(permission)
    def needed(visit: FormVisit) -> Visit:
        check_allowed(visit.principal, permission, visit.path_params.get("dataset", ""))
        return visit

    return needed


def back_to(path: str) -> RedirectResponse:
    """Go on to a page of our own after a form was sent."""
    return RedirectResponse(path, 303, {"Cache-Control": "no-store"})


def own_place(path: str) -> str:
    """Next page of a user: a page of the studio, or the first page.

    >>> own_place("/tables/census?unit=person"), own_place("//elsewhere.example/"), own_place("x:/")
    ('/tables/census?unit=person', '/', '/')
    """
    return path if _OWN.fullmatch(path) else "/"


def iso_time(milliseconds: int | None) -> str | None:
    """A time in ISO 8601, UTC.

    >>> iso_time(1_700_000_000_000)
    '2023-11-14T22:13:20Z'
    """
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_text(at: int | str | None, language: str) -> str:
    """A time as pages show it, UTC: of milliseconds, or as ISO 8601 has it.

    >>> time_text(1_700_000_000_000, "en"), time_text("2023-11-14T22:13:20Z", "de")
    ('14 November 2023, 22:13 UTC', '14. November 2023, 22:13 UTC')
    >>> time_text(None, "de")
    '–'
    """
    iso = at if isinstance(at, str) else iso_time(at)
    return "–" if iso is None else f"{date_text(iso[:10], language)}, {iso[11:16]} UTC"


@pass_context
def time(context: Context, at: int | str | None) -> str:
    """A time in the language of the page."""
    return time_text(at, str(context["language"]))


@pass_context
def date(context: Context, at: int | str | None) -> str:
    """A date, or the date of a time, in the language of the page."""
    text = at if isinstance(at, str) else (iso_time(at) or "–")[:10]
    return date_text(text, str(context["language"]))


@pass_context
def number(context: Context, value: float, decimals: int = 0) -> str:
    """A number as people write it in the language of the page."""
    return number_text(value if decimals else round(value), decimals, str(context["language"]))


def explained(term: str, language: str) -> str:
    """Meaning of a term, from the glossary.

    >>> explained("release", "de").startswith("Tabellen")
    True
    """
    return words("glossary", language)[term]


@pass_context
def hinted(context: Context, error: ServiceError) -> str:
    """The hint of an error in the language of the page."""
    return hint_in(str(context["language"]), error.hint, error.code)


class _WordsFirst(Environment):
    """Words may be called like methods of the table in which they stand: `words.keys`."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The word of a name, if there is one."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def _environment() -> Environment:
    found = _WordsFirst(
        loader=FileSystemLoader([folder / "templates" for folder in _FOLDERS]),
        # Everything, whatever a template is called.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"time": time, "date": date, "number": number}
    found.globals |= {"asset": asset, "explained": explained, "hinted": hinted}
    return found


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


#: Texts that may have more characters need all of a line, and more than one.
_WIDE, _LONG = 500, 10_000
#: What a schema says, and the attribute that says so.
_BOUNDS = {"maxLength": "maxlength", "minimum": "min", "maximum": "max", "accept": "accept"}

Sent = TypeVar("Sent", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageForm:
    """A form of a page."""

    path: str  # Where it goes
    model: type[BaseModel]  # Its fields
    send: str  # The word of its button
    heading: str = ""  # The word above it; then it is a card
    values: Mapping[str, Any] = field(default_factory=dict)  # What is filled in
    parts: Sequence[Any] = ()  # What stands before its fields
    second: bool = False  # Whether there is something more important to do

    template = "form"

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields as they are shown: name, kind, value, options, attributes."""
        schema, fields = self.model.model_json_schema(), []
        for name, facts in schema["properties"].items():
            longest, kind = facts.get("maxLength", 0), "text"
            if "enum" in facts:
                kind = "choice"
            elif facts.get("format") == "binary" or "contentMediaType" in facts:
                kind = "file"
            elif longest > _WIDE:
                kind = "long" if longest > _LONG else "wide"
            bounds = {html: facts[known] for known, html in _BOUNDS.items() if known in facts}
            value = self.values.get(name, facts.get("default", ""))
            fields.append({"name": name, "kind": kind, "value": value, "bounds": bounds,
                           "options": facts.get("enum"),
                           "needed": name in schema.get("required", ())})  # fmt: skip
        return fields


def sent(model: type[Sent]) -> Callable[[Request], Awaitable[Sent]]:
    """A dependency that gives what a form sent, of a name that comes twice the last.

    Files without a name were not chosen.
    """

    async def read(request: Request) -> Sent:
        form, fields = await request.form(), dict[str, Any]()
        for name, facts in model.model_fields.items():
            a_file = "UploadFile" in str(facts.annotation)
            values = [one for one in form.getlist(name)
                      if isinstance(one, UploadFile) == a_file
                      and (isinstance(one, str) or one.filename)]  # fmt: skip
            if values:
                fields[name] = values if get_origin(facts.annotation) is list else values[-1]
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None

    return read
