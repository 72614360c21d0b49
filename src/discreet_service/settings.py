"""Settings: what an office says of its service in one TOML file.

In: SERVICE.toml. Out: frozen settings, or one error that lists everything that is wrong. Secrets
are named by their files, never written into it.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, Problem
from discreet_service.permissions import ROLES


class SettingsError(DiscreetError):
    """SERVICE.toml cannot be used as it is."""


@dataclass(frozen=True, kw_only=True)
class OidcSettings:
    """[oidc]: login by the office's own provider."""

    issuer: str  # Its address, https only; http on this machine for tests
    client_id: str  # The name that the service has there
    client_secret_file: Path
    redirect: str  # The address to which it sends people back
    groups_claim: str = "groups"  # Where the groups of a person stand
    roles: Mapping[str, str] = field(default_factory=dict)  # Group → role, or role@dataset
    other_hosts: tuple[str, ...] = ()  # Further hosts at which the provider has its keys or tokens


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """[limits]: how much may be asked at once."""

    cells_instant: int = 10_000  # Cells, totals counted, up to which an answer comes at once
    cells_job: int = 5_000_000  # Cells up to which a job makes it
    cells_protect: int = 5_000_000  # Cells that can be handed in per call
    records_protect: int = 1_000_000  # Records that can be handed in per call
    json_bytes: int = 10 * 10**6  # The largest body of JSON or CSV
    arrow_bytes: int = 500 * 10**6  # The largest body of Arrow or Parquet
    requests_per_second: float = 20.0  # Of one caller, in the long run
    burst: int = 60  # And at once
    anonymous_per_second: float = 5.0  # Of one address that does not say who it is


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """[jobs]: work in the background."""

    workers: int = 1  # Processes that work
    memory: str = "4GB"  # What one may hold
    lease_seconds: int = 60  # After which silence another takes a job over
    retries: int = 2  # How often a job whose worker died is begun again
    keep_days: int = 28  # How long results are kept


@dataclass(frozen=True, kw_only=True)
class ReviewSettings:
    """[reviews]: output checking of a research data centre."""

    folder: Path = Path("research")  # The folder in which data lie
    queue: Path = Path("reviews")  # Folder of the review queue, made by `discreet fire queue init`
    # Microdata that researchers may use: name → file within `folder`. CONFIDENTIAL.
    data: Mapping[str, str] = field(default_factory=dict)
    # Name of data → the variable that says whom a record is about
    units: Mapping[str, str] = field(default_factory=dict)
    upload_bytes: int = 5 * 10**6  # Bytes of one submission, unpacked
    upload_files: int = 100  # Files of one submission
    seconds: int = 600  # How long a program may run


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """What an office says of its service."""

    folder: Path  # Where the service keeps its files; that of SERVICE.toml if not given.
    name: str = "discreet"  # Name of the office, shown to people
    # URL: sqlite:///FILE or postgresql+psycopg://…; if empty, service.db in `folder`.
    database: str = ""
    database_file: Path | None = None  # A file that holds the URL, for one with a password
    datasets: Path = Path("datasets")  # Folder of data sets
    # Folders of releases, served to everybody who may read them
    releases: tuple[Path, ...] = (Path("releases"),)
    public_releases: bool = False  # Whether releases are read without a key
    parameters: Path = Path("parameters")  # Folder of signed packages of parameters
    package_key_file: Path | None = None  # The key that opens packages
    # Public key files of who may sign parameters and policies
    trusted_signers: tuple[Path, ...] = ()
    # The service's own secret: seals the trail, names results
    secret_file: Path = Path("service.secret")
    signing_key_file: Path | None = None  # The key by which heads of the trail are signed
    # A key of its own, by which the studio signs parameter sets that were designed in it; without
    # it, they are signed elsewhere
    studio_key_file: Path | None = None
    host: str = "127.0.0.1"  # Address to listen at
    port: int = 8077  # Port to listen at
    url: str = ""  # The address that callers know, such as https://protect.example.org.
    trusted_proxies: tuple[str, ...] = ()  # Addresses of proxies whose headers are believed
    languages: tuple[str, ...] = ("en", "de")  # Languages, the usual one first
    log_keep_days: int = 90  # Days after which the query log names nobody
    log_delete_days: int = 730  # Days after which it is deleted
    session_hours: int = 8  # Hours after which a login ends
    session_idle_minutes: int = 30  # Minutes without a request after which it ends
    demo: bool = False  # A demonstration: nothing in it is secret
    limits: LimitSettings = field(default_factory=LimitSettings)  # See `LimitSettings`
    jobs: JobSettings = field(default_factory=JobSettings)  # See `JobSettings`
    oidc: OidcSettings | None = None  # See `OidcSettings`; None without
    reviews: ReviewSettings | None = None  # See `ReviewSettings`; None without

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ServiceSettings:
        """Read SERVICE.toml, and say everything that is wrong at once.

        >>> ServiceSettings.read("no-such-service.toml")
        Traceback (most recent call last):
            ...
        discreet_service.settings.SettingsError: [settings-file] no-such-service.toml: ...
        """
        place = Path(path)
        try:
            document = tomllib.loads(place.read_text("utf-8"))
        except OSError as error:
            message = f"the settings cannot be read ({error.strerror})"
            hint = "discreet serve --demo makes an example"
            raise SettingsError(message, code="settings-file", where=str(path), hint=hint) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            message = f"this is no TOML file: {error}"
            raise SettingsError(message, code="settings-file", where=str(path)) from None
        return cls.of(document, place.absolute().parent)

    @classmethod
    def of(cls, document: Mapping[str, Any], folder: Path) -> ServiceSettings:
        """Settings of a parsed document."""
        problems: list[Problem] = []
        found = _section(cls, {"folder": ".", **document}, "", folder, problems)
        if not problems:
            settings = cls(**found)
            problems += _checks(settings)
        if problems:
            raise SettingsError.of(
                problems, f"{len(problems)} things are wrong with the settings", code="settings"
            )
        return settings

    @property
    def base_url(self) -> str:
        """The address that callers know."""
        return self.url.rstrip("/") or f"http://{self.host}:{self.port}"

    @property
    def secure(self) -> bool:
        """Whether callers come over TLS."""
        return self.base_url.startswith("https://")

    def database_url(self) -> str:
        """The URL of the database; secret where it has a password."""
        from discreet.files import read_private

        if self.database_file is not None:
            return read_private(self.database_file, "file of the database's URL").decode().strip()
        return self.database or f"sqlite:///{self.folder / 'service.db'}"


_SECTIONS: Mapping[str, type[Any]] = {
    "limits": LimitSettings,
    "jobs": JobSettings,
    "oidc": OidcSettings,
    "reviews": ReviewSettings,
}


def _section(
    kind: type[Any], given: Any, where: str, folder: Path, problems: list[Problem]
) -> dict[str, Any]:
    """The values of a section, each of its own type."""
    if not isinstance(given, Mapping):
        problems.append(Problem("this is a section, with keys of its own", where.rstrip(".")))
        return {}
    hints, known = get_type_hints(kind), {item.name: item for item in fields(kind)}
    for name in given:
        if name not in known:
            hint = f"known: {', '.join(known)}"
            problems.append(Problem("there is no such setting", f"{where}{name}", hint))
    found: dict[str, Any] = {}
    for name, each in known.items():
        place = f"{where}{name}"
        if name not in given:
            if each.default is MISSING and each.default_factory is MISSING:
                problems.append(Problem("this setting is missing", place))
            elif isinstance(each.default, Path):
                found[name] = folder / each.default
            elif isinstance(each.default, tuple) and _kind(hints[name]) == "paths":
                found[name] = tuple(folder / path for path in each.default)
        elif name in _SECTIONS and not where:
            values = _section(_SECTIONS[name], given[name], f"{name}.", folder, problems)
            if not any(problem.where.startswith(f"{name}.") for problem in problems):
                found[name] = _SECTIONS[name](**values)
        else:
            found[name] = _value(hints[name], given[name], place, folder, problems)
    return found


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


#: Per type, what is expected, whether a value is such, and what is made of it.
_READERS: Mapping[str, tuple[str, Callable[[Any], bool], Callable[[Any, Path], Any]]] = {
    "str": ("a text", lambda value: isinstance(value, str), lambda value, _: value),
    "int": ("a whole number", lambda value: type(value) is int, lambda value, _: value),
    "float": ("a number", lambda value: type(value) in (int, float), lambda value, _: float(value)),
    "bool": ("true or false", lambda value: isinstance(value, bool), lambda value, _: value),
    "path": (
        "a path",
        lambda value: isinstance(value, str) and bool(value),
        lambda value, folder: folder / value,
    ),
    "paths": (
        "a list of paths",
        _texts,
        lambda value, folder: tuple(folder / each for each in value),
    ),
    "texts": ("a list of texts", _texts, lambda value, _: tuple(value)),
    "mapping": (
        "texts by name",
        lambda value: isinstance(value, Mapping) and _texts(list(value.values())),
        lambda value, _: dict(value),
    ),
}


def _kind(hint: Any) -> str:
    text = str(hint)
    if "tuple" in text:
        return "paths" if "Path" in text else "texts"
    if "Mapping" in text:
        return "mapping"
    if "Path" in text:
        return "path"
    return str(getattr(hint, "__name__", text))


def _value(hint: Any, value: Any, where: str, folder: Path, problems: list[Problem]) -> Any:
    expected, fits, made = _READERS[_kind(hint)]
    if not fits(value):
        problems.append(Problem(f"{expected} is expected here", where))
        return None
    return made(value, folder)


def _checks(settings: ServiceSettings) -> list[Problem]:
    """What is wrong with settings whose types are right."""
    problems = []
    for place, section in (("limits", settings.limits), ("jobs", settings.jobs)):
        problems += [
            Problem("this must be above zero", f"{place}.{item.name}")
            for item in fields(section)
            if isinstance(number := getattr(section, item.name), int | float) and number <= 0
            if item.name != "retries" or number < 0
        ]
    if not 0 < settings.port < 65_536:
        problems.append(Problem("a port lies between 1 and 65535", "port"))
    if settings.url and not settings.url.startswith(("https://", "http://")):
        problems.append(Problem("an address begins with https://", "url"))
    if settings.database and settings.database_file is not None:
        problems.append(Problem("say it once: database or database_file", "database"))
    url = settings.database
    if url and not url.startswith(("sqlite:///", "postgresql+psycopg://")):
        hint = "sqlite:///FILE or postgresql+psycopg://…"
        problems.append(
            Problem("this database cannot keep the service's records", "database", hint)
        )
    if "://" in url and "@" in url and ":" in url.split("://", 1)[1].split("@")[0]:
        hint = "write it into a file of its own, and name that: database_file"
        problems.append(Problem("a password does not belong here", "database", hint))
    for at, address in enumerate(settings.trusted_proxies):
        try:
            ipaddress.ip_network(address, strict=False)
        except ValueError:
            problems.append(Problem("this is no address", f"trusted_proxies[{at}]"))
    if (set(settings.languages) - {"en", "de"}) or not settings.languages:
        problems.append(Problem("languages are en and de", "languages"))
    problems += _exposed(settings) + _oidc_problems(settings.oidc)
    return problems + _review_problems(settings.reviews)


def _exposed(settings: ServiceSettings) -> list[Problem]:
    """What would let the service stand open."""
    try:
        local = settings.host == "localhost" or ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return [Problem("this is no address", "host", "such as 127.0.0.1")]
    if local:
        return []
    problems = []
    if settings.demo:
        problems.append(Problem("a demonstration listens on this machine only", "host"))
    if not settings.secure:
        hint = 'put a proxy with TLS before it, and say url = "https://…"'
        problems.append(Problem("others would read along without TLS", "url", hint))
    return problems


def _oidc_problems(oidc: OidcSettings | None) -> list[Problem]:
    if oidc is None:
        return []
    problems = []
    issuer = urlsplit(oidc.issuer)
    local = issuer.scheme == "http" and issuer.hostname in ("127.0.0.1", "localhost", "::1")
    if not (issuer.scheme == "https" and issuer.hostname) and not local:
        problems.append(Problem("a provider is asked over https only", "oidc.issuer"))
    for group, role in oidc.roles.items():
        if role.partition("@")[0] not in ROLES:
            hint = f"roles: {', '.join(ROLES)}"
            problems.append(Problem("there is no such role", f"oidc.roles.{group}", hint))
    return problems


def _review_problems(reviews: ReviewSettings | None) -> list[Problem]:
    if reviews is None:
        return []
    problems = [
        Problem("this must be above zero", f"reviews.{name}")
        for name in (("upload_bytes", "upload_files", "seconds"))
        if getattr(reviews, name) <= 0
    ]
    root = reviews.folder.resolve()
    for name, file in reviews.data.items():
        if not (reviews.folder / file).resolve().is_relative_to(root):
            problems.append(Problem("data lie in the folder of reviews", f"reviews.data.{name}"))
    hint = f"data: {', '.join(reviews.data)}"
    problems += [
        Problem("there are no such data", f"reviews.units.{name}", hint)
        for name in reviews.units
        if name not in reviews.data
    ]
    return problems
