"""`DataVersion`: a version of a data set, opened and found fit to be asked. CONFIDENTIAL. What
would tell of the data is refused here, once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import Field, StringConstraints

from discreet._version import __version__
from discreet.classifications import Classification, levels_folded
from discreet.confidential import without_values
from discreet.errors import Problem, nearest
from discreet.microdata import Secret, StoredRecords, distant_records
from discreet.release import (
    COUNTED,
    Decimals,
    FigureEntry,
    Inputs,
    KeyedRecords,
    Parameters,
    Programme,
    ProgrammeEntry,
    TableEntry,
    Texts,
    key_line,
    open_inputs,
    raise_problems,
    read_form,
    rule_where_known,
)
from discreet.settings import NameList, Text
from discreet.store import Store, tree_digest
from discreet.tables import Table, code_texts
from discreet.tabulation import Query, tabulate_many
from discreet_service.datasets.records import SourceColumns
from discreet_service.datasets.variables import CatalogueVariable, grouped_apart
from discreet_service.last_used import LastUsed

#: The file that makes a folder a version of a data set.
DESCRIPTION = "DATASET.toml"

_Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
_Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


class DatasetEntry(ProgrammeEntry):
    """[dataset]: what it is called, and what stands where."""

    id: _Id
    version: _Version
    title: Texts
    description: Texts = Field(default_factory=dict)
    period: Text | None = None
    source: Texts = Field(default_factory=dict)
    programme: Text = "programme.toml"
    parameter_set: Text | None = None
    geography: list[Text] = Field(default_factory=list)
    public_codes: list[Text] = Field(default_factory=list)
    #: Variable → other words for it, in any language: by these people find it, too
    synonyms: dict[Text, list[Text]] = Field(default_factory=dict)
    levels: dict[Text, Texts] = Field(default_factory=dict)  # Level → what people call it


class UnitValueEntry(ProgrammeEntry):
    """[units.NAME.values.COLUMN]: a value column of which sums and means can be asked for."""

    label: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    decimals: Decimals | None = None
    sums: bool = True
    means: bool = True


class UnitEntry(ProgrammeEntry):
    """[units.NAME]: one kind of unit that can be counted."""

    source: Text
    store: Text | None = None
    label: Texts = Field(default_factory=dict)
    variables: NameList | None = None
    values: dict[str, UnitValueEntry] = Field(default_factory=dict)
    figures: dict[str, FigureEntry] = Field(default_factory=dict)


class DatasetDescription(ProgrammeEntry):
    """A whole DATASET.toml."""

    dataset: DatasetEntry
    units: Annotated[dict[_Id, UnitEntry], Field(min_length=1)]


def read_description(folder: Path) -> DatasetDescription:
    """Read the DATASET.toml of a folder, and say everything that is wrong at once.

    >>> read_description(Path("no-such-folder"))
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-folder/DATASET.toml: ...
    """
    place = folder / DESCRIPTION
    described, file, problems = read_form(place, _LooseDescription)
    if described.dataset is None and not problems:
        problems.append(Problem("section [dataset] is missing", ""))
    if not described.units and not problems:
        problems.append(Problem("section [units.NAME] is missing", ""))
    for unit, entry in described.units.items():
        for figure, about in entry.figures.items():
            where = file.index.place(("units", unit, "figures", figure))
            if about.kind is None:
                problems.append(Problem("kind is missing", where))
            elif about.kind in COUNTED and about.kind != "count" and about.of is None:
                problems.append(Problem("of, the value column, is missing", where))
    raise_problems(str(place), problems)
    assert described.dataset is not None
    return DatasetDescription(dataset=described.dataset, units=described.units)


class _LooseDescription(ProgrammeEntry):
    """The same while it is read: what is wrong is left out, and told."""

    dataset: DatasetEntry | None = None
    units: dict[_Id, UnitEntry] = Field(default_factory=dict)


#: (variable, level) → the classification down to that level, of a column of its own.
FoldedTrees = Mapping[tuple[str, int], Classification]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FoldedRecords(StoredRecords):
    """The current version of a store, with coarser columns (confidential)."""

    # Column → the column that it is made of, its values, and the number of each value there
    coarser: Mapping[str, tuple[str, pl.Series, Any]] = field(default_factory=dict)
    _folded: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, stored: StoredRecords, trees: Iterable[Classification]
    ) -> tuple[FoldedRecords, FoldedTrees]:
        """A store with a column for each coarser level of some classifications."""
        coarser: dict[str, tuple[str, pl.Series, Any]] = {}
        classifications: dict[tuple[str, int], Classification] = {}
        for tree in trees:
            kind = stored.columns.get(tree.source, {}).get("kind", "plain")
            if tree.bounds is not None or tree.level_columns or kind == "plain":
                continue
            texts = code_texts(stored.values(tree.source), tree.source).fill_null(tree.missing)
            for number in range(1, tree.depth):
                name = f"{tree.source} on level {number} of {tree.name}"
                if name in stored.columns:
                    continue
                cut, code_of = levels_folded(tree, number)
                codes = texts.replace(code_of)
                listed = codes.unique().sort().alias(name)
                lookup = codes.cast(pl.Enum(listed)).to_physical().to_numpy()
                narrow = lookup.astype(np.min_scalar_type(len(listed) - 1))
                coarser[name] = (tree.source, listed, narrow)
                classifications[tree.name, number] = cut.replace(column=name)
        facts = {item.name: getattr(stored, item.name) for item in fields(StoredRecords)}
        return cls(**facts, coarser=coarser), classifications

    @cached_property
    def _columns(self) -> Mapping[str, Mapping[str, Any]]:
        own = {
            name: {"kind": "coded" if self._kind(source) == "coded" else "nested"}
            for name, (source, *_) in self.coarser.items()
        }
        return {**super().columns, **own}

    def _kind(self, column: str) -> str:
        return str(super().columns[column]["kind"])

    @property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """Type of each column."""
        return self._columns

    def values(self, name: str) -> pl.Series:
        """The value that each code of a column stands for."""
        return self.coarser[name][1] if name in self.coarser else super().values(name)

    def codes(self, name: str) -> Any:
        """The codes of a column: one per record, or per area."""
        if name not in self.coarser:
            return super().codes(name)
        if name not in self._folded:
            source, _, lookup = self.coarser[name]
            found = lookup if self._kind(source) == "sorted" else lookup[super().codes(source)]
            found.flags.writeable = False
            self._folded[name] = found
        return self._folded[name]


#: So many forms and filters of answers are remembered.
_MOST_RECENT = 1_000
#: What the table of a query is called in the programme that it stands in.
ANSWER = "answer of the service"
#: The figure that every unit has.
COUNTS = "count"

#: Name of a parameter set → its parameters.
ParametersOf = Callable[[str], Parameters]


@dataclass(frozen=True, kw_only=True)
class CatalogueUnit:
    """A kind of unit that can be counted."""

    name: str
    source: str  # The source of the programme with its records
    label: Mapping[str, str]  # language → name
    variables: Mapping[str, CatalogueVariable]  # What spans and filters its tables
    values: Mapping[str, UnitValueEntry]  # Its value columns, of which figures can be asked for
    figures: Mapping[str, FigureEntry]  # Key figures that the office offers
    # (variable, level) → its classification down to there, where that is counted faster
    coarser: FoldedTrees

    @cached_property
    def apart(self) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
        """Per variable and level, the levels of other variables that group its column otherwise."""
        levels = [(one, level) for one in self.variables.values() for level in one.levels]
        return {
            (one.name, level.name): frozenset(
                (other.name, another.name)
                for other, another in levels
                if one is not other and grouped_apart(one, level.number, other, another.number)
            )
            for one, level in levels
        }


class DataVersion:
    """A version of a data set. CONFIDENTIAL; what it tells in `units` is public."""

    def __init__(
        self,
        *,
        description: DatasetDescription,
        inputs: Inputs,
        units: Mapping[str, CatalogueUnit],
        fingerprint: str,
    ) -> None:
        self.description, self.inputs, self.units = description, inputs, units
        self.fingerprint = fingerprint
        self._keyed, self._lock = KeyedRecords(inputs), threading.Lock()
        self._schemas: dict[str, Any] = {}
        self._entries: dict[str, TableEntry] = {}  # Of each unit, of a query that asks nothing more
        #: What was worked out for recent answers: forms and filters.
        self.recent = LastUsed[Hashable, Any](_MOST_RECENT)

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.description.dataset.id

    @property
    def version(self) -> str:
        """Name of the version."""
        return self.description.dataset.version

    @property
    def parameters(self) -> Parameters:
        """Source of its noise. SECRET."""
        assert self.inputs.parameters is not None
        return self.inputs.parameters

    def entry(self, unit: str, **asked: Any) -> TableEntry:
        """The entry that a query would have in the programme, defaults filled in."""
        if not asked and unit in self._entries:
            return self._entries[unit]
        source = self.units[unit].source
        bare = self.asking(TableEntry.model_validate({"from": source, **asked})).programme
        table = bare.tables[ANSWER]
        if table.official is None and bare.sources[source].main:
            official = rule_where_known(self.parameters.official, self.inputs.totals)
            table = table.model_copy(update={"official": official or None})
        return table if asked else self._entries.setdefault(unit, table)

    def asking(self, entry: TableEntry) -> Inputs:
        """Inputs for a programme that also has the table of a query.

        The others stay, since rules for official figures name variables of theirs.
        """
        programme = self.inputs.programme.with_table(ANSWER, entry)
        inputs = dataclasses.replace(self.inputs, programme=programme)
        if self.inputs.totals.keys() >= {*(entry.by or ())}:  # no variable that only it names
            inputs.__dict__["totals"] = self.inputs.totals
        return inputs

    def records(self, unit: str) -> tuple[Any, str]:
        """The records of a unit with their keys, and the column of keys. CONFIDENTIAL."""
        with self._lock:
            records, key = self._keyed.of(self.units[unit].source)
        assert key is not None
        return records, key

    def schema(self, unit: str) -> Any:
        """The columns of the records of a unit, with their kinds."""
        if unit not in self._schemas:
            self._schemas[unit] = self.records(unit)[0].collect_schema()
        return self._schemas[unit]

    @without_values
    def counted(self, unit: str, queries: Sequence[Query]) -> list[Table]:
        """Count records of a unit. CONFIDENTIAL."""
        records, key = self.records(unit)
        sources = self.inputs.programme.sources
        origin = sources[key_line(sources, self.units[unit].source)[-1]]
        return tabulate_many(records, queries, record_key=key, key_grid=self.inputs.grid,
                             allow_unsuitable_keys=origin.keys.allow_unsuitable)  # fmt: skip

    def __repr__(self) -> str:
        return f"<DataVersion {self.dataset} {self.version} (confidential)>"


@without_values
def open_version(
    folder: Path, key: bytes, parameters_of: ParametersOf | None = None
) -> DataVersion:
    """Open a version of a data set, and say everything that is wrong with it at once.

    >>> open_version(Path("no-such-folder"), b"key")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-folder/DATASET.toml: ...
    """
    description = read_description(folder)
    place, entry = str(folder / DESCRIPTION), description.dataset
    inputs = open_inputs(folder / entry.programme)
    # What a programme may say of its tables, but not of tables that anybody asks for.
    document, problems = inputs.programme.document, list[Problem]()
    for name, unfit, message in (
        ("protect", document.defaults.protect not in (None, "noise"),
         "queried tables need noise"),
        ("additive", document.defaults.additive,
         "additive values differ from table to table"),
    ):  # fmt: skip
        if unfit:
            hint = f"remove {name} from [defaults]"
            problems.append(Problem(message, f"defaults.{name}", hint))
    if document.perturbation is None and document.parameters is None:
        hint = "add [perturbation] or [parameters]"
        problems.append(Problem("the programme has no noise", "programme", hint))
    if entry.parameter_set is not None:
        if parameters_of is None:
            problems.append(Problem("no parameter sets here", "dataset.parameter_set"))
        else:
            # The same with the parameters of a set in place of those of the programme.
            parameters = dataclasses.replace(parameters_of(entry.parameter_set), secret=None)
            inputs = dataclasses.replace(inputs, parameters=parameters)
    problems += _unit_problems(description, inputs.programme)
    raise_problems(place, problems)
    inputs = _with_stores(folder, description, inputs, problems)
    raise_problems(place, problems)
    units = {name: _unit(name, description, inputs, problems) for name in description.units}
    raise_problems(place, problems)
    # Stores with a column for each coarser level, and units that know of them.
    records, found = dict(inputs.records), dict(units)
    for source in dict.fromkeys(unit.source for unit in units.values()):
        held = distant_records(records[source])
        if not isinstance(held, StoredRecords):
            continue
        own = {name: unit for name, unit in units.items() if unit.source == source}
        trees = {each.name: each.tree for unit in own.values() for each in unit.variables.values()}
        folded, coarser = FoldedRecords.of(held, trees.values())
        records[source] = folded.plan()
        found |= {name: dataclasses.replace(unit, coarser=coarser) for name, unit in own.items()}
    inputs, units = dataclasses.replace(inputs, records=records), found
    # A keyed digest of description, programme, classifications, records and parameters.
    sources = dict.fromkeys(unit.source for unit in description.units.values())
    tables = {
        f"t{at}": TableEntry.model_validate({"from": name}) for at, name in enumerate(sources)
    }
    document = inputs.programme.document.model_copy(update={"tables": tables})
    programme = dataclasses.replace(inputs.programme, document=document)
    secret = inputs.secret or Secret(hmac.digest(key, b"secret of a data version", "sha256"))
    every = dataclasses.replace(inputs, programme=programme, secret=secret)
    files = [folder / DESCRIPTION, inputs.programme.path]
    told = {
        "version": __version__,
        "files": [hashlib.sha256(path.read_bytes()).hexdigest() for path in files],
        "variables": {name: inputs.described_variable(name) for name in sorted(inputs.trees)},
        "data": {name: every.release_keys[name].digest("data") for name in sources},
        "parameters": inputs.parameters and inputs.parameters.digest(key),
    }
    text = json.dumps(told, sort_keys=True, default=str)
    fingerprint = hmac.new(key, b"data version 1\n" + text.encode(), "sha256").hexdigest()
    return DataVersion(description=description, inputs=inputs, units=units, fingerprint=fingerprint)


def _unit_problems(description: DatasetDescription, programme: Programme) -> list[Problem]:
    problems = []
    for name, unit in description.units.items():
        if unit.source not in programme.sources:
            hint = nearest(unit.source, list(programme.sources))
            message = f"the programme has no source {unit.source!r}"
            problems.append(Problem(message, f"units.{name}.source", hint))
            continue
        keys = programme.sources[unit.source].keys
        if not any((keys.column, keys.id, keys.inherit)):
            message = "noise needs record keys"
            problems.append(Problem(message, f"units.{name}.source", "add keys to the programme"))
    known = list(programme.variables)
    named = [(f"geography[{at}]", name) for at, name in enumerate(description.dataset.geography)]
    named += [(f"synonyms.{name}", name) for name in description.dataset.synonyms]
    for where, variable in named:
        if variable not in known:
            hint = nearest(variable, known)
            message = f"the programme has no variable {variable!r}"
            problems.append(Problem(message, f"dataset.{where}", hint))
    return problems


def _with_stores(
    folder: Path, description: DatasetDescription, inputs: Inputs, problems: list[Problem]
) -> Inputs:
    records = dict(inputs.records)
    for name, unit in description.units.items():
        if unit.store is None:
            continue
        where = f"units.{name}.store"
        store = Store.open(folder / unit.store, check=True)
        manifest = store.records.manifest
        if store.records.record_key is None:
            problems.append(Problem("the store has no record keys", where))
        elif manifest["keys"]["grid"] != inputs.grid.size:
            problems.append(Problem("the store was built with keys of another grid", where))
        trees = inputs.trees
        problems += [
            Problem(f"the store was built with another classification {each!r}", where)
            for each, digest in manifest["classifications"].items()
            if each in trees and trees[each].bounds is None and tree_digest(trees[each]) != digest
        ]
        records[unit.source] = store.records.plan()
    return dataclasses.replace(inputs, records=records)


def _unit(
    name: str, description: DatasetDescription, inputs: Inputs, problems: list[Problem]
) -> CatalogueUnit:
    unit, about = description.units[name], description.dataset
    columns = SourceColumns(inputs, unit.source, frozenset(about.public_codes), problems)
    place = f"units.{name}"
    variables = columns.variables(unit.variables, about.geography, f"{place}.variables")
    # The value columns of a unit: those that have noise of their own.
    noisy = {} if inputs.parameters is None else inputs.parameters.magnitudes
    for column in unit.values:
        where = f"{place}.values.{column}"
        if column not in noisy:
            hint = nearest(column, list(noisy)) or "add [magnitudes.COLUMN]"
            columns.note(f"no noise for the column {column!r}", where, hint)
        elif not columns.is_number(column):
            columns.note(f"no numeric column {column!r}", where)
    known = [COUNTS, *unit.figures]
    for figure, entry in unit.figures.items():
        where = f"{place}.figures.{figure}"
        if figure in (COUNTS, "figure") or not figure.isidentifier():
            columns.note("invalid name of a figure", where)
        if entry.of is not None and entry.of not in unit.values:
            hint = nearest(entry.of, list(unit.values)) or f"add [{place}.values.{entry.of}]"
            columns.note(f"value column {entry.of!r} not found", where, hint)
        for other in (entry.part, entry.whole):
            if other is not None and other not in known:
                columns.note(f"figure {other!r} not found", where, nearest(other, known))
        if (entry.where or "").strip():
            columns.check_filter(str(entry.where), where)
    return CatalogueUnit(name=name, source=unit.source, label=unit.label, variables=variables,
                         values=unit.values, figures=unit.figures, coarser={})  # fmt: skip
