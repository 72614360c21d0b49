"""`protect`: a table programme to a folder of protected tables.

In: the path of a programme; through it records, perturbation table and secret
(confidential). Out: protected tables as files, a page about them and a list of
them (public). Nothing reaches the release folder before everything is complete.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, Problem, PublicationError
from discreet.files import write_text
from discreet.release.digests import file_digest
from discreet.release.document import TableEntry
from discreet.release.inputs import Inputs, open_inputs
from discreet.release.plan import (
    outputs,
    release_files,
    report_files,
    table_digests,
    table_files,
)
from discreet.release.shelf import Shelf
from discreet.release.summary import MANIFEST, ReleasedTable, ReleaseSummary, manifest
from discreet.release.variables import official_rule, spanning_variables, total_codes

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.tables import ProtectedTable, Table
    from discreet.tabulation import Query

__all__ = ["Progress", "protect"]

#: Called with the steps done, the steps to do, and what has just been done.
Progress = Callable[[int, int, str], None]

#: Room for title, headings and row labels when the size of a sheet is checked.
_HEADROOM = 100

#: Every format holds tables of so few cells.
_ALWAYS_FITS = 16_000

_RELEASE = "release"


def protect(
    programme: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    resume: bool = True,
    progress: Progress | None = None,
) -> ReleaseSummary:
    """Carry out a table programme.

    Tables that an earlier run made of the same data, by the same rules, are not
    made again. A run that fails leaves the release folder as it was; one that is
    interrupted is taken up by the next.

    Args:
        programme: The programme file.
        out: The folder of the release; made if there is none.
        resume: False makes every table anew.
        progress: Called after each step with steps done, steps to do, and a name.

    >>> protect("no-such-programme.toml", "release")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: the programme
    cannot be read (No such file or directory)
      Hint: give the path of a TOML file
    """
    inputs = open_inputs(programme)
    shelf = Shelf(Path(out), inputs.programme.name)
    with shelf.opened():
        try:
            shelf.check_free(release_files(inputs.programme))
            release = _Release(inputs, shelf)
            pending = release.pending(resume=resume)
            release.start(progress, pending)
            release.tabulate_and_protect(pending)
            release.check_formats()
            release.write_tables(resume=resume)
            release.write_report(resume=resume)
        except DiscreetError:
            shelf.undo()
            raise
        removed = shelf.forget(set(shelf.names()) - {*release.names, _RELEASE})
        shelf.publish()
        return release.summary(pending, removed)


class _Release:
    """The steps of a release."""

    def __init__(self, inputs: Inputs, shelf: Shelf) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.names = list(self.programme.tables)
        self.shelf = shelf
        self.key = inputs.release_key()  # reads the data once
        self.digests = table_digests(inputs, self.key)
        self.found: set[str] = set()
        self.guessable = inputs.guessable()
        self.progress: Progress | None = None
        self.done = self.steps = 0

    # -- what is to be done ------------------------------------------------------

    def pending(self, *, resume: bool) -> list[str]:
        """The tables that are to be made."""
        return [
            name
            for name in self.names
            if not resume or not self.shelf.holds(name, self.digests[name])
        ]

    def start(self, progress: Progress | None, pending: Sequence[str]) -> None:
        self.progress = progress
        self.steps = len(pending) + len(self.names) + 1

    def step(self, what: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.steps, what)

    # -- the steps ---------------------------------------------------------------

    def tabulate_and_protect(self, pending: Sequence[str]) -> None:
        """Count the pending tables in shared passes and protect each as it comes."""
        if not pending:
            return
        from discreet.tabulation import iterate_tables

        records, record_key = self.inputs.keyed_records()
        totals, queries = self._queries(pending)
        grid = self.programme.keys.grid
        counted = iterate_tables(records, queries, record_key=record_key, key_grid=grid)
        for at, table in counted:
            name = pending[at]
            self.shelf.put(self._protected(name, table, totals), self.digests[name])
            self.step(name)

    def _queries(self, pending: Sequence[str]) -> tuple[dict[str, str], list[Query]]:
        """What to count, and the total codes of the variables."""
        from discreet.tabulation import Query

        entries = self.programme.tables
        names = [variable for name in pending for variable in entries[name].by or []]
        spanning = spanning_variables(self.programme, names, self.inputs.trees, self.inputs.records)
        self._check_grids(pending, spanning)
        totals = total_codes(self.programme, self.inputs.trees)
        queries = [
            Query(
                by=[spanning[variable] for variable in entries[name].by or []],
                where=entries[name].where or None,
                weight=entries[name].weight or None,
                name=name,
            )
            for name in pending
        ]
        return totals, queries

    def _check_grids(self, pending: Sequence[str], spanning: Any) -> None:
        """Refuse complete grids that a format cannot hold before anything is counted."""
        problems: list[Problem] = []
        for name in pending:
            entry = self.programme.tables[name]
            if not entry.complete:
                continue
            sizes = [_size(spanning[variable]) for variable in entry.by or []]
            rows, columns = 1, sizes[-1] if len(sizes) > 1 else 1
            for size in sizes[:-1] or sizes:
                rows *= size
            problems += _too_large(name, entry, rows, columns)
        _raise_too_large(problems)

    def _protected(self, name: str, table: Table, totals: dict[str, str]) -> ProtectedTable:
        from discreet.perturbation import perturb

        rules = self.programme.perturbation
        entry = self.programme.tables[name]
        protected = perturb(
            table,
            self.inputs.perturbation_table,
            zeros=rules.zeros,
            suppress_below=rules.suppress_below,
            decimals=rules.decimals,
            found_codes=rules.found_codes,
            official=official_rule(self.programme, name, totals),
            totals=totals,
            titles=entry.title,
            universe=entry.universe or _stated(entry.where, self.programme.languages),
            digests={"programme": self.digests[name], "data": self.key.digest("data")},
        )
        self._note_found_codes(table)
        time = self.programme.document.date or ""
        digests = {} if self.guessable else protected.provenance.digests
        provenance = dataclasses.replace(protected.provenance, time=time, digests=digests)
        return dataclasses.replace(protected, provenance=provenance)

    def _note_found_codes(self, table: Table) -> None:
        """Warn of code lists that come from the data: each code tells that it occurs."""
        if self.programme.perturbation.found_codes == "list":
            self.found |= {d.name for d in table.dimensions if bool(d.found.any())}

    def _warnings(self) -> tuple[str, ...]:
        if not self.found:
            return self.inputs.warnings
        names = ", ".join(sorted(self.found))
        return (
            *self.inputs.warnings,
            f"the codes of {names} are those found in the data, so a listed code tells that it "
            'occurs; state them under [variables], or set found_codes = "hide"',
        )

    def check_formats(self) -> None:
        """Refuse formats that cannot hold a table before any file is written."""
        from discreet.publication import CELL_LIMIT
        from discreet.publication.layout import lay_out

        problems: list[Problem] = []
        for name in self.names:
            entry = self.programme.tables[name]
            outline = self.shelf.outline(name)
            laid_out = {"xlsx", "html"} & set(entry.formats or [])
            if not laid_out or outline.grid_size <= _ALWAYS_FITS:
                continue
            if entry.complete and outline.grid_size > CELL_LIMIT:
                rows, columns = outline.grid_size, 1
            else:
                table = self.shelf.table(name)
                rows, columns = lay_out(table, complete=entry.complete).shape
            problems += _too_large(name, entry, rows, columns)
        _raise_too_large(problems)

    def write_tables(self, *, resume: bool) -> None:
        """Write each table in each format and language."""
        from discreet.publication import write

        for name in self.names:
            entry, digest = self.programme.tables[name], self.digests[name]
            files = table_files(self.programme, name)
            if not (resume and self.shelf.complete(name, digest, files)):
                table = self.shelf.table(name)
                for file, kind, language in outputs(
                    name, entry.formats or [], self.programme.languages
                ):
                    path = self.shelf.stage / file
                    write(table, path, format=kind, language=language, complete=entry.complete)
                self.shelf.add_files(name, digest, files)
            self.step(name)

    def write_report(self, *, resume: bool) -> None:
        """Write the pages about the release and the list of its files."""
        from discreet.publication import write_report

        released = [self._released(name) for name in self.names]
        document = self.programme.document
        title = document.title or {"en": self.programme.path.stem}
        parts = [table.described() for table in released]
        digest = self.key.digest([title, document.date, self.programme.data.version, parts])
        pages = report_files(self.programme)
        files = [*pages, MANIFEST]
        if not (resume and self.shelf.complete(_RELEASE, digest, files)):
            for file, language in zip(pages, self.programme.languages, strict=True):
                write_report(
                    (self.shelf.table(name) for name in self.names),
                    self.shelf.stage / file,
                    title=title,
                    language=language,
                    files=self._links(language),
                )
            reports = {file: file_digest(self.shelf.stage / file) for file in pages}
            text = manifest(
                released,
                title=title,
                date=document.date,
                data_version=self.programme.data.version,
                languages=self.programme.languages,
                reports=reports,
            )
            write_text(self.shelf.stage / MANIFEST, text)
            self.shelf.add_files(_RELEASE, digest, files)
        self.step("report")

    def _links(self, language: str) -> dict[str, list[Path]]:
        """Per table, its files in one language, as they will stand beside the page."""
        return {
            name: [
                self.shelf.stage / file
                for file, _, spoken in outputs(
                    name, self.programme.tables[name].formats or [], self.programme.languages
                )
                if spoken == language
            ]
            for name in self.names
        }

    def _released(self, name: str, *, fresh: bool = False) -> ReleasedTable:
        table = self.shelf.outline(name)
        return ReleasedTable(
            name=name,
            title=table.title(self.programme.languages[0]),
            by=tuple(dimension.name for dimension in table.dimensions),
            cells=table.grid_size,
            digests=table.provenance.digests,
            files=self.shelf.files(name),
            fresh=fresh,
        )

    def summary(self, pending: Sequence[str], removed: Sequence[str]) -> ReleaseSummary:
        """What there is now."""
        tables = [self._released(name, fresh=name in pending) for name in self.names]
        return ReleaseSummary(
            out=self.shelf.out,
            tables=tuple(tables),
            report=self.shelf.out / report_files(self.programme)[0],
            manifest=self.shelf.out / MANIFEST,
            removed=tuple(sorted(removed)),
            warnings=self._warnings(),
        )


def _stated(where: str | None, languages: Sequence[str]) -> dict[str, str]:
    """A filter that is not put into words is printed as it is written."""
    return dict.fromkeys(languages, where) if where else {}


def _size(spanning: Any) -> int:
    """Number of codes; 1 at least where the data decide."""
    if isinstance(spanning, str):
        return 1
    trees: Sequence[Classification] = spanning if isinstance(spanning, list) else [spanning]
    return 1 + sum(len(tree) - 1 for tree in trees)


def _too_large(name: str, entry: TableEntry, rows: int, columns: int) -> Iterator[Problem]:
    from discreet.publication import check_shape

    for kind in entry.formats or []:
        room = _HEADROOM if kind == "xlsx" else 0
        try:
            check_shape(kind, rows, columns, where=name)
            if rows > columns:
                check_shape(kind, rows + room, 1, where=name)
        except PublicationError as error:
            yield Problem(error.what, name, error.hint)


def _raise_too_large(problems: Sequence[Problem]) -> None:
    if problems:
        raise PublicationError(
            f"{len(problems)} files could not hold their tables",
            code="too-large",
            where="formats",
            hint=problems[0].hint,
            problems=problems,
        )
