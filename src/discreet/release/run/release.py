"""`protect`: a table programme to a folder of protected tables.

In: the path of a programme; through it records, perturbation tables and secret
(confidential). Out: protected tables as files, pages about them and a list of them (public);
one error that names every file that could not hold its table, before anything is counted.
Nothing reaches the release folder before everything is complete.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem, PublicationError, raise_all
from discreet.files import told_if_full
from discreet.memory_limit import check_memory, limited_memory, trim_heap
from discreet.protection.protocol import (
    Counts,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)
from discreet.protection.registry import clash
from discreet.release.inputs import Inputs
from discreet.release.packages.parameters import check_succession
from discreet.release.programme.file import UNIVERSE, Programme
from discreet.release.programme.schema import TableEntry
from discreet.release.programme.variables import codes_at
from discreet.release.report.summary import MANIFEST, ReleaseSummary
from discreet.release.run.area_files import check_area_files, check_area_levels
from discreet.release.run.counts import counted_tables, release_context
from discreet.release.run.data_checks import (
    RevisionCheck,
    check_period_revision,
    check_slivers,
)
from discreet.release.run.files import Writer, check_internal, last_package
from discreet.release.run.inputs import check_same_period, open_inputs
from discreet.release.run.period_checks import period_checks
from discreet.release.run.plan import (
    RELEASE,
    check_formats,
    check_grids,
    check_maps,
    full_count,
    release_files,
    report_files,
    table_digests,
)
from discreet.release.run.waiting_tables import WaitingTables
from discreet.release.state.memory import ReleaseState, sealed_quality, table_statement
from discreet.release.state.seal import SEAL, read_seal
from discreet.tables import CellNote, Dimension, Note, Parts, ProtectedTable, Table, note_of

if TYPE_CHECKING:
    from discreet.assessment import CountStatistics
    from discreet.disclosure import VariableCode
    from discreet.protection.parts import PartDecisions, PartTies

#: Called with the steps done, the steps to do, and what has just been done.
Progress = Callable[[int, int, str], None]


@without_values
def protect(
    programme: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    resume: bool = True,
    internal: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    accept_changes: bool = False,
    show_values: bool = False,
    master: str | None = None,
    memory: str | int | None = None,
) -> ReleaseSummary:
    """Carry out a table programme.

    Tables that an earlier run made of the same data, by the same rules, are not
    made again. A run that fails leaves the release folder as it was; one that is
    interrupted is taken up by the next.

    Args:
        programme: The programme file.
        out: The folder of the release; made if there is none.
        resume: False makes every table anew.
        internal: The folder of the internal report on quality, which is CONFIDENTIAL;
            None for the one that the programme names, if any.
        progress: Called after each step with steps done, steps to do, and a name.
        accept_changes: Make anew what of the folder is not as it was sealed, or was never
            sealed; without it such a folder is refused.
        show_values: Let errors about the data quote the first wrong value of a column.
        master: The cluster that holds what `[data] spark` names, such as "yarn" or
            "spark://host:7077"; None for the open session, or that of spark-submit.
        memory: How much memory the run may take, such as "4GB": it reads in more passes where
            records take more, and ends with an error, and no release, if that is not enough.

    >>> protect("no-such-programme.toml", "release")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
      Hint: give the path of a TOML file
    """
    with limited_memory(memory):
        inputs = open_inputs(programme, show_values=show_values, master=master)
        return carry_out(
            inputs,
            out,
            resume=resume,
            internal=internal,
            progress=progress,
            accept_changes=accept_changes,
        )


def carry_out(
    inputs: Inputs,
    out: str | os.PathLike[str],
    *,
    resume: bool = True,
    internal: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    accept_changes: bool = False,
) -> ReleaseSummary:
    """Carry out a programme that is open already; see `protect`."""
    named = inputs.programme.document.quality.internal
    inside = None if named is None else inputs.programme.file(named)
    inside = inside if internal is None else Path(internal)
    check_internal(inside, Path(out))
    check_slivers(inputs)
    revision = check_period_revision(inputs)
    shelf = ReleaseState(Path(out), inputs.programme.name, inputs.seals, accept=accept_changes)
    with told_if_full(shelf.out), inputs.secret_kept(), shelf.opened():
        try:
            entry = inputs.programme.document.parameters
            check_succession(inputs.package, last_package(shelf), entry)
            check_same_period(inputs.programme, shelf)
            shelf.check_free(release_files(inputs))
            release = _Release(inputs, shelf, resume=resume, internal=inside, progress=progress)
            release.tabulate_and_protect()
            check_formats(inputs.programme, shelf)
            check_maps(inputs, shelf)
            shelf.check_free(check_area_files(inputs, shelf))
            release.withhold()
            release.compare_periods(revision)
            release.writer.tables(release.step)
            release.writer.about(inside)
            release.step("report")
        except (DiscreetError, OSError):
            shelf.undo()
            raise
        removed = shelf.forget(set(shelf.names()) - {*inputs.programme.tables, RELEASE})
        shelf.publish()
        return release.summary(removed)


def _check_group(group: ProtectedGroup, method: Protection, wanted: set[str]) -> None:
    """Refuse what a method gives back, unless it is what was asked for, and protected."""
    where = f"protect = {method.name!r}"
    if surplus := set(group.tables) - wanted:
        message = f"the method returned unknown tables: {', '.join(sorted(surplus))}"
        raise PublicationError(message, code="protection", where=where)
    for name, outcome in group.tables.items():
        if type(outcome.table) is not ProtectedTable or outcome.table.name != name:
            message = f"the method returned no protected table for {name!r}"
            raise PublicationError(message, code="protection", where=where)
        if {"about", "decisions", "quality"} & set(outcome.remembered):
            message = f"the method stores data of {name!r} that belong to the release"
            raise PublicationError(message, code="protection", where=where)
        if (outcome.assessed is not None) != method.assessed:
            message = f"the method does not declare the quality measures of {name!r}"
            raise PublicationError(message, code="protection", where=where)


def part_decisions(inputs: Inputs, name: str, counts: Counts) -> dict[str, PartDecisions]:
    """Filter → what the rules say of the parts of that count; none without rules."""
    thresholds, method = inputs.programme.thresholds(name), inputs.programme.method(name)
    if thresholds is None and not inputs.programme.parts_tied_with(name):
        return {}
    from discreet.protection.parts import PartRules, check_parts, released_parts

    if thresholds is None:
        where, table = next(iter(counts.items()))
        return {where: released_parts(name, table.dimensions, table.parts)}
    rules = PartRules(**thresholds)
    against: Table | Literal["none"] = "none"
    if inputs.programme.held_against_all(name):
        against = counts[UNIVERSE]
    return {
        where: check_parts(
            counts[where],
            rules,
            universe=None if where == UNIVERSE else against,
            deviation=partial(method.quality, inputs),
            areas=inputs.programme.part_areas(name),
        )
        for where in method.needs(inputs, name)
    }


def annotated(
    programme: Programme,
    name: str,
    protected: ProtectedTable,
    notes: tuple[Note, ...],
    digests: Mapping[str, str],
) -> ProtectedTable:
    """The table as it is published: with title, remarks, name, date of release and digests."""
    entry = programme.tables[name]
    provenance = dataclasses.replace(
        protected.provenance, time=programme.document.date or "", digests=dict(digests)
    )
    titled = protected.described_as(
        name=name,
        titles=entry.title,
        # A filter that is not put into words is printed as written.
        universe=entry.universe
        or (dict.fromkeys(programme.languages, entry.where) if entry.where else {}),
        notes=(*protected.notes, *notes),
        provenance=provenance,
        imprint=programme.document.publication.imprint,
    )

    def meant(cells: Mapping[str, str], dimension: Dimension) -> list[str | None]:
        """The codes of a variable that a remark is about: one, all of a level, or any."""
        name = dimension.name
        if name in cells:
            # A remark on a code that is not listed would tell that it occurs: it is left out.
            return [cells[name]] if cells[name] in dimension.index else []
        level = cells.get(f"{name}.level")
        return [None] if level is None else [*codes_at(dimension, level)]

    remarks = tuple(
        # In place of other languages stands English, which is never missing.
        CellNote(codes, Note("cells", {"en": next(iter(remark.text.values())), **remark.text}))
        for remark in entry.notes
        for codes in product(*(meant(remark.cells, d) for d in titled.dimensions))
    )
    notes_of_cells = (*titled.cell_notes, *remarks)
    return titled.described_as(cell_notes=notes_of_cells) if remarks else titled


def _of_filter(entry: TableEntry, counts: Counts) -> Table:
    """The count of a table with its own filter."""
    where = " ".join((entry.where or "").split())
    every = list(counts.values())
    return next((table for table in every if " ".join(table.where.split()) == where), every[0])


def _suppressed(decided: Mapping[str, PartDecisions]) -> Parts:
    """The parts that one of the counts of a table hides."""
    return frozenset[tuple[int, ...]]().union(*(one.suppressed for one in decided.values()))


def _outline(
    name: str, dimensions: Sequence[Dimension], where: str, parts: Parts | None = None
) -> Table:
    """A table without its cells."""
    index = tuple(np.zeros(0, dtype=np.int32) for _ in dimensions)
    count = np.zeros(0 if dimensions else 1, dtype=np.int64)
    return Table(
        dimensions=tuple(dimensions), index=index, count=count, name=name, where=where, parts=parts
    )


class _Release:
    """The steps of a release."""

    def __init__(
        self,
        inputs: Inputs,
        shelf: ReleaseState,
        *,
        resume: bool,
        internal: Path | None,
        progress: Progress | None,
    ) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.shelf = shelf
        self.digests = table_digests(inputs)  # reads the data once
        self.writer = Writer(inputs, shelf, digests=self.digests, resume=resume)
        self.found: dict[str, set[str]] = {"all": set(), "missing": set()}
        self.kept: set[str] = set()
        #: Of tables that wait: what was decided, their variables, tallies of cells left out
        self.decided: dict[str, dict[str, PartDecisions]] = {}
        self.outlines: dict[str, Table] = {}
        self.hidden: dict[str, dict[Parts, CountStatistics]] = {}
        self.held = 0  # memory that the process had when it last gave some back
        self.pending = self._pending(resume, internal)
        self.later: list[str] = []
        self.progress = progress
        self.done, self.steps = 0, len(self.pending) + len(self.programme.tables) + 1

    @property
    def quality(self) -> bool:
        """Whether there is to be a report on quality."""
        return self.programme.document.quality.enabled

    def made(self, name: str) -> bool:
        """Whether an earlier run has made a table, with all that is needed of it."""
        if not self.shelf.holds(name, self.digests[name]):
            return False
        assessed = self.programme.method(name).assessed and self.quality
        return "quality" in self.shelf.extras(name) or not assessed

    def _pending(self, resume: bool, internal: Path | None) -> list[str]:
        """The tables to be made: tables that share cells are made together or not at all."""
        programme = self.programme
        if not resume:
            return list(programme.tables)
        wanted = {name for name in programme.tables if not self.made(name)}
        for method in programme.methods:
            own = {name: self.digests[name] for name in programme.protected[method.name]}
            # What an internal report says is true values: nothing here remembers it.
            if internal is not None and method.must_repeat(self.inputs, own, internal):
                wanted |= set(own)
            for group in programme.linked(method):
                wanted |= set(group) if wanted & set(group) else set()
        return [name for name in programme.tables if name in wanted]

    def step(self, what: str) -> None:
        """Say what has been done."""
        self.done += 1
        check_memory(what)
        self.held = trim_heap(self.held)
        self.tell(what)

    def tell(self, what: str) -> None:
        """Say what is being done."""
        if self.progress is not None:
            self.progress(self.done, self.steps, what)

    def tabulate_and_protect(self) -> None:
        """Count the pending tables in shared passes and protect each as it comes."""
        if not self.pending:
            return
        programme, inputs = self.programme, self.inputs
        spanning = inputs.spanning(self.pending)
        check_grids(programme, self.pending, spanning)
        check_area_levels(programme, self.pending, spanning)
        # None that could be found by trial.
        keys = {name: inputs.release_keys[name] for name in spanning if inputs.prints_digests(name)}
        data = {name: key.digest("data") for name, key in keys.items()}
        printed: dict[str, dict[str, str]] = {}
        for name in self.pending:
            source = programme.source_of(name).name
            digests = {"programme": self.digests[name], "data": data.get(source, "")}
            printed[name] = digests if source in data else {}
        context = release_context(spanning, digests=self.digests, printed=printed, tell=self.tell)
        groups = [
            (method, tuple(group))
            for method in programme.methods
            for group in programme.linked(method)
        ]
        with closing(WaitingTables(self.shelf.folder)) as waiting:
            # The records are let go before what has waited for the last table is protected.
            last: list[tuple[str, Counts] | None] = [None]
            for counted in chain(counted_tables(inputs, self.pending, spanning), last):
                self.held = trim_heap(self.held if counted else 0)
                for method, group in groups:
                    followed = {each for own in group for each in method.follows(programme, own)}
                    missing = {*group} - waiting.keys() | followed & {*self.pending} - self.kept
                    if not missing:
                        self._protect(method, waiting.taken(group), context)
                if counted is not None:
                    waiting.put(counted[0], self._decide(*counted))
            for method, group in groups:  # what had to wait for tables of other records
                if waiting.keys() >= set(group):
                    self._protect(method, waiting.taken(group), context)
        if left := [name for name in self.pending if name not in self.kept]:
            message = f"no method protected {', '.join(left)}"
            raise PublicationError(message, code="protection", where="protect")
        for method in programme.methods:
            names = [name for name in programme.protected[method.name] if name in self.pending]
            self.later += method.concluded(inputs, names)

    def withhold(self) -> None:
        """Refuse the release if attacks on it find more than the programme allows."""
        programme = self.programme
        for method in programme.methods:
            tables = {name: self.shelf.table(name) for name in programme.protected[method.name]
                      if programme.additive_with(name)}  # fmt: skip
            self.later += averaged_away(self.inputs, method, tables)
            for group in dict.fromkeys(map(programme.additive_with, tables)):
                told = {(programme.places[name], value) for name in group
                        for value in programme.tells(name)}  # fmt: skip
                others = [
                    name
                    for name in programme.protected[method.name]
                    if name not in group
                    and told & {(programme.places[name], value) for value in programme.tells(name)}
                ]
                if others:
                    self.later.append(
                        f"{', '.join(group)}: cells in common with {', '.join(others)} can have "
                        "other values there; use additive = true and the same filter in all"
                    )
        if programme.document.attacks is None:
            return
        self.tell("attacks")
        problems, attacked = list[Problem](), set[str]()
        for method in programme.methods:
            names = programme.protected[method.name]
            attacked |= set(names) if method.attacked == "table" else set()
            problems += given_away(self.inputs, method, {n: self.shelf.table(n) for n in names})
        raise_all(
            PublicationError,
            problems,
            code="attacks",
            many="attacks exceed {} limits of [attacks]",
            where=str(programme.path),
        )
        self.writer.attacked = bool(attacked)
        if left := [name for name in programme.tables if name not in attacked]:
            self.later.append(f"no attack was carried out on {', '.join(left)}")

    def compare_periods(self, revision: RevisionCheck | None) -> None:
        """Attack all periods together, and list what a revision changes."""
        period = self.programme.document.period
        if period is not None and period.earlier:
            self.tell("periods")
            tables = {name: self.shelf.table(name) for name in self.programme.tables}
            self.writer.periods = period_checks(self.inputs, tables, revision)
            self.later += self.writer.periods.warnings

    def _decide(self, name: str, counts: Counts) -> Counts:
        """Decide on the parts of a table by itself; the counts that it is protected from."""
        inputs, method = self.inputs, self.programme.method(name)
        self.decided[name] = decided = part_decisions(inputs, name, counts)
        own = _of_filter(self.programme.tables[name], counts)
        self.outlines[name] = _outline(name, own.dimensions, own.where, own.parts)
        needs = method.needs(inputs, name)
        counts = {where: table for where, table in counts.items() if where in needs}
        if not inputs.prints_digests(self.programme.source_of(name).name):
            counts = {where: table.without_fingerprint() for where, table in counts.items()}
        return self._thinned(_suppressed(decided), name, counts)

    def _thinned(self, hidden: Parts, name: str, counts: Counts) -> Counts:
        """The counts of a table without hidden cells, if it can be protected without them."""
        if not hidden or not self.programme.method(name).cellwise(self.inputs, name):
            return counts
        from discreet.assessment import without_parts

        ((where, table),) = counts.items()
        table, left_out = without_parts(table, hidden)
        self.hidden.setdefault(name, {})[hidden] = left_out
        return {where: table}

    def _protect(self, method: Protection, counted: WaitingTables, context: ReleaseContext) -> None:
        """Protect tables that are linked, and keep what comes of it."""
        missing = set(counted)
        waiting: dict[str, ReleasedOutcome] = {}
        decided = {name: self.decided.pop(name) for name in counted}
        joint = self._joint(decided)
        for name, every in joint.items():
            if every is not None:
                hidden = every.suppressed - _suppressed(decided[name])
                counted.changes[name] = partial(self._thinned, hidden, name)
        for group in method.protect(self.inputs, counted, context):
            _check_group(group, method, missing)
            missing -= set(group.tables)
            if group.internal is not None:
                self.writer.reported.setdefault(method.name, []).append(group.internal)
            self.later += group.warnings
            for name, outcome in group.tables.items():
                waiting[name] = outcome
                together = self.programme.additive_with(name)
                if set(together) <= set(waiting):
                    tables = {item: waiting.pop(item) for item in together or (name,)}
                    if together:
                        from discreet.protection.rounding import make_additive_linked

                        raw = {item: outcome.table for item, outcome in tables.items()}
                        same = _same_codes(self.inputs, raw)
                        added = make_additive_linked([*raw.values()], same)
                        tables = {
                            item: dataclasses.replace(tables[item], table=table)
                            for item, table in zip(tables, added, strict=True)
                        }
                    for each, done in tables.items():
                        self._keep(method, done, decided[each], joint[each], context.printed[each])
                        self.step(each)

    def _followed(self, name: str) -> dict[str, PartDecisions]:
        """What a table must hide because tables of other records do."""
        followed = self.programme.method(name).follows(self.programme, name)
        if not followed:
            return {}
        from discreet.protection.parts import PartDecisions, released_parts

        others = {
            other: PartDecisions.from_dict(log)
            for other in followed
            if (log := self.shelf.extras(other)["decisions"]) is not None
        }
        if all(decided.outcome == "complete" for decided in others.values()):
            return {}
        table = self.outlines[name]
        tables = {name: table}
        for other in others:
            where = self.programme.tables[other].where or ""
            tables[other] = _outline(other, self.shelf.table(other).spanning, where)
        every = {name: released_parts(name, table.dimensions, table.parts), **others}
        return {name: self._ties(tables, next(iter(others)), tables).agreed(every)[name]}

    def _joint(
        self, decided: Mapping[str, Mapping[str, PartDecisions]]
    ) -> dict[str, PartDecisions | None]:
        """One set of decisions per table; tables of the same records do not contradict it."""
        joint: dict[str, PartDecisions] = {}
        for name in filter(decided.get, decided):
            from discreet.protection.parts import joint_decisions

            joint[name] = joint_decisions(list(decided[name].values()))
        for group in sorted({self.programme.parts_tied_with(name) for name in joint} - {()}):
            own = {name: joint[name] for name in group if name in joint}
            if any(one.outcome != "complete" for one in own.values()):
                tables = {name: self.outlines[name] for name in group}
                named = [name for name in group if self.programme.parts_with(name)]
                joint |= self._ties(tables, group[0], named).agreed(own)
        for name in list(joint):  # nothing is to be said of what no rule is for
            decides = self.programme.thresholds(name) is not None or self.programme.parts_with(name)
            if not decides and joint[name].outcome == "complete":
                del joint[name]
        for name in decided:
            joint |= self._followed(name)
        return {name: joint.get(name) for name in decided}

    def _ties(self, tables: Mapping[str, Table], counted: str, named: Collection[str]) -> PartTies:
        """What ties parts of tables together: records, or names where these do not have them."""
        from discreet.disclosure import Partitions
        from discreet.protection.parts import PartTies

        records = self.inputs.records[self.programme.source_of(counted).name]
        weight = self.programme.tables[counted].weight or None
        partitions: Partitions | None = None
        try:
            partitions = Partitions(records, list(tables.values()), weight)
        except DiscreetError:  # cubes hold what they were asked for only
            message = "suppressed subtables were compared by variable names only"
            self.later.append(
                f"{', '.join(tables)}: {message}, because the records lack some of them"
            )
        else:
            self.later += [
                f"{', '.join(tables)}: suppressed subtables were not examined for {gap.text()}"
                for gap in partitions.unexamined
            ]
        return PartTies(
            {name: table.dimensions for name, table in tables.items()},
            {name: table.where for name, table in tables.items()},
            partitions,
            named,
        )

    def _keep(
        self,
        method: Protection,
        outcome: ReleasedOutcome,
        decided: Mapping[str, PartDecisions],
        joint: PartDecisions | None,
        printed: Mapping[str, str],
    ) -> None:
        """Put a table on the shelf, with what is to be said about it later."""
        protected, parts = outcome.table, None
        if joint is not None:
            from discreet.protection.parts import described_decisions, suppress_parts

            protected, parts = suppress_parts(protected, joint), described_decisions(decided, joint)
        name, own = outcome.table.name, outcome.table.provenance.digests
        counted = full_count(self.programme, name)  # where others are estimates
        full = (note_of("discreet.derived", "full-count"),) if counted else ()
        table = annotated(
            self.programme,
            name,
            protected,
            (*method.statement(self.inputs, name), *full),
            {**printed, **own} if printed else {},
        )
        judged = table = table.described_as(margin=method.margin(self.inputs, name))
        entry = self.programme.tables[name]
        if entry.available is not None:
            from discreet.derived import available_areas

            stated = entry.available
            table = available_areas(table, stated.variable or "", stated.least or 0)
        if entry.flows is not None:
            from discreet.derived import thinned_flows

            table = thinned_flows(table, **entry.flows.model_dump())
        if name in self.shelf.names() and self.shelf.files(name):
            then = self.shelf.extras(name).get("about", {}).get("protect", method.name)
            changed = method.changed(name, partial(self.shelf.table, name), table)
            if then != method.name:
                changed = (
                    f"{name} had protect = {then!r} in the previous run; if that run was "
                    f"published: {clash(then, method.name)[0]}"
                )
            self.later += [changed] if changed else []
        # Nothing confidential is remembered, or it is sealed.
        extras: dict[str, Any] = {"decisions": parts}
        if outcome.assessed is not None and self.quality:
            key = self.inputs.release_keys[self.programme.source_of(name).name]
            hidden = self.hidden.pop(name, {}).values()
            extras["quality"] = sealed_quality(judged, outcome.assessed, joint, key, hidden)
        extras |= {"about": table_statement(self.programme, name), **outcome.remembered}
        self.shelf.put(table, self.digests[name], extras)
        self.kept.add(name)
        # A code list that comes from the data tells of each code that it occurs.
        for variable, kind in outcome.found_codes.items():
            self.found[kind].add(variable)

    def _moved_weights(self) -> Iterator[str]:
        """How far calibration moved weights, for the office."""
        for changed in self.inputs.calibrated.values():
            for column, factors in changed.measures.items():
                spread = ", ".join(f"{name} {value:.3f}" for name, value in factors.items())
                yield f"calibrated weights {column!r} against scaled starting weights: {spread}"

    def summary(self, removed: Sequence[str]) -> ReleaseSummary:
        """What there is now."""
        tables = [
            self.writer.released(name, fresh=name in self.pending) for name in self.programme.tables
        ]
        seal = None if self.inputs.seals is None else read_seal(self.shelf.out / SEAL)
        listed = []
        if every := self.found["all"]:
            listed.append(
                f"the codes of {', '.join(sorted(every))} come from the data, so each listed "
                "code discloses that it occurs; add them to [variables], or set found_codes = "
                '"hide"'
            )
        if missing := self.found["missing"] - every:
            listed.append(
                f"missing values of {', '.join(sorted(missing))} are listed because they occur; "
                'add their code to [variables], or set found_codes = "hide"'
            )
        return ReleaseSummary(
            out=self.shelf.out,
            tables=tuple(tables),
            report=self.shelf.out / report_files(self.programme)[0],
            manifest=self.shelf.out / MANIFEST,
            removed=tuple(sorted(removed)),
            warnings=(
                *self.inputs.warnings,
                *dict.fromkeys(self.later),
                *listed,
                *(f"rebuilt: {item.where}: {item.what}" for item in self.shelf.accepted),
            ),
            seal="" if seal is None else seal.identity,
            signer="" if seal is None else seal.signer_id or "",
            checks=(*self._moved_weights(), *self.writer.periods.sentences("en")),
        )


def given_away(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> list[Problem]:
    """Findings above the limits, by attacks or by additive tables."""
    from discreet.assessment import attacked, exceeded_limits

    programme, stated = inputs.programme, inputs.programme.document.attacks
    assert stated is not None
    lines, problems = list[str](), list[Problem]()
    if method.attacked == "table":
        assert inputs.parameters is not None
        universes: dict[str, list[ProtectedTable]] = {}
        for name, table in tables.items():
            about = f"{programme.source_of(name).name} where {programme.tables[name].where or ''}"
            universes.setdefault(about, []).append(table)
        ptable = inputs.parameters.perturbation_table
        lines += attacked(universes, knows=stated.knows, ptable=ptable).exceeded(stated.limits)
    limits = {n: limit for n, limit in stated.limits.items() if n in ("exposure", "average")}
    for about, rates in _additive_rates(inputs, method, tables).items() if limits else ():
        if "average" in limits and not {"average", "exposure"} & (limits.keys() & rates.keys()):
            hint = (
                "add exposure to [attacks], the highest number of values that may estimate "
                "one value"
            )
            problems.append(Problem(f"{about}: average cannot be computed", method.name, hint))
        known = {name: limit for name, limit in limits.items() if name in rates}
        lines += [f"{about}: {line}" for line in exceeded_limits(rates, known)]
    return [*(Problem(line, method.name) for line in lines), *problems]


def averaged_away(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> list[str]:
    """Warnings about noise that additivity averages away; they say nothing of the noise."""
    return [
        f"{about}: on average, {rates['exposure']:.1f} independent values estimate each value, "
        "so more counts are true than without additivity; discreet attack computes how "
        "many; add limits to [attacks], or remove additive"
        for about, rates in _additive_rates(inputs, method, tables).items()
    ]


def _same_codes(
    inputs: Inputs, tables: Mapping[str, ProtectedTable]
) -> Mapping[VariableCode, VariableCode]:
    """Codes of tables that are those of variables of other names, as the records have them."""
    if len(tables) < 2:
        return {}
    from discreet.disclosure import same_codes

    views = inputs.programme.tables
    outlines = [
        _outline(name, table.spanning, views[name].where or "") for name, table in tables.items()
    ]
    return same_codes(inputs.records[inputs.programme.source_of(next(iter(tables))).name], outlines)


def _additive_rates(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> dict[str, dict[str, float]]:
    """Per group of tables that are made additive, its exposure; with noise, how much is true.

    Every figure of an additive table is the average, not the best of them only.
    """
    rates: dict[str, dict[str, float]] = {}
    for group in filter(None, dict.fromkeys(map(inputs.programme.additive_with, tables))):
        from discreet.assessment import NoiseOdds
        from discreet.protection.rounding import fitted_exposure

        every = {name: tables[name] for name in group}
        exposure = fitted_exposure([*every.values()], _same_codes(inputs, every))
        own = rates[f"{', '.join(group)}, made additive"] = {"exposure": exposure}
        if method.attacked == "table":
            assert inputs.parameters is not None
            odds = NoiseOdds.of(inputs.parameters.perturbation_table)
            own["average"] = max(odds.averaged(exposure), odds.staying)
    return rates
