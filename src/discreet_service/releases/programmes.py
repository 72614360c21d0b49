"""Programmes over a data set, as TOML, kept privately; opened with the data set they are
CONFIDENTIAL. A programme names no file; methods and rules of a table are those that the data set
admits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from discreet.errors import DiscreetError, Problem, nearest
from discreet.files import make_folder, write_text
from discreet.microdata import parse_filter
from discreet.protection.protocol import all_of
from discreet.protection.registry import DEFAULT, clash, protections
from discreet.publication import FORMATS
from discreet.release import (
    Document,
    Inputs,
    KeyPath,
    LineIndex,
    Programme,
    ProgrammeFile,
    QualityEntry,
    open_programme,
    read_form,
)
from discreet.settings import Text
from discreet.tables import FigureKind
from discreet_service.datasets import DataVersion
from discreet_service.problems import ServiceError

#: The largest text of a programme.
LARGEST = 1_000_000
EXACT = "exact"
_LINE = re.compile(r"line (\d+)(?:, )?(.*)")
_NUMBER = re.compile(r"[0-9a-f]{32}")
_TEXT, _RECORD, _DRAFTS = "programme.toml", "record.json", "drafts"
_MOST_PROBLEMS = 200

#: What a programme may say; all else the data set says. A star stands for any name.
_ALLOWED_KEYS = """
dataset version title title.* languages date
defaults defaults.formats defaults.where defaults.complete defaults.universe defaults.universe.*
tables tables.*
tables.*.from tables.*.by tables.*.title tables.*.title.* tables.*.formats tables.*.where
tables.*.complete tables.*.universe tables.*.universe.*
tables.*.protect tables.*.value tables.*.round_to tables.*.parts tables.*.parts.enabled
tables.*.figures tables.*.figures.* tables.*.figures.*.kind tables.*.figures.*.of
tables.*.figures.*.where tables.*.figures.*.part tables.*.figures.*.whole tables.*.figures.*.over
tables.*.figures.*.base tables.*.figures.*.base.* tables.*.figures.*.factor
tables.*.figures.*.decimals tables.*.figures.*.hidden tables.*.figures.*.title
tables.*.figures.*.title.* tables.*.figures.*.unit tables.*.figures.*.unit.*
tables.*.notes tables.*.notes.cells tables.*.notes.cells.*
tables.*.notes.text tables.*.notes.text.*
"""
ALLOWED_KEYS = tuple(_ALLOWED_KEYS.split())
_ALLOWED = frozenset(ALLOWED_KEYS)
#: Methods that change a value alike in every table: releases beside each other tell no more.
_ALIKE = ("unit-noise",)


class ProgrammeOverData(Document):
    """A programme whose records, keys and parameters are those of a data set."""

    dataset: Text | None = None
    version: Text | None = None


@dataclass(frozen=True, kw_only=True)
class MethodChoice:
    """A method for a table of a programme."""

    name: str
    value: str = ""  # The value column that it publishes; empty for counts and their figures
    reason: str = ""  # Why the data set does not admit it; empty if it may be chosen


def method_choices(version: DataVersion, source: str) -> list[MethodChoice]:
    """Methods for tables of a source: that of queries, and those by which the data set protects
    values that no query gives; for the others, why not.
    """
    base, noisy = version.inputs.programme, version.parameters.magnitudes
    choices = [MethodChoice(name=DEFAULT)]
    for method in protections():
        tables = [base.tables[name] for name in base.protected[method.name]
                  if base.source_of(name).name == source]  # fmt: skip
        values = {value for table in tables for value in table.value or ()} - {*noisy}
        if method.name in _ALIKE and values:
            choices += [MethodChoice(name=method.name, value=value) for value in sorted(values)]
        elif method.name != DEFAULT:
            reason = clash(DEFAULT, method.name)[0]
            choices.append(MethodChoice(name=method.name, reason=reason))
    return choices


@dataclass(frozen=True, kw_only=True)
class StoredProgramme:
    """A programme that was handed in."""

    id: str  # Its number of 128 random bits
    owner: str  # Who handed it in
    dataset: str  # The data set that it is over
    version: str  # The version of the data set; empty for the latest
    uploaded_at: int  # When, in milliseconds since 1970
    digest: str  # SHA-256 of its text


class ProgrammeShelf:
    """The programmes of a service, in a folder that only it can read."""

    def __init__(self, folder: Path, clock: Callable[[], int]) -> None:
        self.folder, self._clock = folder, clock

    def put(self, text: bytes, owner: str) -> StoredProgramme:
        """Keep a programme that was found fit to be taken."""
        raw = checked(text)
        record = StoredProgramme(id=secrets.token_hex(16), owner=owner, dataset=raw["dataset"],
                                 version=raw.get("version", ""), uploaded_at=self._clock(),
                                 digest=hashlib.sha256(text).hexdigest())  # fmt: skip
        place = self.folder / record.id
        make_folder(self.folder, 0o700)
        place.mkdir(mode=0o700)
        write_text(place / _TEXT, text.decode("utf-8-sig"), private=True)
        write_text(place / _RECORD, json.dumps(asdict(record)), private=True)
        return record

    def drop(self, number: str) -> None:
        """Forget a programme that could not be written down."""
        shutil.rmtree(self._place(number), ignore_errors=True)

    def get(self, number: str) -> StoredProgramme:
        """One programme."""
        place = self._place(number)
        try:
            return StoredProgramme(**json.loads((place / _RECORD).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            raise _none() from None

    def every(self) -> list[StoredProgramme]:
        """All programmes, the latest first."""
        found = []
        for path in self.folder.glob("*"):
            with suppress(ServiceError):  # no programme, or its upload was interrupted
                found.append(self.get(path.name))
        return sorted(found, key=lambda each: (-each.uploaded_at, each.id))

    def text(self, number: str) -> str:
        """The text of a programme."""
        return self.file(number).read_text("utf-8")

    def file(self, number: str) -> Path:
        """The file of a programme's text."""
        return self._place(number) / _TEXT

    def draft(self, number: str, draft: str) -> Path:
        """The folder of a draft of a release: that of the job that makes it."""
        if not _NUMBER.fullmatch(draft):
            raise ServiceError("preview not found", "not-found", "draft")
        return self._place(number) / _DRAFTS / draft

    def drafts(self, number: str) -> list[str]:
        """The drafts that were begun, the latest first."""
        folder = self._place(number) / _DRAFTS
        paths = [path for path in folder.glob("*") if _NUMBER.fullmatch(path.name)]
        paths.sort(key=lambda each: (each.stat().st_mtime_ns, each.name), reverse=True)
        return [item.name for item in paths]

    def _place(self, number: str) -> Path:
        if not _NUMBER.fullmatch(number):
            raise _none()
        return self.folder / number


def _none() -> ServiceError:
    return ServiceError("programme not found", "not-found", "programme")


def raise_told(what: str, problems: Sequence[Problem]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    if problems:
        many = f"{what}: {len(problems)} mistakes"
        raise ServiceError.of(problems[:_MOST_PROBLEMS], many, code="invalid-input")


def checked(text: bytes) -> dict[str, Any]:
    r"""The entries of a programme that names nothing that it may not.

    >>> checked(b'dataset = "census"\n[data]\nsource = "/etc/passwd"\n[tables.a]\nby = []')
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] line 2, data: not allowed here
      Hint: files, keys, parameters and rules come from the data set
    """
    raw = parsed(text)
    # Keys that only a data set may have.
    index = LineIndex.of(text.decode("utf-8-sig").replace("\r\n", "\n"))
    known = sorted({item.rpartition(".")[2] for item in _ALLOWED} - {"*"})
    hint = "files, keys, parameters and rules come from the data set"
    problems = []
    for path in _beyond(raw, (), ("",)):
        near = nearest(str(path[-1]), known)
        usual = near if near.startswith("closest") else hint
        problems.append(Problem("not allowed here", index.place(path), usual))
    if not isinstance(raw.get("dataset"), str) or not raw["dataset"]:
        hint = 'dataset = "census"'
        problems.append(Problem("the programme lacks a data set", "dataset", hint))
    if not isinstance(raw.get("version", ""), str):
        problems.append(Problem("version must be a text", "version", 'version = "2026-1"'))
    if not isinstance(raw.get("tables"), dict) or not raw["tables"]:
        problems.append(Problem("the programme has no tables", "tables", "[tables.NAME]"))
    raise_told("the programme is not accepted", problems)
    return raw


def programme_completion(version: DataVersion | None, datasets: Sequence[str]) -> dict[str, Any]:
    """Completion for a programme: its keys as they are declared, and values of some; a star
    stands for any name.
    """
    units = [] if version is None else [*version.units.values()]
    formats, values = [*FORMATS], [column for unit in units for column in unit.values]
    return {
        "keys": ALLOWED_KEYS,
        "values": {
            "dataset": datasets,
            "languages": ("en", "de"),
            "defaults.formats": formats,
            "tables.*.formats": formats,
            "tables.*.from": [unit.source for unit in units],
            "tables.*.protect": [
                *dict.fromkeys(
                    choice.name
                    for unit in units
                    for choice in method_choices(version, unit.source)
                    if not choice.reason
                )
            ]
            if version
            else [],
            "tables.*.by": [*dict.fromkeys(name for unit in units for name in unit.variables)],
            "tables.*.figures.*.kind": get_args(FigureKind),
            "tables.*.figures.*.of": [*dict.fromkeys(values)],
        },
    }


def key_sections() -> dict[str, list[str]]:
    """The keys of a programme by the section in which they stand.

    >>> key_sections()["defaults"]
    ['formats', 'where', 'complete', 'universe']
    """
    sections: dict[str, list[str]] = {}
    for key in ALLOWED_KEYS:
        head, _, own = key.rpartition(".")
        if own != "*":
            sections.setdefault(head.replace("*", "NAME"), []).append(own)
    return sections


def parsed(text: bytes) -> dict[str, Any]:
    """The entries of a programme's text.

    >>> parsed(b'dataset = "census"')
    {'dataset': 'census'}
    """
    if len(text) > LARGEST:
        message = "the programme is too long"
        raise ServiceError(message, "too-large", limit=LARGEST, actual=len(text))
    try:
        return tomllib.loads(text.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        message, hint = "not UTF-8 text", "use a TOML file"
        raise ServiceError(message, "invalid-body", hint=hint) from None
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"at line (\d+), column (\d+)", str(error))
        where = f"line {match[1]}, column {match[2]}" if match else ""
        hint = "put texts in quotes, write each key once, and one key per line"
        raise ServiceError("not valid TOML", "invalid-body", where, hint) from None
    except RecursionError:
        raise ServiceError("the text is nested too deeply", "invalid-body") from None


def _beyond(value: Any, path: KeyPath, forms: tuple[str, ...]) -> Iterator[KeyPath]:
    """The keys that are not in the list of those that may stand; names stand for a star."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from _beyond(each, (*path, at), forms)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        bare = [
            f"{form}.{part}".lstrip(".")
            for form in forms
            for part in ((key if "." not in key and key != "*" else "\0"), "*")
        ]
        fits = tuple(item for item in bare if item in _ALLOWED)
        if fits:
            yield from _beyond(inner, (*path, key), fits)
        else:
            yield (*path, key)


def opened_inputs(place: Path, version: DataVersion) -> Inputs:
    """A programme with the data set that it is over, opened. CONFIDENTIAL.

    Raises:
        ServiceError: Everything that is wrong, with lines.
    """
    base = version.inputs.programme
    try:
        told, file, problems = read_form(place, ProgrammeOverData)
        programme = _merged(base, told, file)
        problems += _beyond_the_data(programme, version)
        made = open_programme(programme, problems)
    except DiscreetError as error:
        raise_told("the programme has problems", _without_places(error, place, base.path))
        raise
    return dataclasses.replace(
        made,
        records=version.inputs.records,
        parameters=version.inputs.parameters,
        trees={**made.trees, **version.inputs.trees},
    )


def _merged(base: Programme, told: ProgrammeOverData, file: ProgrammeFile) -> Programme:
    names = ("formats", "where", "complete", "universe")
    stated = {name: getattr(told.defaults, name) for name in names}
    given = {name: each for name, each in stated.items() if each is not None}
    # Whom the data set is not about, no programme over it is about.
    usual = base.document.defaults.where
    if "where" in given:
        given["where"] = all_of(usual, given["where"])
    shared = base.document.defaults.model_copy(update=given)
    formats = _with_exact(shared.formats)
    tables = {}
    for name, entry in told.tables.items():
        own: dict[str, Any] = {}
        if entry.formats is not None:
            own["formats"] = _with_exact(entry.formats)
        if entry.where is not None:
            own["where"] = all_of(usual, entry.where)
        if entry.protect not in (None, DEFAULT):
            own["round_to"] = 1  # the rounding of the data set is that of its noise
        tables[name] = entry.model_copy(update=own)
    document = base.document.model_copy(
        update={
            "title": told.title or base.document.title,
            "languages": told.languages,
            "date": told.date,
            "workbook": None,
            "atlas": None,
            # The internal report is confidential, and nobody here asks for it.
            "quality": QualityEntry(enabled=base.document.quality.enabled),
            "defaults": shared.model_copy(update={"formats": formats}),
            "tables": tables,
        }
    )
    return dataclasses.replace(
        base,
        document=document,
        index=file.index,
        skipped=file.skipped,
        found_relations={},
        # What is official is said for the tables of the data set, and names variables of theirs.
        also_spanning={source: frozenset(base.spanning(source)) for source in base.sources},
    )


def _with_exact(formats: Sequence[str] | None) -> list[str]:
    return list(dict.fromkeys([*(formats or ["csv"]), EXACT]))


def _beyond_the_data(programme: Programme, version: DataVersion) -> Iterator[Problem]:
    """What the data set does not offer: variables, columns that tell one record from others,
    methods, and weaker rules.
    """
    base, names = version.inputs.programme.document, list(version.inputs.programme.variables)
    own = programme.document.defaults.where
    filters: list[tuple[KeyPath, str | None]] = [(("defaults", "where"), own)]
    for table, entry in programme.document.tables.items():
        place, method = ("tables", table), entry.protect or DEFAULT
        filters.append(((*place, "where"), entry.where))
        filters += [
            ((*place, "figures", name, "where"), figure.where)
            for name, figure in entry.figures.items()
        ]
        for at, name in enumerate(entry.by or []):
            if name not in names:
                message = f"variable {name!r} not found in the data set"
                yield programme.problem((*place, "by", at), message, nearest(name, names))
        choices = [one for one in method_choices(version, programme.source_of(table).name)
                   if one.name == method]  # fmt: skip
        for choice in choices:
            if choice.reason:
                message = f"not admitted beside the answers to queries: {choice.reason}"
                yield programme.problem((*place, "protect"), message, f'protect = "{DEFAULT}"')
        offered = [choice.value for choice in choices if choice.value]
        for value in entry.value or () if offered else ():
            if value not in offered:
                message = f"the data set does not publish {value!r} by this method"
                yield programme.problem((*place, "value"), message, nearest(value, offered))
        weaker = entry.parts is not None and not entry.parts.enabled
        if weaker and base.parts and base.parts.enabled:
            message, hint = "the data set suppresses disclosive subtables", "remove parts"
            yield programme.problem((*place, "parts"), message, hint)
        least = base.defaults.round_to
        if method == DEFAULT and entry.round_to is not None and least and entry.round_to % least:
            message, hint = "finer than the data set publishes", f"a multiple of {least}"
            yield programme.problem((*place, "round_to"), message, hint)
    keys = [source.keys for source in programme.sources.values()]
    telling = {one for key in keys for one in (*(key.id or ()), *(key.by or ()), key.column)}
    for path, where in filters:
        try:
            columns = parse_filter(where).columns if where and where.strip() else ()
        except DiscreetError:
            continue  # the checks of the programme say so
        message, hint = "filters cannot use identifiers", "filter by variables of the data set"
        for _ in telling.intersection(columns):
            yield programme.problem(path, message, hint)


def _without_places(error: DiscreetError, *places: Path) -> list[Problem]:
    """The problems of an error, without places on the disk."""
    hidden = [str(each) for place in places for each in (place, place.absolute())]
    hidden += [str(place.parent) for place in places]

    def plain(text: str) -> str:
        for item in sorted(hidden, key=len, reverse=True):
            text = text.replace(f"{item}, ", "").replace(item, "the data set")
        return text

    return [
        Problem(plain(problem.what), plain(problem.where), plain(problem.hint))
        for problem in error.problems
    ]


def told_problems(verdict: dict[str, Any], lines: list[str]) -> list[dict[str, Any]]:
    """Problems with their line number and line."""
    found = []
    for item in verdict["problems"]:
        place = _LINE.fullmatch(item["where"])
        where = place[2] if place else item["where"]
        number = int(place[1]) if place else _line_of(where, lines)
        text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        found.append({**item, "line": number, "text": text[:200], "place": where})
    return sorted(found, key=lambda each: each["line"])


def _line_of(key: str, lines: list[str]) -> int:
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("["):
            break
        if line.partition("=")[0].strip() == key and key:
            return number
    return 0
