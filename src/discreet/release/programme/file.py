"""Table programmes: what is to be published, as one TOML file.

In: the path of a programme. Out: a `Programme` with one `RecordSource` per kind of unit, or
one `ProgrammeError` that lists every mistake with its line and key. Nothing here has seen
data.
"""

from __future__ import annotations

import copy
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from discreet.errors import DiscreetError, Problem, ProgrammeError
from discreet.microdata import is_url, shown_url
from discreet.protection.protocol import Protection
from discreet.protection.registry import DEFAULT, protection, protections
from discreet.release.programme.schema import (
    Document,
    MagnitudeEntry,
    PartsEntry,
    PerturbationEntry,
    TableEntry,
    ValueEntry,
    VariableEntry,
    method_settings,
)
from discreet.release.programme.sources import (
    DataEntry,
    KeysEntry,
    RecordsEntry,
    SourceKeysEntry,
)
from discreet.release.programme.suppression_sections import SuppressionEntry
from discreet.release.programme.toml_lines import KeyPath, LineIndex
from discreet.release.programme.values import ProgrammeEntry
from discreet.settings import plain_problem
from discreet.tables import ValueRelation

#: The filter of the universe: every record.
UNIVERSE = ""

#: Name of the main source, unless [data] gives it one.
MAIN = "data"

#: The column that keys are put in, unless they are inherited from a column of another name.
_MADE = "record_key"


@dataclass(frozen=True, kw_only=True)
class RecordSource:
    """The records of one kind of unit."""

    name: str  # what tables and other sources call it
    main: bool  # whether it is the one of [data] and [keys]
    path: KeyPath  # the key of its section
    records: RecordsEntry  # where its records are
    keys_path: KeyPath  # the key of what says how they get their record keys
    keys: SourceKeysEntry  # how they get their record keys
    official: str | None = None  # which of its figures are published as they are
    #: The source that its units consist of, and the columns of both that name the unit
    consists_of: tuple[str, tuple[str, ...]] | None = None

    @property
    def place(self) -> KeyPath:
        """The key that names the file or database."""
        return (*self.path, next(iter(self.records.places), "database"))

    @property
    def plain_parts(self) -> str | None:
        """The source whose keys its units share: their keys are plain sums of these."""
        return None if self.keys.unit is not None else self.keys.inherit

    @property
    def called(self) -> str:
        """Name of its records in messages."""
        return "the data have" if self.main else f"the records of {self.name!r} have"


def main_source(data: DataEntry, keys: ProgrammeEntry, official: str | None = None) -> RecordSource:
    """The source of [data] and [keys]."""
    return RecordSource(
        name=data.name or MAIN,
        main=True,
        path=("data",),
        records=data,
        keys_path=("keys",),
        keys=SourceKeysEntry.model_construct(**{n: v for n, v in keys if n != "grid"}),
        official=official,
    )


def sources_of(document: Document) -> dict[str, RecordSource]:
    """All sources of a programme by name, the main one first."""
    data, keys = document.data or DataEntry(), document.keys or KeysEntry()
    main = main_source(data, keys, document.defaults.official)
    sources = {main.name: main}
    for name, entry in document.sources.items():
        own = entry.keys or SourceKeysEntry()
        # What its units consist of: as stated, or where their keys come from.
        parts = (own.inherit, tuple(own.by)) if own.inherit and own.by else None
        if (stated := entry.consists_of) is not None:
            parts = stated.source, tuple(stated.by)
        other = RecordSource(
            name=name,
            main=False,
            path=("sources", name),
            records=entry,
            keys_path=("sources", name, "keys"),
            keys=own,
            official=entry.official,
            consists_of=parts,
        )
        sources.setdefault(name, other)
    return sources


def key_line(sources: Mapping[str, RecordSource], name: str) -> list[str]:
    """A source and those its keys come from, up to one that has keys of its own.

    Where keys go round in a circle, the last name is one that stands before.
    """
    line = [name]
    while (parts := sources[line[-1]].keys.inherit) in sources:
        assert parts is not None
        line.append(parts)
        if parts in line[:-1]:
            break
    return line


def key_column(sources: Mapping[str, RecordSource], name: str) -> str:
    """The column that holds the keys of a source, there or to be made."""
    return sources[key_line(sources, name)[-1]].keys.column or _MADE


_AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
Form = TypeVar("Form", bound=ProgrammeEntry)


@dataclass(frozen=True, kw_only=True)
class ProgrammeFile:
    """Places of the keys of a programme, and the files it names."""

    path: Path  # where it was read from; files it names are relative to its folder
    index: LineIndex = field(default_factory=LineIndex)  # the line of each key
    #: Keys whose values could not be used, each reported already
    skipped: frozenset[KeyPath] = frozenset()

    @property
    def name(self) -> str:
        """The file name of the programme."""
        return self.path.name

    @property
    def place(self) -> str:
        """Its path, as errors show it; empty for a programme that stands in no file."""
        return str(self.path) if any(self.index.lines.values()) else ""

    def file(self, name: str) -> Path:
        """A file that the programme names."""
        return self.path.parent / Path(name).expanduser()

    def problem(self, path: Sequence[str | int], what: str, hint: str = "") -> Problem:
        """Something wrong at a key."""
        return Problem(what, self.index.place(tuple(path)), hint, tuple(path))

    def at(self, path: KeyPath, what: str, hint: str = "") -> tuple[KeyPath, Problem]:
        """Something wrong at a key, with the key."""
        return path, self.problem(path, what, hint)

    def reported(self, path: KeyPath) -> bool:
        """Whether the value at a key was wrong already, so that its absence is no news."""
        return any(path[: len(skipped)] == skipped for skipped in self.skipped)


@dataclass(frozen=True, kw_only=True)
class Programme(ProgrammeFile):
    """A table programme as it was read."""

    document: Document  # its entries
    #: Place of records and filter → what adds up in all of them, though nobody states it; empty
    #: before the data are there
    found_relations: Mapping[tuple[str, str], tuple[ValueRelation, ...]] = field(
        default_factory=dict
    )
    #: Source → variables that span tables of it elsewhere: what is said of its official figures may
    #: name them, too
    also_spanning: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """The output languages; the first is the main one."""
        return tuple(self.document.languages)

    @property
    def data(self) -> DataEntry:
        """[data]"""
        return self.document.data or DataEntry()

    @property
    def keys(self) -> KeysEntry:
        """[keys]"""
        return self.document.keys or KeysEntry()

    @cached_property
    def sources(self) -> Mapping[str, RecordSource]:
        """The records of each kind of unit, by name; the main source first."""
        return sources_of(self.document)

    @property
    def main(self) -> RecordSource:
        """The source of [data] and [keys]."""
        return next(iter(self.sources.values()))

    def source_of(self, table: str) -> RecordSource:
        """The source whose records a table counts; the main one if it names none there is."""
        return self.sources.get(self.document.tables[table].source or "", self.main)

    def known_source(self, name: str | None) -> str:
        """The name of a source that is asked for; that of the main one if None."""
        if name and name not in self.sources:
            hint = f"sources: {', '.join(self.sources)}"
            message = f"unknown source {name!r}"
            raise ProgrammeError(message, code="source", where=str(self.path), hint=hint)
        return name or self.main.name

    def with_data(self, data: Mapping[str, str | os.PathLike[str]]) -> Programme:
        """A copy with other files of records for some sources."""
        document = self.document
        for name, place in data.items():
            self.known_source(name)
            records = self.sources[name].records
            others = (*records.places, "format", "table", "query")
            places = {**dict.fromkeys(others), "source": str(Path(place).absolute())}
            entry = records.model_copy(update=places)
            if self.sources[name].main:
                document = document.model_copy(update={"data": entry})
            else:
                sources = {**document.sources, name: entry}
                document = document.model_copy(update={"sources": sources})
        return replace(self, document=document)

    @property
    def perturbation(self) -> PerturbationEntry:
        """[perturbation]"""
        return self.document.perturbation or PerturbationEntry()

    @property
    def magnitudes(self) -> Mapping[str, MagnitudeEntry]:
        """[magnitudes.*]"""
        return self.document.magnitudes

    @cached_property
    def variables(self) -> Mapping[str, VariableEntry]:
        """[variables.*], and the groupings of their classes at break points."""
        stated = self.document.variables
        merged = [entry.merged(name) for name, entry in stated.items() if entry.breaks]
        return {name: entry for each in (*merged, stated) for name, entry in each.items()}

    def place_of(self, source: str) -> str:
        """Name of the records of a source; two sources can have the same records."""
        records = self.sources[source].records
        name = records.address or ""
        place = shown_url(name) if is_url(name) else str(self.file(name).resolve())
        return "\n".join([place, records.table or "", records.query or ""])

    @cached_property
    def places(self) -> Mapping[str, str]:
        """Names of the records of each table; different records have different names."""
        places = {name: self.place_of(name) for name in self.sources}
        return {name: places[self.source_of(name).name] for name in self.tables}

    def parts_of(self, source: str) -> str:
        """Name of the records of the smallest parts that the units of a source consist of."""
        seen = set[str]()
        while (own := self.sources[source].consists_of) is not None and source not in seen:
            seen.add(source)
            source = own[0] if own[0] in self.sources else source
        return self.place_of(source)

    def records_of(self, table: str) -> str:
        """The first source that has the records of a table."""
        return self._first_sources[self.places[table]]

    @cached_property
    def _first_sources(self) -> Mapping[str, str]:
        return {self.place_of(name): name for name in reversed(list(self.sources))}

    def columns_of(self, variable: str) -> list[tuple[KeyPath, str]]:
        """The columns of the data that a variable needs, and the keys that name them."""
        entry = self.variables[variable]
        path: KeyPath = ("variables", variable)
        if entry.alternatives:
            return []
        columns: list[tuple[KeyPath, str]] = [
            ((*path, "levels", number), column) for number, column in enumerate(entry.levels or [])
        ]
        if entry.column is not None:
            columns.append(((*path, "column"), entry.column))
        elif own := self._hierarchy_columns.get(variable):
            columns += [((*path, "hierarchy"), column) for column in own]
        elif not entry.levels:
            columns.append((path, variable))
        if (coarser := entry.coarser_column(variable)) is not None:
            columns.append(((*path, "level"), coarser))
        if entry.within is not None:
            columns.append(((*path, "within"), entry.within))
        if (merged := entry.merged_column(variable)) is not None:
            columns.append(((*path, "at_least"), merged))
        return columns

    @cached_property
    def _hierarchy_columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns that files of hierarchies name; other mistakes in them are told elsewhere."""
        from discreet.classifications import Classification

        columns = {}
        for name, entry in self.variables.items():
            place = self.file(entry.hierarchy or "")
            if entry.hierarchy and place.suffix.lower() in (".json", ".toml") and place.is_file():
                with suppress(DiscreetError):
                    tree = Classification.read(place, name=name)
                    columns[name] = tree.level_columns or ((tree.column,) if tree.column else ())
        return columns

    def stated_column(self, variable: str) -> str:
        """The column of a variable's codes; that of its finest level where there are several."""
        entry = self.variables[variable]
        named = self._hierarchy_columns.get(variable) or entry.levels or [variable]
        return entry.column or named[-1]

    def columns_behind(self, variable: str) -> set[str]:
        """The columns of the data behind a variable; itself if it has no entry."""
        entry = self.variables.get(variable)
        if entry is None:
            return {variable}
        known = [part for part in entry.alternatives or [variable] if part in self.variables]
        return {column for part in known for _, column in self.columns_of(part)}

    @cached_property
    def stated_relations(self) -> tuple[ValueRelation, ...]:
        """The relations of [relations]; those with mistakes are reported by the checks."""
        relations = []
        for key, text in self.document.relations.items():
            with suppress(DiscreetError):
                relations.append(ValueRelation.stated(key, text))
        return tuple(relations)

    def relations_of(self, table: str) -> list[ValueRelation]:
        """Additive relations among the cells of a table, stated or found in its records."""
        place, where = self.places[table], self.tables[table].where or ""
        found = [self.found_relations.get((place, part), ()) for part in dict.fromkeys(("", where))]
        return list(dict.fromkeys([*self.stated_relations, *chain.from_iterable(found)]))

    def linked_by_relations(
        self, tables: Sequence[str]
    ) -> Iterator[tuple[ValueRelation, list[str]]]:
        """Relations, each with tables of the same records and weights that tell of its values."""
        groups: dict[tuple[str, str], list[str]] = {}
        for name in tables:
            groups.setdefault((self.places[name], self.tables[name].weight or ""), []).append(name)
        for names in groups.values():
            users: dict[ValueRelation, list[str]] = {}
            for name in names:
                for relation in self.relations_of(name):
                    if set(relation.values) & set(self.tells(name)):
                        users.setdefault(relation, []).append(name)
            for relation, own in users.items():
                values = {value for name in own for value in self.tells(name)}
                if len(values & set(relation.values)) > 1:
                    yield relation, own

    @cached_property
    def tables(self) -> Mapping[str, TableEntry]:
        """[tables.*] with the defaults filled in, in the order of the file."""
        return {
            name: entry.over(self._defaults[self.source_of(name).name])
            for name, entry in self.document.tables.items()
        }

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        # What is official is said of the units of one source, never of those of another.
        return {
            name: self.document.defaults.model_copy(update={"official": source.official})
            for name, source in self.sources.items()
        }

    def with_table(self, name: str, entry: TableEntry) -> Programme:
        """A copy with one more table, or with another one of this name."""
        tables = {**self.document.tables, name: entry}
        found = replace(self, document=self.document.model_copy(update={"tables": tables}))
        # What is the same for both is not worked out again.
        names = ("sources", "variables", "_defaults", "_hierarchy_columns")
        same = {name: getattr(self, name) for name in names}
        own = entry.over(self._defaults[found.source_of(name).name])
        found.__dict__.update({**same, "tables": {**self.tables, name: own}})
        return found

    def method(self, table: str) -> Protection:
        """Protection method of a table."""
        return protection(self.tables[table].protect or DEFAULT)

    @cached_property
    def protected(self) -> Mapping[str, tuple[str, ...]]:
        """Each method there is by name, with the tables that it protects."""
        users: dict[str, list[str]] = {method.name: [] for method in protections()}
        for name in self.tables:
            users[self.method(name).name].append(name)
        return {name: tuple(tables) for name, tables in users.items()}

    @property
    def methods(self) -> tuple[Protection, ...]:
        """The methods by which tables are protected."""
        return tuple(method for method in protections() if self.protected[method.name])

    def additive_with(self, table: str) -> tuple[str, ...]:
        """The tables that are made additive together with one; none if it is not made so.

        They have the same records and figure, so that cells in common stay equal.
        """

        def kind(name: str) -> tuple[Any, ...]:
            entry = self.tables[name]
            figures = [(figure.kind, figure.of, figure.where) for figure in entry.figures.values()]
            return self.places[name], entry.weight, entry.where, entry.round_to, figures

        own = self.method(table)
        if not self.tables[table].additive or "additive" not in own.table_keys:
            return ()
        every = [name for name in self.protected[own.name] if self.tables[name].additive]
        return tuple(name for name in every if kind(name) == kind(table))

    def linked(self, method: Protection) -> list[tuple[str, ...]]:
        """The tables of a method in groups of those that are made together."""
        groups = [set(group) for group in method.linked(self, self.protected[method.name])]
        for name in self.protected[method.name]:
            if together := {
                *self.additive_with(name),
                *self.parts_tied_with(name),
                *self.parts_with(name),
            }:
                joined = [group for group in groups if group & together]
                groups = [group for group in groups if group not in joined]
                groups.append(set().union(*joined))
        return [tuple(name for name in self.tables if name in group) for group in groups]

    def tells(self, table: str) -> tuple[str, ...]:
        """Figures of a table, including hidden ones: value columns, or `COUNT`."""
        return tuple(self.method(table).tells(self, table))

    def understood(self, method: Protection) -> bool:
        """Whether the section of a method is right; if not, what is wrong is reported."""
        return not any(lost[:2] == ("protection", method.name) for lost in self.skipped)

    def settings(self, method: str) -> Any:
        """[protection.NAME], in the form that the method gives it."""
        form = protection(method).settings
        return self.document.protection.get(
            method, None if form is None else form.model_construct()
        )

    def value(self, name: str) -> ValueEntry:
        """[values.NAME], or how a value is printed that has no section."""
        return self.document.values.get(name) or ValueEntry()

    def keyed(self, table: str) -> bool:
        """Whether the records of a table have keys."""
        keys = self.source_of(table).keys
        return any((keys.column, keys.id, keys.inherit))

    @property
    def suppression(self) -> SuppressionEntry:
        """[suppression]"""
        return self.document.suppression or SuppressionEntry.model_construct()

    def spanning(self, source: str) -> set[str]:
        """The names in `by` of all tables of a source, of those elsewhere, too."""
        tables = [entry for n, entry in self.tables.items() if self.source_of(n).name == source]
        here = {name for table in tables for name in table.by or []}
        return here | self.also_spanning.get(source, frozenset())

    def with_package(self, rules: PerturbationEntry, parts: PartsEntry | None) -> Programme:
        """A copy with what a package says of counts and table parts, to be checked alike."""
        sections = {"perturbation": rules, "parts": parts}
        return replace(self, document=self.document.model_copy(update=sections))

    def thresholds(self, table: str) -> dict[str, Any] | None:
        """The thresholds of table parts that hold for a table; None where parts stay."""
        if not self.method(table).parts:
            return None
        general, own = self.document.parts, self.tables[table].parts
        decisive = own or general
        if decisive is None or not decisive.enabled:
            return None
        common = general.thresholds if general is not None else {}
        return common | (own.thresholds if own is not None else {})

    def part_areas(self, table: str) -> str | None:
        """The variable whose areas are decided on one by one, if the table has rules for parts."""
        entry = self.tables[table]
        if self.thresholds(table) is None:
            return None
        stated = [item.per for item in (entry.parts, self.document.parts) if item]
        named = [*stated, entry.areas.variable if entry.areas else None]
        return next((item for item in named if item and item in (entry.by or ())), None)

    def parts_with(self, table: str) -> tuple[str, ...]:
        """The tables whose parts are decided together with those of one; none if it is alone.

        Where areas are decided on one by one, a part that one table hides must not stand in
        another of the same records.
        """
        return self._parts_together.get(table, ())

    def parts_tied_with(self, table: str) -> tuple[str, ...]:
        """The tables that records may tie to one, whatever names they have for it; none if alone.

        These are all of the same records if there are rules for the parts of any.
        """
        return self._parts_tied.get(table, ())

    @cached_property
    def _parts_together(self) -> Mapping[str, tuple[str, ...]]:
        general, together = self.document.parts, dict[str, tuple[str, ...]]()
        for group in self._part_groups(lambda entry: entry.where or ""):
            entries = [general, *(self.tables[name].parts for name in group)]
            single = any(entry is not None and entry.per for entry in entries)
            if single or any(self.tables[name].areas is not None for name in group):
                together |= dict.fromkeys(group, group)
        return together

    @cached_property
    def _parts_tied(self) -> Mapping[str, tuple[str, ...]]:
        tied: dict[str, tuple[str, ...]] = {}
        for group in self._part_groups(lambda entry: ""):
            if any(self.thresholds(name) is not None for name in group):
                tied |= dict.fromkeys(group, group)
        return tied

    def _part_groups(self, apart: Callable[[TableEntry], str]) -> list[tuple[str, ...]]:
        """Tables of one method that decides on parts, and of the same records."""
        groups: dict[tuple[str | None, ...], list[str]] = {}
        for name, entry in self.tables.items():
            if (own := self.method(name)).parts:
                key = own.name, self.records_of(name), entry.weight or None, apart(entry)
                groups.setdefault(key, []).append(name)
        return [tuple(group) for group in groups.values() if len(group) > 1]

    def held_against_all(self, table: str) -> bool:
        """Whether the parts of a filtered table are held against all records."""
        entries = (self.tables[table].parts, self.document.parts)
        stated = [entry.universe for entry in entries if entry is not None and entry.universe]
        return not stated or stated[0] == "all"

    def setting(self, table: str, key: str) -> KeyPath:
        """Place of a setting of a table: its own entry, its source, or the defaults."""
        own, source = ("tables", table, key), self.source_of(table)
        if own in self.index.lines:
            return own
        apart = key == "official" and not source.main
        return (*source.path, key) if apart else ("defaults", key)

    def __repr__(self) -> str:
        return f"<Programme {self.name}: {len(self.tables)} tables>"


def load(path: str | os.PathLike[str]) -> tuple[Programme, list[Problem]]:
    """Read a programme as far as it can be understood, and what could not.

    Raises:
        ProgrammeError: If the file cannot be read or is not TOML.
    """
    document, file, problems = read_form(Path(path), Document)
    return Programme(document=document, **vars(file)), problems


def from_document(document: Mapping[str, Any], path: Path) -> tuple[Programme, list[Problem]]:
    """Read a document in memory; file names are relative to the folder of `path`."""
    raw, index = copy.deepcopy(dict(document)), LineIndex.of_document(document)
    entries, file, problems = _validated(raw, path, index, Document)
    return Programme(document=entries, **vars(file)), problems


def read_form(place: Path, form: type[Form]) -> tuple[Form, ProgrammeFile, list[Problem]]:
    """A TOML file as far as it has a form, where its keys stand, and what is wrong.

    Raises:
        ProgrammeError: If the file cannot be read or is not TOML.
    """
    where, code = str(place), "programme-file"
    try:
        text = place.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        return _validated(tomllib.loads(text), place, LineIndex.of(text), form)
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} is not UTF-8 text"
        hint = "a programme is a TOML file, saved as UTF-8"
    except OSError as error:
        what = f"cannot read the programme ({error.strerror})"
        hint = "give the path of a TOML file"
    except tomllib.TOMLDecodeError as error:
        code, match = "programme-syntax", _AT_LINE.search(str(error))
        where += f", line {match[1]}, column {match[2]}" if match else ""
        reason = _AT_LINE.sub("", str(error)).strip().rstrip(".")
        what = f"the file is not valid TOML: {reason}"
        hint = "put texts in quotes, write each key once, and one key per line"
    except RecursionError:
        code, what = "programme-syntax", "the file is nested too deeply"
        hint = "use at most three levels of brackets"
    raise ProgrammeError(what, code=code, where=where, hint=hint)


def _validated(
    raw: dict[str, Any], place: Path, index: LineIndex, form: type[Form]
) -> tuple[Form, ProgrammeFile, list[Problem]]:
    """Check the form; drop what is wrong, so that the rest can be checked further."""
    problems: list[Problem] = []
    skipped: list[KeyPath] = []
    while True:
        try:
            document = form.model_validate(raw)
        except ValidationError as error:
            for details in error.errors(include_url=False, include_input=False):
                path = tuple(part for part in details["loc"] if part != "[key]")
                of_method = path[0] == "protection" and len(path) > 2
                keys = method_settings().get(str(path[1])) if of_method else None
                known = [] if keys is None else list(keys.model_fields)
                problem = plain_problem(details, str(path[-1]), index.place(path), known)
                problems.append(replace(problem, key=path))
                skipped.append(_drop(raw, path))
        else:
            return (
                document,
                ProgrammeFile(path=place, index=index, skipped=frozenset(skipped)),
                problems,
            )


def _drop(raw: dict[str, Any], path: KeyPath) -> KeyPath:
    """Remove the innermost named value on the way to a mistake."""
    named = len(path) - 1
    while named > 0 and not isinstance(path[named], str):
        named -= 1
    place: Any = raw
    for at, part in enumerate(path[:named]):
        if not isinstance(place, dict) or part not in place:
            return path[:at]
        if not isinstance(place[part], dict):
            place.pop(part)
            return path[: at + 1]
        place = place[part]
    if named and path[named] not in place:  # a key is missing: what lacks it goes
        return _drop(raw, path[:named])
    place.pop(path[named], None)
    return path[: named + 1]


def raise_problems(place: str, problems: Sequence[Problem]) -> None:
    """Raise one `ProgrammeError` for all problems; do nothing when there is none."""
    if not problems:
        return
    ordered = sorted(dict.fromkeys(problems), key=_line)
    number = len(ordered)
    message = f"the programme has {number} problems" if number > 1 else ordered[0].what
    where = place if number > 1 else f"{place}, {ordered[0].where}".strip(", ")
    shown = ordered if number > 1 else [replace(ordered[0], where=where)]
    hint = shown[0].hint if number == 1 else ""
    raise ProgrammeError(message, code="programme", where=where, hint=hint, problems=shown)


def _line(problem: Problem) -> int:
    match = re.match(r"line (\d+)", problem.where)
    return int(match[1]) if match else 0
