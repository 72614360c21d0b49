"""Steps: one method on records after another, and the records as they go out.

In: records with what their file says of them (CONFIDENTIAL), steps as a programme has them, and the
secret of draws. Out: records for others, a statement for their users, and where they come from.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl
from pydantic import ValidationError

import discreet.pretabular
from discreet.confidential import without_values
from discreet.errors import (
    DiscreetError,
    DiscreetWarning,
    Problem,
    ProgrammeError,
    nearest,
    raise_all,
)
from discreet.microdata import (
    DescribedRecords,
    DescribedVariable,
    Secret,
    described_records,
    plain_variable,
)
from discreet.pretabular.changed_records import ChangedRecords
from discreet.pretabular.recoding import suspicion
from discreet.pretabular.settings import METHODS, RecordSettings
from discreet.settings import setting_problems

#: From the keys on the way to something: what messages call its place.
Place = Callable[[tuple[str | int, ...]], str]

_AT = "\0at"
#: What is done about warnings is the same for all threads.
_ONE_AT_A_TIME = threading.Lock()
_IDENTIFIES = "the column identifies records"
_KEEP = "add it to [output] drop = [...], or to keep = [...] for internal use"


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordStep:
    """A method with its settings."""

    method: str
    settings: RecordSettings
    ids: Sequence[str]  # the columns that identify a record
    place: str  # where it stands


@dataclass(frozen=True, kw_only=True, repr=False)
class AnonymisedRecords:
    """Records in memory after some steps."""

    described: DescribedRecords  # the records that go out, with what their file says of them
    #: All records after the last step, with their identifiers, in order. CONFIDENTIAL
    records: pl.DataFrame
    measures: Sequence[Mapping[str, Any]]  # what each step did, in numbers. CONFIDENTIAL
    statement: Mapping[str, Sequence[str]]  # what was done, language → a sentence per step. Public
    provenance: Sequence[Mapping[str, str]]  # methods, versions and keyed digests. Public
    warnings: tuple[str, ...]  # what steps warn of. CONFIDENTIAL

    def __repr__(self) -> str:
        return f"<AnonymisedRecords: {self.records.height:,} after {len(self.provenance)} steps>"


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordChain:
    """Records, the steps that change them, and what goes out. CONFIDENTIAL."""

    original: DescribedRecords
    steps: Sequence[RecordStep]
    secret: Secret | None
    ids: Sequence[str]  # the columns that identify a record
    drop: Sequence[str]  # columns that are left out
    keep: Sequence[str]  # columns that identify a record, and stay on purpose
    sorted: bool = True  # whether records are sorted by all their columns

    def carried_out(
        self, step: RecordStep, records: pl.DataFrame
    ) -> tuple[ChangedRecords, list[tuple[str, type[Warning]]]]:
        """Records after a step, and its warnings."""
        where = f"{step.place}, {step.method}".lstrip(", ")
        method = getattr(discreet.pretabular, step.method)
        try:
            with _own_warnings() as caught:
                changed = method(records, step.settings, id=step.ids, secret=self.secret)
        except DiscreetError as error:
            placed = [
                replace(one, where=f"{where}: {one.where}".rstrip(": ")) for one in error.problems
            ]
            several = f"{where}: several problems"
            raise type(error).of(placed, several, code=error.code) from None
        return changed, [(f"{where}: {warning}", type(warning)) for warning in caught]

    def described(self, records: pl.DataFrame) -> DescribedRecords:
        """The records as they go out: described as they were, without what is to be dropped.

        A file is refused of which a step says what later ones have undone, and one with columns
        that may name someone.
        """
        problems = []
        for step in self.steps:
            names, fewest = step.settings.promise()
            kept = [name for name in names if name in records.columns]
            if not kept or not records.height:
                continue
            if int(records.group_by(kept).len()["len"].to_numpy().min()) < fewest:
                message = f"some combinations of {', '.join(kept)} occur fewer than {fewest} times"
                hint = "move the step after those that change these variables"
                problems.append(Problem(message, f"{step.place}, {step.method}".lstrip(", "), hint))
        raise_all(ProgrammeError, problems, code="steps")
        decided, names_left = [*self.drop, *self.keep], set(records.columns)
        problems = [
            Problem(_IDENTIFIES, name, _KEEP)
            for name in self.ids
            if name in names_left and name not in decided
        ]
        problems += [
            Problem(reason, name, _KEEP)
            for name in records.columns
            if name not in {*decided, *self.ids} and (reason := suspicion(records[name]))
        ]
        missing = "column not found after the last step"
        problems += [
            Problem(missing, name, nearest(name, sorted(names_left)))
            for name in decided
            if name not in names_left
        ]
        raise_all(ProgrammeError, problems, code="output")
        before = {one.name: one for one in self.original.variables}
        going = records.drop(self.drop)
        variables = [_variable(before.get(column.name), column) for column in going]
        if self.sorted:  # where a record stood may tell what it was
            rows = going.with_row_index(_AT).sort(going.columns, nulls_last=True)[_AT]
            variables = [
                replace(one, values=one.values.gather(rows), reasons=one.reasons.gather(rows))
                for one in variables
            ]
        return replace(self.original, variables=variables)


def _variable(before: DescribedVariable | None, values: pl.Series) -> DescribedVariable:
    """A column with its description; reasons of missing values hold only where nothing changed."""
    if before is not None and before.values.equals(values, null_equal=True):
        return before
    plain = plain_variable(values)
    if before is None or before.values.dtype != values.dtype:
        return plain
    return replace(before, values=values, reasons=plain.reasons)


def checked_steps(
    steps: Sequence[Mapping[str, Any]],
    problems: list[Problem],
    place: Place,
    *,
    ids: Sequence[str],
    secret_there: bool,
) -> Iterator[RecordStep]:
    """The steps whose settings are in order; a problem for all that is wrong with others."""
    for number, step in enumerate(steps):
        path = ("steps", number)
        stated = {option: value for option, value in step.items() if option not in ("method", "id")}
        ready = stated.get("settings")  # of a method that is alone
        method = step.get("method")
        if not isinstance(method, str) or method not in METHODS:
            message = f"unknown method {method!r}" if isinstance(method, str) else "is missing"
            hint = nearest(str(method), list(METHODS))
            problems.append(Problem(message, place((*path, "method")), hint))
            continue
        kind = METHODS[method]
        own = step.get("id", ids)
        own = [own] if isinstance(own, str) else own
        if kind.identified and not own:
            message, hint = f"{method} needs the identifier of a record", 'id = "person_id"'
            problems.append(Problem(message, place(("keys", "id")), hint))
        if kind.drawn and not secret_there:
            message, hint = f"{method} needs a secret", "create one with: discreet keys secret"
            problems.append(Problem(message, place(("keys", "secret_file")), hint))
        try:
            settings = ready if isinstance(ready, kind) else kind.model_validate(stated)
        except DiscreetError as error:
            problems += [Problem(one.what, place(path), one.hint) for one in error.problems]
        except ValidationError as error:
            below = partial(lambda above, keys: place((*above, *keys)), path)
            problems += setting_problems(error, below, [*kind.model_fields])
        else:
            yield RecordStep(
                method=method, settings=settings, ids=own, place="" if ready else place(path)
            )


def undecided(
    steps: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    place: Place,
    *,
    ids: Sequence[str],
    decided: Sequence[str],
) -> Iterator[Problem]:
    """Identifiers that no column is, and those of which nobody says whether they stay."""
    stated = json.dumps(
        [*steps],
        default=lambda value: (
            value.model_dump() if isinstance(value, RecordSettings) else str(value)
        ),
    )
    for name in ids:
        if name not in names:
            hint = nearest(name, sorted(names))
            yield Problem(f"column {name!r} not found", place(("keys", "id")), hint)
        elif name not in decided and json.dumps(name) not in stated:
            yield Problem(f"{_IDENTIFIES}: {name}", place(("output",)), _KEEP)


def _dotted(path: tuple[str | int, ...]) -> str:
    """A place as it is written.

    >>> _dotted(("steps", 0, "above"))
    'steps[0].above'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


@without_values
def record_chain(
    records: Any,
    steps: Sequence[Mapping[str, Any]],
    *,
    id: str | Sequence[str] = (),  # noqa: A002 - the word users know
    secret: Secret | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    files: bool = False,
) -> RecordChain:
    """Steps on records in memory; one error for all that is wrong before they are carried out.

    Args:
        records: The records, or a file of them.
        steps: A method and its settings each, as [[steps]] of a programme has them.
        id: Columns that identify a record.
        secret: What draws come from.
        drop: Columns that are left out.
        keep: Columns that identify a record, and stay on purpose.
        files: Whether settings may name files.
    """
    ids, problems = [id] if isinstance(id, str) else [*id], list[Problem]()
    chain = list(checked_steps(steps, problems, _dotted, ids=ids, secret_there=secret is not None))
    if not files:
        problems += [
            Problem("files are not allowed here", f"{step.place}.{name}", "give intervals or codes")
            for step in chain
            for name in step.settings.files()
        ]
    original = records if isinstance(records, DescribedRecords) else described_records(records)
    names = [one.name for one in original.variables]
    problems += undecided(steps, names, _dotted, ids=ids, decided=[*drop, *keep])
    if not steps:
        hint = f"methods: {', '.join(METHODS)}"
        problems.append(Problem("no steps given", "steps", hint))
    raise_all(ProgrammeError, problems, code="programme", many="{} problems with the steps")
    return RecordChain(original=original, steps=chain, secret=secret, ids=ids, drop=drop, keep=keep)


@without_values
def anonymise_records(
    records: Any, steps: Sequence[Mapping[str, Any]], **options: Any
) -> AnonymisedRecords:
    """Carry out steps on records in memory; options are those of `record_chain`.

    >>> people = pl.DataFrame({"sex": ["m", "f", "f", "m"], "age": [31, 67, 70, 82]})
    >>> made = anonymise_records(people, [{"method": "top_code", "variable": "age", "above": 65}])
    >>> sorted(made.described.frame.rows())
    [('f', 65), ('f', 65), ('m', 31), ('m', 65)]
    """
    chain = record_chain(records, steps, **options)
    frame, done, heard = chain.original.frame, list[ChangedRecords](), list[str]()
    for step in chain.steps:
        changed, warned = chain.carried_out(step, frame)
        frame = changed.records
        done.append(changed)
        heard += [message for message, _ in warned]
    return AnonymisedRecords(
        described=chain.described(frame),
        records=frame,
        measures=[changed.measures for changed in done],
        statement={
            language: [changed.statement[language] for changed in done] for language in ("en", "de")
        },
        provenance=[dict(changed.provenance) for changed in done],
        warnings=tuple(heard),
    )


@contextmanager
def _own_warnings() -> Iterator[list[DiscreetWarning]]:
    """Warnings of this thread alone: those of others may tell of other records."""
    own, heard = threading.get_ident(), list[DiscreetWarning]()
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("always", DiscreetWarning)
        shown = warnings.showwarning

        def keep(message: Any, *more: Any, **named: Any) -> None:
            if threading.get_ident() == own and isinstance(message, DiscreetWarning):
                heard.append(message)
            else:
                shown(message, *more, **named)

        warnings.showwarning = keep
        yield heard
