"""`Operation`: a method as one row, from which every door to it is made.

In: what a method takes and needs. Out: the row that commands, endpoints, jobs, forms, clients and
the reference page read; none of them knows a method. Nothing in a row has a default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from discreet.files import texts_of
from discreet.operations.study import Study
from discreet.settings import Settings

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.rules import Primary
    from discreet.tables import ProtectedTable, Table

#: What a method does with cell keys: it needs them, may use them, or does not look at them.
Keys = Literal["needed", "used", "unused"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CountSource:
    """A table of counts. CONFIDENTIAL."""

    table: Table
    #: language → heading of what is published
    titles: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: confidential>"


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


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A method, for whoever asks for it."""

    name: str
    #: The package with its words: labels, helps and choices of its settings, and what pages and
    #: studies say
    package: str
    settings: type[Settings]  # the model of its settings
    section: str  # under which key they stand in a request; beside the rest if empty
    takes: type[CountSource]  # what goes in
    keys: Callable[[Any], Keys]  # from settings: what it does with cell keys
    #: From settings, and whether cell keys are there: whether it draws from a secret
    draws: Callable[[Any, bool], bool]
    #: From what goes in, settings and a secret: the protected table, or a report
    run: Callable[[Any, Any, Secret | None], ProtectedTable | Mapping[str, Any]]
    #: The same: what the protected table looks like beside the truth. CONFIDENTIAL. None if the
    #: report is all there is
    study: Callable[[Any, Any, Secret | None], Study] | None
    at_once: int  # so many cells are looked at while somebody waits
    #: From settings: so many cells are protected while a program waits; more are a job
    waits: Callable[[Any], int]
    hurried: Callable[[Any], Any]  # settings for whoever waits
    begin: Settings  # settings with which a page begins
    command: str  # its word at the command line; none of its own if empty
    example: str  # a line of that
    address: str  # where the interface has it, after /api/v1/
    calls: tuple[str, ...]  # names of its calls there: to run it, and to study it
    job: str  # the kind of its jobs
    page: str  # its page in the studio; none if empty

    def words(self, section: str, language: str = "en") -> Mapping[str, str]:
        """What its package says in a section of its words."""
        return texts_of(self.package, section, language)
