"""Settings: what an office says of its service in one TOML file. One error lists everything that is
wrong; secrets are named by their files, never written into it.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.dataclasses import dataclass

from discreet.errors import DiscreetError, Problem
from discreet.files import read_private
from discreet.settings import setting_problems
from discreet_service.permissions import ROLES

_CONFIG = ConfigDict(extra="forbid", validate_default=True)


def _placed(path: Any, info: ValidationInfo) -> Any:
    """A path in the folder of the file that names it."""
    named = isinstance(path, str | Path) and str(path)
    return info.context / path if named and info.context is not None else path


def _picture(path: Path) -> Path:
    if path.suffix.lower() not in (".svg", ".png") or not path.is_file():
        raise ValueError("must be the path of an SVG or PNG file")
    return path


_Place = Annotated[Path, BeforeValidator(_placed)]
_Whole = Annotated[int, Field(strict=True, gt=0)]
_Rate = Annotated[float, Field(strict=True, gt=0)]
_Port = Annotated[int, Field(strict=True, gt=0, lt=65_536)]
_Address = Annotated[str, StringConstraints(pattern=r"^(https?://.*)?$")]
_DATABASES = ("sqlite:///", "postgresql+psycopg://")


class SettingsError(DiscreetError):
    """SERVICE.toml cannot be used as it is."""


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class OidcSettings:
    """[oidc]: login by the office's own provider."""

    issuer: str  # Its address, https only; http on this machine for tests
    client_id: str  # The name that the service has there
    client_secret_file: _Place
    redirect: str  # The address to which it sends people back
    groups_claim: str = "groups"  # Where the groups of a person stand
    roles: Mapping[str, str] = field(default_factory=dict)  # Group → role, or role@dataset
    other_hosts: tuple[str, ...] = ()  # Further hosts at which the provider has its keys or tokens


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class LimitSettings:
    """[limits]: how much may be asked at once."""

    cells_instant: _Whole = 10_000  # Cells, totals counted, up to which an answer comes at once
    cells_job: _Whole = 5_000_000  # Cells up to which a job makes it
    cells_protect: _Whole = 5_000_000  # Cells that can be handed in per call
    records_protect: _Whole = 1_000_000  # Records that can be handed in per call
    json_bytes: _Whole = 10 * 10**6  # The largest body of JSON or CSV
    arrow_bytes: _Whole = 500 * 10**6  # The largest body of Arrow or Parquet
    requests_per_second: _Rate = 20.0  # Of one caller, in the long run
    burst: _Whole = 60  # And at once
    anonymous_per_second: _Rate = 5.0  # Of one address that does not say who it is


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class JobSettings:
    """[jobs]: work in the background."""

    workers: _Whole = 1  # Processes that work
    memory: str = "4GB"  # What one may hold
    lease_seconds: _Whole = 60  # After which silence another takes a job over
    # How often a job whose worker died is begun again
    retries: Annotated[int, Field(strict=True, ge=0)] = 2
    keep_days: _Whole = 28  # How long results are kept


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class ReviewSettings:
    """[reviews]: output checking of a research data centre."""

    folder: _Place = Path("research")  # The folder in which data lie
    # Folder of the review queue, made by `discreet fire queue init`
    queue: _Place = Path("reviews")
    # Microdata that researchers may use: name → file within `folder`. CONFIDENTIAL.
    data: Mapping[str, str] = field(default_factory=dict)
    # Name of data → the variable that says whom a record is about
    units: Mapping[str, str] = field(default_factory=dict)
    upload_bytes: _Whole = 5 * 10**6  # Bytes of one submission, unpacked
    upload_files: _Whole = 100  # Files of one submission
    seconds: _Whole = 600  # How long a program may run


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class ServiceSettings:
    """Settings of the service."""

    folder: _Place  # Where the service keeps its files; that of SERVICE.toml if not given.
    name: str = "discreet"  # Name of the office, shown to people
    logo: Annotated[_Place, AfterValidator(_picture)] | None = None  # Its logo: an SVG or PNG file
    # URL: sqlite:///FILE or postgresql+psycopg://…; if empty, service.db in `folder`.
    database: str = ""
    database_file: _Place | None = None  # A file that holds the URL, for one with a password
    datasets: _Place = Path("datasets")  # Folder of data sets
    # Folders of releases, served to everybody who may read them
    releases: tuple[_Place, ...] = (Path("releases"),)
    public_releases: StrictBool = False  # Whether releases are read without a key
    # Data sets of which everybody may ask for tables, under the same policies
    public_datasets: tuple[str, ...] = ()
    parameters: _Place = Path("parameters")  # Folder of signed packages of parameters
    package_key_file: _Place | None = None  # The key that opens packages
    # Public key files of who may sign parameters and policies
    trusted_signers: tuple[_Place, ...] = ()
    # The service's own secret: seals the trail, names results
    secret_file: _Place = Path("service.secret")
    signing_key_file: _Place | None = None  # The key by which heads of the trail are signed
    # A key of its own, by which the studio signs parameter sets that were designed in it; without
    # it, they are signed elsewhere
    studio_key_file: _Place | None = None
    host: str = "127.0.0.1"  # Address to listen at
    port: _Port = 8077  # Port to listen at
    processes: _Whole = 1  # Processes that answer requests; each has limits and a watch of its own
    url: _Address = ""  # The address that callers know, such as https://protect.example.org.
    trusted_proxies: tuple[str, ...] = ()  # Addresses of proxies whose headers are believed
    # Languages, the usual one first
    languages: Annotated[tuple[Literal["en", "de"], ...], Field(min_length=1)] = ("en", "de")
    log_keep_days: _Whole = 90  # Days after which the query log names nobody
    log_delete_days: _Whole = 730  # Days after which it is deleted
    session_hours: _Whole = 8  # Hours after which a login ends
    session_idle_minutes: _Whole = 30  # Minutes without a request after which it ends
    demo: StrictBool = False  # A demonstration: nothing in it is secret
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
            hint = "for an example run: discreet serve --demo"
            raise SettingsError(message, code="settings-file", where=str(path), hint=hint) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            message = f"not valid TOML: {error}"
            raise SettingsError(message, code="settings-file", where=str(path)) from None
        return cls.of(document, place.absolute().parent)

    @classmethod
    def of(cls, document: Mapping[str, Any], folder: Path) -> ServiceSettings:
        """Settings of a parsed document."""
        problems: list[Problem] = []
        try:
            settings = _SETTINGS.validate_python({"folder": ".", **document}, context=folder)
            problems += _checks(settings)
        except ValidationError as error:
            known = [item.name for item in fields(cls)]
            problems += setting_problems(error, _where, known)
            # All else is looked at without what is wrong.
            rest = dict(document)
            for section, *key in (one["loc"] for one in error.errors()):
                inner = rest.pop(str(section), None)
                if key and isinstance(inner, Mapping):
                    rest[str(section)] = {name: inner[name] for name in inner if name != key[0]}
            with suppress(ValidationError):
                settings = _SETTINGS.validate_python({"folder": ".", **rest}, context=folder)
                problems += _checks(settings)
        if problems:
            many = f"{len(problems)} problems with the settings"
            raise SettingsError.of(problems, many, code="settings")
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
        if self.database_file is not None:
            return read_private(self.database_file, "file of the database's URL").decode().strip()
        return self.database or f"sqlite:///{self.folder / 'service.db'}"


_SETTINGS = TypeAdapter(ServiceSettings)


def _where(path: tuple[str | int, ...]) -> str:
    """The place of a setting: jobs.workers, releases[0]."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".")


def _checks(settings: ServiceSettings) -> list[Problem]:
    """What single settings do not show: contradictions, and a service that stands open."""
    problems, url = [], settings.database
    if url and settings.database_file is not None:
        problems.append(Problem("use either database or database_file", "database"))
    if url and not url.startswith(_DATABASES):
        hint = "use sqlite:///FILE or postgresql+psycopg://…"
        message = "unsupported database"
        problems.append(Problem(message, "database", hint))
    if "://" in url and "@" in url and ":" in url.split("://", 1)[1].split("@")[0]:
        hint = "write the URL to a file, and set database_file"
        problems.append(Problem("passwords are not allowed here", "database", hint))
    for at, address in enumerate(settings.trusted_proxies):
        try:
            ipaddress.ip_network(address, strict=False)
        except ValueError:
            problems.append(Problem("not an address", f"trusted_proxies[{at}]"))
    try:
        local = settings.host == "localhost" or ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        problems.append(Problem("not an address", "host", "such as 127.0.0.1"))
    else:
        if settings.demo and not local:
            problems.append(Problem("a demonstration can listen on this machine only", "host"))
        if not settings.secure and not local:
            hint = 'use a proxy with TLS, and set url = "https://…"'
            problems.append(Problem("unencrypted: use https", "url", hint))
    if settings.oidc is not None:
        issuer = urlsplit(settings.oidc.issuer)
        here = issuer.scheme == "http" and issuer.hostname in ("127.0.0.1", "localhost", "::1")
        if not (issuer.scheme == "https" and issuer.hostname) and not here:
            problems.append(Problem("a provider is asked over https only", "oidc.issuer"))
        hint = f"roles: {', '.join(ROLES)}"
        problems += [
            Problem("unknown role", f"oidc.roles.{group}", hint)
            for group, role in settings.oidc.roles.items()
            if role.partition("@")[0] not in ROLES
        ]
    if settings.reviews is not None:
        root, data = settings.reviews.folder.resolve(), settings.reviews.data
        problems += [
            Problem("data must be in the folder of reviews", f"reviews.data.{name}")
            for name, file in data.items()
            if not (root / file).resolve().is_relative_to(root)
        ]
        hint = f"data: {', '.join(data)}"
        problems += [
            Problem("data not found", f"reviews.units.{name}", hint)
            for name in settings.reviews.units
            if name not in data
        ]
    return problems
