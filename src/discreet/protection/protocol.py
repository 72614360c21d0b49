"""`Protection`: all that a release knows of a method of protection.

In: what a programme says of tables, and their true counts (CONFIDENTIAL). Out: protected
tables, with what is said about them. A method names what it needs of the tabulation, checks
what a programme asks of it, says what determines its tables, protects tables (several at once
where they are linked), and speaks to readers. A release asks these questions and no others:
it knows no method by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from discreet.errors import Problem
from discreet.files import texts_of
from discreet.tables import codes_found

if TYPE_CHECKING:
    from discreet.arrays import BoolArray, FloatArray, IntArray
    from discreet.disclosure import DisclosureVerdict
    from discreet.keygrid import KeyGrid
    from discreet.microdata import Secret
    from discreet.pretabular import ChangedRecords
    from discreet.tables import GateReport, Note, ProtectedTable, Table, ValueRelation

#: In what a table tells: the number of records.
COUNT = "count"

#: What files about a release as a whole are called, whatever protects its tables.
OWN_REPORTS = frozenset({"index", "release", "quality", "decisions"})

#: Filter → the table of the records that pass it. CONFIDENTIAL.
Counts: TypeAlias = Mapping[str, "Table"]

#: Where something stands in a programme.
Place: TypeAlias = tuple[str | int, ...]

#: What is wrong, with its place.
Placed: TypeAlias = tuple[Place, Problem]


class FileView(Protocol):
    """A file of settings, as far as methods may ask."""

    @property
    def path(self) -> Path:
        """File of the programme."""

    def file(self, name: str) -> Path:
        """A file that it names."""

    def problem(self, path: Sequence[str | int], what: str, hint: str = "") -> Problem:
        """Something wrong at a key."""

    def at(self, path: Place, what: str, hint: str = "") -> Placed:
        """Something wrong at a key, with the key."""


class ProgrammeView(FileView, Protocol):
    """A programme, as far as methods may ask."""

    @property
    def document(self) -> Any:
        """Its sections."""

    @property
    def skipped(self) -> frozenset[Place]:
        """Keys whose values could not be used, each reported already."""

    def reported(self, path: Place) -> bool:
        """Whether the value at a key was wrong already, so that its absence is no news."""

    @property
    def sources(self) -> Mapping[str, Any]:
        """The records of each kind of unit, by name; the main ones first."""

    @property
    def tables(self) -> Mapping[str, Any]:
        """The tables with the defaults filled in, in the order of the file."""

    @property
    def places(self) -> Mapping[str, str]:
        """Names of the records of each table; different records have different names."""

    def place_of(self, source: str) -> str:
        """Name of the records of a source; two sources can have the same records."""

    @property
    def protected(self) -> Mapping[str, tuple[str, ...]]:
        """Each method by name, with the tables that it protects."""

    def tells(self, table: str) -> tuple[str, ...]:
        """Figures of a table, including hidden ones: value columns, or `COUNT`."""

    def columns_behind(self, variable: str) -> set[str]:
        """The columns of the data behind a variable."""

    @property
    def stated_relations(self) -> tuple[ValueRelation, ...]:
        """The relations of [relations]."""

    @property
    def found_relations(self) -> Mapping[tuple[str, str], tuple[ValueRelation, ...]]:
        """Place of records and filter → what adds up in all of them, though nobody states it."""

    def relations_of(self, table: str) -> list[ValueRelation]:
        """Additive relations among the cells of a table, stated or found in its records."""

    def linked_by_relations(
        self, tables: Sequence[str]
    ) -> Iterator[tuple[ValueRelation, list[str]]]:
        """Relations, each with tables of the same records and weights that tell of its values."""

    @property
    def perturbation(self) -> Any:
        """[perturbation]"""

    @property
    def suppression(self) -> Any:
        """[suppression]"""

    def settings(self, method: str) -> Any:
        """[protection.NAME], in the form that the method gives it."""

    def value(self, name: str) -> Any:
        """[values.NAME]: how a value is printed."""

    def source_of(self, table: str) -> Any:
        """The source whose records a table counts."""

    def method(self, table: str) -> Protection:
        """Protection method of a table."""

    def keyed(self, table: str) -> bool:
        """Whether the records of a table have keys."""

    def additive_with(self, table: str) -> tuple[str, ...]:
        """The tables that are made additive together with one; none if it is not made so."""

    def thresholds(self, table: str) -> dict[str, Any] | None:
        """The thresholds for the parts of a table; None where parts stay."""

    def held_against_all(self, table: str) -> bool:
        """Whether rules for parts look at all records besides those a filter passes."""

    def setting(self, table: str, key: str) -> Place:
        """Place of a setting of a table."""


class InputsView(Protocol):
    """Inputs of a release that methods may use. CONFIDENTIAL."""

    @property
    def programme(self) -> ProgrammeView:
        """The programme."""

    @property
    def records(self) -> Mapping[str, Any]:
        """The records of each source."""

    @property
    def calibrated(self) -> Mapping[str, ChangedRecords]:
        """Per source whose weights were calibrated, how far they moved."""

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""

    @property
    def secrets(self) -> Mapping[str, Secret]:
        """The secret of the record keys of each source that has one."""

    @property
    def parameters(self) -> Any:
        """The parameters of the release: perturbation tables and their use. SECRET."""

    @property
    def opened(self) -> Mapping[str, Any]:
        """Per method, what it has opened."""

    @property
    def earlier(self) -> Sequence[Any]:
        """Tables that were published before, as releases remember them."""

    @property
    def release_keys(self) -> Mapping[str, Any]:
        """Per source, the key of all digests of its tables."""

    def other_records(self, before: Any, table: Table) -> BoolArray | None:
        """Which cells of an earlier table, counted now, have other records; None if unknown."""

    @property
    def totals(self) -> Mapping[str, str]:
        """The total code of every variable."""

    def official(self, table: str) -> str:
        """The rule for official figures that holds for a table, as it is stated."""

    def official_rule(self, table: str) -> str | None:
        """The official rule for the variables of the table; None without one."""

    def described_variables(self, table: str) -> dict[str, list[Any]]:
        """The entries of [variables.*] that a table uses, and what their files hold."""


def all_of(*filters: str | None) -> str:
    """The filter that asks for several at once.

    >>> all_of("age >= 18", None, "sex == 'm' or sex == 'w'")
    "(age >= 18) and (sex == 'm' or sex == 'w')"
    """
    texts = [text.strip() for text in filters if text and text.strip()]
    return texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)


def figure_filter(table: Any, figure: str) -> str:
    """Which records count for one figure of a table."""
    return all_of(table.where, table.figures[figure].where)


class NamedColumn(NamedTuple):
    """A column that a method needs of the records."""

    place: Place  # the key that names it
    column: str  # its name
    numeric: bool  # whether it must hold numbers


@dataclass(frozen=True, kw_only=True, repr=False)
class Determinants:
    """Everything that determines the cells of a table, before it is keyed. SECRET."""

    shared: Mapping[str, Any]  # what the method shares with all of its tables
    own: Sequence[Any]  # what concerns this table
    #: Whether `own` has all that the programme says of the table; if not, the release adds it
    whole: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class AssessedTable:
    """The truth that the quality report compares a protected table with. CONFIDENTIAL."""

    counts: Table | None  # the true table; None where ingredients say it all
    ingredients: Mapping[str, Any]  # name → protected figure beside its originals
    figures: Sequence[Any]  # the key figures that are made of them


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleasedOutcome:
    """A protected table with its reports."""

    #: As it may be published; the release takes parts away, if [parts] says so, and adds title,
    #: remarks and provenance
    table: ProtectedTable
    remembered: Mapping[str, Any]  # what else the release remembers of it, as JSON takes it; public
    #: What its quality is judged by (CONFIDENTIAL); None if it is not
    assessed: AssessedTable | None
    #: Variables of which it lists codes because they occur: "all" their codes, or that of "missing"
    #: values only
    found_codes: Mapping[str, Literal["all", "missing"]]

    @classmethod
    def of_counts(cls, table: Table, safe: ProtectedTable) -> ReleasedOutcome:
        """The protected counts of a table."""
        return cls(
            table=safe,
            remembered={},
            assessed=AssessedTable(counts=table, ingredients={}, figures=()),
            found_codes=codes_found(table.dimensions),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ProtectedGroup:
    """Tables that were protected together."""

    tables: Mapping[str, ReleasedOutcome]  # name → what became of it
    #: What the internal report says of them (CONFIDENTIAL); None for nothing
    internal: Mapping[str, Any] | None
    warnings: tuple[str, ...]  # what should be known of the work


class AuditVerdict(Protocol):
    """Result of an audit of linked tables. CONFIDENTIAL, though without true values."""

    @property
    def judgement(self) -> DisclosureVerdict:
        """The verdict, with all that is open or was not examined."""

    @property
    def hidden(self) -> BoolArray:
        """Cells that are not published."""

    @property
    def sensitive(self) -> BoolArray:
        """Cells that nobody must work out."""

    @property
    def unprotected(self) -> Sequence[str]:
        """Names of the cells that are not."""

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""

    def text(self) -> str:
        """The verdict in words."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseContext:
    """Information about the release for a method."""

    #: Per source and name in a table's `by`, what spans the table
    spanning: Mapping[str, Mapping[str, Any]]
    digests: Mapping[str, str]  # per table, its digest
    #: Per table, the digests to print: none that could be found by trial
    printed: Mapping[str, Mapping[str, str]]
    tell: Callable[[str], None]  # is told what is being done; never a true value
    #: Rounds the figures that a table with hidden cells shows to multiples of a base
    round_shown: Callable[[ProtectedTable, int], ProtectedTable]
    #: What merges of categories or coarser levels would save of a table of records; CONFIDENTIAL
    hide_less: Callable[..., Any]


class Protection(ABC):
    """A method of protection: from true tables to tables that may be published.

    Four questions have no default: what it needs of the tabulation, how it protects tables, what
    it states to readers, how good its figures are. All else may be left as it is here: no
    default says that figures are safe, or leaves out something that a table is made of.

    Facts:
        name: What `protect = …` in a programme calls it.
        manner: What messages call what it does to figures.
        beside: Other method → why the figures of both must not stand beside each other.
        table_keys: Keys of a table that not every method knows and this one does. With "parts"
            among them, [parts] says which parts of its tables are published.
        hints: Key that goes with other methods only → what to write instead.
        sections: Sections of a programme that it cannot do without.
        settings: Form of its section [protection.NAME], a pydantic model that forbids
            unknown keys; None if there is no such section.
        record_keys: Whether it needs cell keys, so that records need keys.
        assessed: Whether its tables stand in the report on quality.
        estimates: Whether its figures are estimates from samples, beside which others are called
            full counts.
        attacked: What attackers on its figures know: the perturbation "table", or the "maximum"
            by which figures change, or how factors of "units" are drawn; empty if they are not
            attacked.
        reports: Files that it adds to a release, besides the tables.

    >>> class Forgetful(Protection):
    ...     name = "forgetful"
    Traceback (most recent call last):
        ...
    TypeError: the method Forgetful does not say its manner
    """

    name: ClassVar[str] = ""
    manner: ClassVar[str] = ""
    beside: Mapping[str, str] = MappingProxyType({})
    table_keys: tuple[str, ...] = ()
    hints: Mapping[str, str] = MappingProxyType({})
    sections: tuple[str, ...] = ()
    settings: type[Any] | None = None
    record_keys: bool = False
    assessed: bool = True
    estimates: bool = False
    attacked: Literal["table", "maximum", "units", ""] = ""
    reports: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        def own(name: str) -> bool:
            return getattr(cls, name) is not getattr(Protection, name)

        problem = ""
        if unsaid := [name for name in ("name", "manner") if not getattr(cls, name)]:
            problem = f"does not say its {' and '.join(unsaid)}"
        elif own("opened") and not own("determinants"):
            problem = "opens inputs without declaring how"
        elif own("reports") and not own("write_reports"):
            problem = "does not write its reports"
        elif cls.settings and cls.settings.model_config.get("extra") != "forbid":
            problem = "has a section that does not forbid unknown keys"
        if problem:
            raise TypeError(f"the method {cls.__name__} {problem}")

    @property
    def parts(self) -> bool:
        """Whether [parts] says which parts of its tables are published."""
        return "parts" in self.table_keys

    @property
    def auditable(self) -> bool:
        """Whether a finished release can be audited."""
        return type(self).audited is not Protection.audited

    def called(self, language: str) -> str:
        """Name for readers: its manner; other languages are in `words.toml` beside it."""
        if language == "en":
            return self.manner
        try:
            words = texts_of(type(self).__module__.rpartition(".")[0], "methods", language)
        except (KeyError, OSError, ValueError):
            return self.name
        return words.get(self.name, self.name)

    @property
    def transmitted(self) -> bool:
        """Whether it has cells that other offices only may see."""
        return type(self).confidential_cells is not Protection.confidential_cells

    # -- what every method answers ---------------------------------------------------

    @abstractmethod
    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """Required counts: filter → value column → number of largest contributions."""

    @abstractmethod
    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """Protect the tables of a linked group, each exactly once."""

    @abstractmethod
    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Sentences for readers that the tables do not contain already."""

    @abstractmethod
    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """Standard deviation of the changes of counts."""

    def margin(self, inputs: InputsView, table: str) -> int | None:
        """Largest difference of 95 of 100 counts of a table to the true ones; None if unstated."""
        return None

    # -- what a programme says ---------------------------------------------------

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Check sections and tables before any data are read."""
        return ()

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """Warnings about sections and tables."""
        return ()

    def tells(self, programme: ProgrammeView, table: str) -> Sequence[str]:
        """Figures of a table: value columns, or `COUNT`; all that it names."""
        entry = programme.tables[table]
        named = {figure.of for figure in entry.figures.values() if figure.of}
        return entry.value or sorted({COUNT, *named})

    def columns(self, programme: ProgrammeView, table: str) -> Iterable[NamedColumn]:
        """Columns that a table needs, besides those that span it, weigh it and filter it."""
        return ()

    def filters(self, programme: ProgrammeView, table: str) -> Iterable[tuple[Place, str]]:
        """Filters that a table needs, besides its own, and where they stand."""
        return ()

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """The tables in groups: those that must be protected together stand together.

        Together are those of the same records and weights.
        """
        groups: dict[tuple[str | None, str | None], list[str]] = {}
        for name in tables:
            entry = programme.tables[name]
            groups.setdefault((entry.source, entry.weight), []).append(name)
        return [tuple(names) for names in groups.values()]

    def cellwise(self, inputs: InputsView, table: str) -> bool:
        """Whether it protects each cell of one count by itself, and need not see hidden ones."""
        return False

    def follows(self, programme: ProgrammeView, table: str) -> Sequence[str]:
        """Tables whose hidden parts a table must not show; they may have other records."""
        return ()

    def opened(
        self, programme: ProgrammeView, tables: Sequence[str], problems: list[Problem]
    ) -> Any:
        """Open the files of the method before anything is counted.

        What is wrong is added to the problems known so far, or is an error.
        """
        return None

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Per table, what determines its cells, secret parameters included; keyed later.

        Here, all that the programme says of the tables of its group.
        """
        views = inputs.programme.tables
        return {
            name: Determinants(
                shared={},
                own=[
                    [item, views[item].model_dump(exclude={"quantiles", "flows", "available"})]
                    for item in group
                    if len(group) > 1
                ],
                whole=False,
            )
            for group in self.linked(inputs.programme, tables)
            for name in group
        }

    # -- what becomes of a release ---------------------------------------------------

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """A warning, if a table and the one it replaces tell more together; else nothing."""
        same = np.array_equal(before().value, after.value, equal_nan=True)
        return (
            "" if same else f"{name} had other values before; both releases together disclose more"
        )

    def concluded(self, inputs: InputsView, names: Sequence[str]) -> Iterable[str]:
        """Warnings, when all of these tables are made."""
        return ()

    def write_reports(
        self, inputs: InputsView, remembered: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """Write its `reports`, of what is remembered of each of its tables. Public."""
        return

    def write_internal(self, entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Write the internal report on the groups made in this run. CONFIDENTIAL."""
        return

    def must_repeat(self, inputs: InputsView, digests: Mapping[str, str], internal: Path) -> bool:
        """Whether its tables are made again, for an internal report that is not about them."""
        return False

    def closeness(
        self, inputs: InputsView, names: Sequence[str], spanning: Mapping[str, Any]
    ) -> dict[str, dict[str, GateReport]]:
        """Per table of a source and figure, how near it comes to single contributions.

        A method that is attacked by "units" says it; figures without it are not examined.
        """
        return {}

    def confidential_cells(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Mapping[str, Mapping[str, tuple[FloatArray, Any]]]:
        """Per table with cells that other offices only may see, the true figures of each value.

        Beside each its confidentiality status (CONF_STATUS of SDMX), in the order of true cells.
        """
        return {}

    def audited(
        self,
        inputs: InputsView,
        counted: Mapping[str, Counts],
        context: ReleaseContext,
        kept: Mapping[str, Any],
        coalition: int | None,
    ) -> tuple[Mapping[tuple[str, str], AuditVerdict], Sequence[str]]:
        """Verdicts on a linked group of a finished release, by tables and value; findings."""
        return {}, [f"{', '.join(counted)}: tables of this method are not audited"]
