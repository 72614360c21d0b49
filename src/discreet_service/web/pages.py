"""Pages: templates filled with values, in the reader's language. Everything is escaped, scripts and
styles are our own files, and every form carries the token of its session.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

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
    **values: Any,
) -> HTMLResponse:
    """A page. `said_in` names where its words are; of several places the last one wins."""
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
        "layout": PageWords(layout),
        "words": PageWords(spoken),
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
    }
    text = _environment().get_template(f"{template}.html").render(shown | values)
    headers = {"Cache-Control": "no-store" if secret else "private, no-cache"}
    return HTMLResponse(text, status, headers)


class PageWords:
    """The words of a page, as templates name them: `words.keys` is the word, not a method.

    >>> PageWords({"keys": "My keys"}).keys
    'My keys'
    """

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said

    def __getattr__(self, name: str) -> str:
        try:
            return self._said[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> str:
        return self._said[name]

    def __contains__(self, name: str) -> bool:
        return name in self._said


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
    """Words may be called like methods of the table in which they stand."""

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
    found.filters |= {"time": time, "date": date}
    found.filters["number"] = number
    found.globals["asset"] = asset
    found.globals["explained"] = explained
    found.globals["hinted"] = hinted
    return found
