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
    """A table of counts. CONFIDENTIAL.

    Args:
        table: The table.
        titles: language → heading of what is published.
    """

    table: Table
    titles: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: confidential>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SensitiveSource(CountSource):
    """A table, and what is sensitive in it. CONFIDENTIAL.

    Args:
        primary: What is sensitive.
        value: The value that is published; None for counts.
        decimals: Digits after the decimal point.
        computed: How many totals were computed, because the cells lacked them.
    """

    primary: Primary
    value: str | None
    decimals: int
    computed: int


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HiddenSource(SensitiveSource):
    """A table, what is sensitive in it, and the table with hidden cells. CONFIDENTIAL.

    Args:
        published: What readers see.
    """

    published: ProtectedTable


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A method, for whoever asks for it.

    Args:
        name: Its name.
        package: The package with its words: labels, helps and choices of its settings, and what
            pages and studies say.
        settings: The model of its settings.
        section: Under which key they stand in a request; beside the rest if empty.
        takes: What goes in.
        keys: From settings: what it does with cell keys.
        draws: From settings, and whether cell keys are there: whether it draws from a secret.
        run: From what goes in, settings and a secret: the protected table, or a report.
        study: The same: what the protected table looks like beside the truth. CONFIDENTIAL.
            None if the report is all there is.
        at_once: So many cells are looked at while somebody waits.
        waits: From settings: so many cells are protected while a program waits; more are a job.
        hurried: Settings for whoever waits.
        begin: Settings with which a page begins.
        command: Its word at the command line; none of its own if empty.
        example: A line of that.
        address: Where the interface has it, after /api/v1/.
        calls: Names of its calls there: to run it, and to study it.
        job: The kind of its jobs.
        page: Its page in the studio; none if empty.
    """

    name: str
    package: str
    settings: type[Settings]
    section: str
    takes: type[CountSource]
    keys: Callable[[Any], Keys]
    draws: Callable[[Any, bool], bool]
    run: Callable[[Any, Any, Secret | None], ProtectedTable | Mapping[str, Any]]
    study: Callable[[Any, Any, Secret | None], Study] | None
    at_once: int
    waits: Callable[[Any], int]
    hurried: Callable[[Any], Any]
    begin: Settings
    command: str
    example: str
    address: str
    calls: tuple[str, ...]
    job: str
    page: str

    def words(self, section: str, language: str = "en") -> Mapping[str, str]:
        """What its package says in a section of its words.

        Args:
            section: The section.
            language: "en" or "de".
        """
        return texts_of(self.package, section, language)
