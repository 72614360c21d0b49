"""`Operation`: a method as one row, from which every door to it is made.

In: what a method takes and needs. Out: the row that commands, endpoints, jobs, forms, clients and
the reference page read; none of them knows a method.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from discreet.confidential import Confidential
from discreet.files import texts_of
from discreet.operations.study import MethodReport
from discreet.settings import Settings

if TYPE_CHECKING:
    from discreet.microdata import DescribedRecords, Secret
    from discreet.rules import Primary
    from discreet.tables import ProtectedTable, Spanning, Table

#: Cells that are looked at, or protected, while somebody waits.
AT_ONCE = 500
#: What a method does with cell keys: it needs them, may use them, or does not look at them.
Keys = Literal["needed", "used", "unused"]


def draws_nothing(settings: Any, keys: bool) -> bool:
    """A method that draws no random numbers from a secret."""
    return False


class Source(Confidential):
    """Input of an operation. CONFIDENTIAL."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class MicrodataSource(Source):
    """Records. CONFIDENTIAL."""

    records: Any  # a frame of records, or a file of them
    id: Sequence[str]  # the columns that identify a record
    files: bool  # whether settings may name files


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ChangedSource(MicrodataSource):
    """Records that are changed, and what goes out. CONFIDENTIAL."""

    drop: Sequence[str]  # columns that are left out
    keep: Sequence[str]  # columns that identify a record, and stay on purpose
    keys: Sequence[str]  # what others know of somebody: a study assesses risk by these
    tables: Sequence[Sequence[str]]  # the variables of each table that a study compares


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ReleaseSource(Source):
    """A release and the data that it is compared with. CONFIDENTIAL."""

    release: str | os.PathLike[str] | ProtectedTable  # the folder of a release, or a table
    #: Its programme, whose data are counted once more; or by universe, as for `attack`, its true
    #: tables
    truth: str | os.PathLike[str] | Mapping[str, Sequence[Table]] | None
    beside: Sequence[str | os.PathLike[str]]  # other releases that anyone can lay beside it


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TableSource(Source):
    """Table to be protected. CONFIDENTIAL."""

    #: language → heading of what is published
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CountSource(TableSource):
    """A table of counts. CONFIDENTIAL."""

    table: Table


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class MagnitudeSource(CountSource):
    """A table of counts and of a value with its largest contributions. CONFIDENTIAL."""

    value: str  # the value whose sums or means are published


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ProtectedSource(CountSource):
    """A table whose counts are protected figures already."""

    def protected(self, method: str) -> ProtectedTable:
        """The table as it is published."""
        import numpy as np

        from discreet._version import __version__
        from discreet.tables import CellStatus, ProtectedTable, Provenance

        return ProtectedTable(
            dimensions=self.table.dimensions,
            index=self.table.index,
            value=self.table.count,
            status=np.full(len(self.table), CellStatus.published, dtype=np.int8),
            provenance=Provenance(version=__version__, method=method),
            parts=self.table.parts,
            name=self.table.name,
            titles=self.titles,
        )


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class UnitSource(TableSource):
    """Records, of which a value is to be summed. CONFIDENTIAL."""

    records: Any
    by: Sequence[Spanning]  # the spanning variables
    value: str  # column to sum
    where: str | None  # filter of the records that count
    decimals: int  # digits after the decimal point
    name: str  # name of the table


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SensitiveSource(CountSource):
    """A table, and what is sensitive in it. CONFIDENTIAL."""

    primary: Primary  # what is sensitive
    value: str | None  # the value that is published; None for counts
    decimals: int  # digits after the decimal point
    computed: int  # how many totals were computed, because the cells lacked them


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HiddenSource(SensitiveSource):
    """A table, what is sensitive in it, and the table with hidden cells. CONFIDENTIAL."""

    published: ProtectedTable  # what readers see


class Records(Protocol):
    """Records that a method made."""

    @property
    def described(self) -> DescribedRecords:
        """The records that go out, with what their file says of them."""
        ...

    @property
    def statement(self) -> Mapping[str, Any]:
        """Description of the method for readers: language → sentences. Public."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """A method, for whoever asks for it."""

    name: str
    #: The package with its words: labels, helps and choices of its settings, and what pages and
    #: studies say
    package: str
    settings: type[Settings]  # the model of its settings
    section: str  # under which key they stand in a request; beside the rest if empty
    takes: type[Source]  # what goes in
    #: From what goes in, settings and a secret: the protected table, records, or a report
    run: Callable[[Any, Any, Secret | None], ProtectedTable | Records | Mapping[str, Any]]
    begin: Settings  # settings with which a page begins
    #: The same: what that looks like beside the truth, or of records. CONFIDENTIAL. None if there
    #: is no more
    study: Callable[[Any, Any, Secret | None], Any] | None = None
    #: From settings: what it does with cell keys
    keys: Callable[[Any], Keys] = lambda settings: "unused"
    #: From settings, and whether cell keys are there: whether it draws from a secret
    draws: Callable[[Any, bool], bool] = draws_nothing
    at_once: int = AT_ONCE  # so many cells are looked at while somebody waits
    #: From settings: so many cells are protected while a program waits; more are a job
    waits: Callable[[Any], int] = lambda settings: sys.maxsize
    hurried: Callable[[Any], Any] = lambda settings: settings  # settings for whoever waits
    command: str = ""  # its word at the command line; none of its own if empty
    example: str = ""  # a line of that
    address: str = ""  # where the interface has it, after /api/v1/; not there if empty
    calls: tuple[str, ...] = ()  # names of its calls there: to run it, and to study it
    job: str = ""  # the kind of its jobs
    page: str = ""  # its page in the studio; none if empty
    #: What a call is answered with; a table if there is a study, or else a report, if None. A
    #: package are records with the report that they are published with
    gives: Literal["table", "records", "package", "report"] | None = None
    ends: tuple[str, ...] = ("", "/study")  # what stands behind its address in each call
    #: From what goes in, settings, a secret and the protected table: what a command says of it
    report: Callable[[Any, Any, Secret | None, ProtectedTable], MethodReport] | None = None
    programme: bool = False  # whether a programme for cells may say everything to its command

    def words(self, section: str, language: str = "en") -> Mapping[str, str]:
        """A section of the words of its package."""
        texts = texts_of(self.package, section, language)
        if section != self.name:
            return texts
        # What commands and calls do is what pages say, unless they have words of their own.
        lead, study = texts["lead"], texts_of("discreet.operations", "calls", language)["study"]
        return {"command": lead, "run_call": lead, "study_call": study, **texts}

    @property
    def answer(self) -> Literal["table", "records", "package", "report"]:
        """Answer to a call."""
        return self.gives or ("report" if self.study is None else "table")

    @property
    def step(self) -> bool:
        """Whether it is a step on records: asked for as a chain of one step."""
        from discreet.pretabular import RecordSettings

        return issubclass(self.settings, RecordSettings)

    def placed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings as they stand in a request."""
        if self.step:
            return {"steps": [{**settings, "method": self.name}]}
        return {self.section: settings} if self.section else dict(settings)

    @property
    def on_records(self) -> bool:
        """Whether records go in: who may protect tables may not for that alone."""
        return issubclass(self.takes, MicrodataSource)
