"""Programmes for records: one method after another, records in, records for others out.

In: a TOML file that names records (CONFIDENTIAL), their identifier and secret, and steps. Out: a
folder with the records, a statement for their users and where they come from; in a second,
CONFIDENTIAL folder what each step changed, from which an interrupted run is taken up.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import polars as pl
from pydantic import ConfigDict, Field, ValidationError, create_model

from discreet._version import __version__
from discreet.confidential import without_values
from discreet.errors import (
    DiscreetError,
    DiscreetWarning,
    Problem,
    ProgrammeError,
    nearest,
    raise_all,
)
from discreet.files import make_folder, write_text
from discreet.microdata import (
    DescribedRecords,
    DescribedVariable,
    check_writable_as,
    described_records,
    plain_variable,
    write_described,
)
from discreet.pretabular import METHODS, broken_promise, suspicion
from discreet.protection.problems import Opener, stated_secret_problems
from discreet.release.confidential_files import write_confidential
from discreet.release.programme.checks import check_records
from discreet.release.programme.file import (
    ProgrammeFile,
    RecordSource,
    form_of,
    form_problem,
    main_source,
    raise_problems,
    read_form,
)
from discreet.release.programme.schema import DataEntry, Languages, ProgrammeEntry, Texts
from discreet.release.run.files import check_internal
from discreet.release.run.inputs import read_records
from discreet.release.state.seal import file_digest
from discreet.settings import NameList, Text

if TYPE_CHECKING:
    from discreet.microdata import Secret

__all__ = [
    "AnonymisedFile",
    "AnonymisedRecords",
    "anonymise",
    "anonymise_records",
    "check_steps",
    "step_form",
]

Report = Callable[[int, int, str], None]

_STATE = "discreet anonymisation state, version 1"
_AT = "\0at"
#: What is done about warnings is the same for all threads.
_ONE_AT_A_TIME = threading.Lock()
_IDENTIFIES = "identifies a record: say whether it stays"
_KEEP = "[output] drop = [...] leaves it out; keep = [...] lets it stay, for use inside the house"


class StepEntry(ProgrammeEntry):
    """[[steps]]: a method and its options, which are checked by the method's own form."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    method: Text


class OutputEntry(ProgrammeEntry):
    """[output]: the file of records that is made, and which identifying columns stay in it.

    Records are sorted by all their columns: where one stood in the original may tell what it was.
    """

    file: Text = "records.parquet"
    order: Literal["sorted", "kept"] = "sorted"
    drop: list[Text] = Field(default_factory=list)
    keep: list[Text] = Field(default_factory=list)


class RecordKeysEntry(ProgrammeEntry):
    """[keys]: what identifies a record, and the secret that makes draws unpredictable."""

    id: NameList | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None


class AnonymisationDocument(ProgrammeEntry):
    """A whole programme for records."""

    title: Texts = Field(default_factory=dict)
    languages: Languages = Field(default=["en", "de"])
    data: DataEntry | None = None
    keys: RecordKeysEntry = RecordKeysEntry()
    steps: Annotated[list[StepEntry], Field(min_length=1)] = Field(default_factory=list)
    output: OutputEntry = OutputEntry()


@dataclass(frozen=True, kw_only=True, repr=False)
class AnonymisedFile:
    """What a programme for records has made.

    Args:
        path: The file of records; None if only checked.
        records: How many records it has.
        steps: The methods, in order.
        statement: What was done, language → a sentence per step. Public.
        provenance: Methods, version and keyed digests. Public.
    """

    path: Path | None
    records: int
    steps: tuple[str, ...]
    statement: Mapping[str, Sequence[str]]
    provenance: Sequence[Mapping[str, str]]

    def described(self) -> dict[str, Any]:
        """For programs that read it."""
        path = None if self.path is None else str(self.path)
        return {"out": path, "records": self.records, "steps": list(self.steps),
                "statement": self.statement}  # fmt: skip

    def __repr__(self) -> str:
        return f"<AnonymisedFile: {self.records:,} records after {len(self.steps)} steps>"


@dataclass(frozen=True, kw_only=True, repr=False)
class AnonymisedRecords:
    """What steps have made of records in memory."""

    described: DescribedRecords  # the records that go out, with what their file says of them
    #: All records after the last step, with their identifiers, in order. CONFIDENTIAL
    records: pl.DataFrame
    measures: Sequence[Mapping[str, Any]]  # what each step did, in numbers. CONFIDENTIAL
    statement: Mapping[str, Sequence[str]]  # what was done, language → a sentence per step. Public
    provenance: Sequence[Mapping[str, str]]  # methods, versions and keyed digests. Public
    warnings: tuple[str, ...]  # what steps warn of. CONFIDENTIAL

    def __repr__(self) -> str:
        return f"<AnonymisedRecords: {self.records.height:,} after {len(self.provenance)} steps>"


@without_values
def anonymise_records(
    records: Any,
    steps: Sequence[Mapping[str, Any]],
    *,
    id: str | Sequence[str] = (),  # noqa: A002 - the word users know
    secret: Secret | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> AnonymisedRecords:
    """Carry out the steps of a programme for records on records in memory.

    >>> people = pl.DataFrame({"sex": ["m", "f", "f", "m"], "age": [31, 67, 70, 82]})
    >>> made = anonymise_records(people, [{"method": "top_code", "variable": "age", "above": 65}])
    >>> sorted(made.described.frame.rows())
    [('f', 65), ('f', 65), ('m', 31), ('m', 65)]
    """
    plan = _plan_of(described_records(records), steps, [id] if isinstance(id, str) else [*id],
                    secret, {"drop": [*drop], "keep": [*keep]})  # fmt: skip
    shelf, frame = _Shelf(None, plan, resume=False), plan.original.frame
    made, warned = [], list[str]()
    for step in plan.steps:
        changed, heard = shelf.heard_out(step, frame)
        frame = changed.records
        made.append(changed)
        warned += [message for message, _ in heard]
    _check_promises(plan, frame)
    return AnonymisedRecords(
        described=_described(plan, frame),
        records=frame,
        measures=[changed.measures for changed in made],
        statement={
            language: [changed.statement[language] for changed in made]
            for language in plan.document.languages
        },
        provenance=[dict(changed.provenance) for changed in made],
        warnings=tuple(warned),
    )


@without_values
def check_steps(
    records: Any,
    steps: Sequence[Mapping[str, Any]],
    *,
    id: str | Sequence[str] = (),  # noqa: A002
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> None:
    """Raise one error for all that can be said to be wrong before anything is carried out."""
    from discreet.microdata import Secret

    _plan_of(described_records(records), steps, [id] if isinstance(id, str) else [*id],
             Secret.generate(), {"drop": [*drop], "keep": [*keep]})  # fmt: skip


def _plan_of(
    original: DescribedRecords,
    steps: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    secret: Secret | None,
    output: Mapping[str, Any],
) -> _Plan:
    """A programme that stands in no file."""
    told = {"keys": {"id": [*names] or None}, "steps": [dict(step) for step in steps]}
    document, file, problems = form_of(told | {"output": output}, Path(), AnonymisationDocument)
    if problems:
        raise ProgrammeError.of(problems, f"{len(problems)} mistakes", code="programme")
    made = list(_steps(document, file, problems, secret_there=secret is not None))
    problems += [
        file.problem(("steps", at, option), "files are not read here", "give intervals or codes")
        for at, step in enumerate(made)
        for option, value in step.options.items()
        if isinstance(value, Path)
    ]
    problems += _named(document, file, [one.name for one in original.variables])
    if not steps:
        hint = f"methods: {', '.join(METHODS)}"
        problems.append(file.problem(("steps",), "no step is asked for", hint))
    raise_all(ProgrammeError, problems, code="programme", many="the steps have {} mistakes")
    return _Plan(document=document, original=original, secret=secret, steps=made, data="")


@without_values
def anonymise(
    programme: str | os.PathLike[str],
    out: str | os.PathLike[str] | None,
    *,
    internal: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: Report | None = None,
    show_values: bool = False,
) -> AnonymisedFile:
    """Carry out a programme for records.

    Args:
        programme: The programme file.
        out: The folder of the file that is made; None carries out everything and writes nothing.
        internal: A folder for what each step changed, CONFIDENTIAL; a run that was interrupted is
            taken up from it.
        resume: False carries out every step anew.
        progress: Called after each step with steps done, steps to do, and a name.
        show_values: Let errors about the data quote the first wrong value of a column.

    >>> anonymise("no-such-programme.toml", None)
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: the programme
    cannot be read (No such file or directory)
      Hint: give the path of a TOML file
    """
    plan = _plan(Path(programme), show_values)
    inside = None if internal is None or out is None else Path(internal)
    if out is not None:
        check_internal(inside, Path(out))
        check_writable_as(plan.original, Path(out) / plan.document.output.file)
    kept = _Shelf(inside, plan, resume=resume)
    report = progress or (lambda done, steps, name: None)
    records: Any = plan.original.frame
    made = []
    for number, step in enumerate(plan.steps, start=1):
        records, told = kept.step(number, step, records)
        made.append(told)
        report(number, len(plan.steps), step.method)
    _check_promises(plan, records)
    described = _described(plan, records)
    result = AnonymisedFile(
        path=None if out is None else Path(out) / plan.document.output.file,
        records=records.height,
        steps=tuple(step.method for step in plan.steps),
        statement={
            language: [item["statement"][language] for item in made]
            for language in plan.document.languages
        },
        provenance=[item["provenance"] for item in made],
    )
    if out is not None:
        _write(result, described, plan, Path(out))
    return result


# -- the programme ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class _Step:
    """A method with checked options."""

    method: str
    options: Mapping[str, Any]
    stated: Mapping[str, Any]
    place: str


@dataclass(frozen=True, kw_only=True, repr=False)
class _Plan:
    """A programme and everything that it names. CONFIDENTIAL."""

    document: AnonymisationDocument
    original: DescribedRecords
    secret: Secret | None
    steps: Sequence[_Step]
    #: SHA-256 of the file of records, or of what was read from a database.
    data: str


def _plan(path: Path, show_values: bool) -> _Plan:
    document, file, problems = read_form(path, AnonymisationDocument)
    keys = document.keys
    source = main_source(document.data or DataEntry(), keys)
    if document.data is None:
        problems.append(file.problem(("data",), "the section [data] is missing"))
    else:
        problems += [each for _, each in check_records(file, source)]
    if not document.steps and not file.reported(("steps",)):
        hint = f"add [[steps]] with method = one of {', '.join(METHODS)}"
        problems.append(file.problem(("steps",), "no step is asked for", hint))
    problems += [each for _, each in stated_secret_problems(file, ("keys",), keys)]
    there = bool(keys.secret_file or keys.secret_env)
    steps = list(_steps(document, file, problems, secret_there=there))
    opener = Opener(file, problems)
    secret = opener.secret(("keys",), keys)
    original = opener.attempt(source.place, partial(_original, source, show_values))
    if original is not None:
        problems += _named(document, file, [one.name for one in original.variables])
    raise_problems(str(path), problems)
    assert original is not None
    return _Plan(
        document=document, original=original, secret=secret, steps=steps,
        data=_data_digest(source, file, original),
    )  # fmt: skip


def _named(
    document: AnonymisationDocument, file: ProgrammeFile, names: Sequence[str]
) -> list[Problem]:
    """Whether identifiers are there, and whether it is clear which of them stay."""
    asked, output = json.dumps([entry.model_dump() for entry in document.steps]), document.output
    decided = {*output.drop, *output.keep}
    problems = []
    for name in document.keys.id or []:
        if name not in names:
            hint = nearest(name, sorted(names))
            problems.append(file.problem(("keys", "id"), f"there is no column {name!r}", hint))
        elif name not in decided and json.dumps(name) not in asked:
            problems.append(file.problem(("output",), f"{name} {_IDENTIFIES}", _KEEP))
    if output.order == "kept" and not output.keep:
        message = "the order of the original can tell what was changed"
        problems.append(
            file.problem(("output", "order"), message, 'leave it out, or keep = ["person_id"]')
        )
    return problems


def _original(
    source: RecordSource, show_values: bool, file: ProgrammeFile
) -> DescribedRecords | None:
    """The records, with what their file says of them."""
    entry = source.records
    described = (entry.source or "").lower().endswith((".dta", ".sav"))
    if entry.source is not None and described and not any(entry.stated.values()):
        place = file.file(entry.source)
        return described_records(place) if place.is_file() else None
    frame = read_records(source, file, show_values=show_values)
    return None if frame is None else described_records(frame)


def _data_digest(source: RecordSource, file: ProgrammeFile, original: DescribedRecords) -> str:
    name = source.records.source
    if name is not None and file.file(name).is_file():
        return file_digest(file.file(name))
    content = BytesIO()
    original.frame.write_ipc(content)
    return hashlib.sha256(content.getbuffer()).hexdigest()


def _steps(
    document: AnonymisationDocument,
    file: ProgrammeFile,
    problems: list[Problem],
    *,
    secret_there: bool,
) -> Iterator[_Step]:
    """The steps with their options in the form of each method."""
    for number, entry in enumerate(document.steps):
        path = ("steps", number)
        if entry.method not in METHODS:
            what = f"there is no method {entry.method!r}"
            hint = nearest(entry.method, list(METHODS))
            problems.append(file.problem((*path, "method"), what, hint))
            continue
        stated = dict(entry.__pydantic_extra__ or {})
        form, accepted = step_form(entry.method)
        handed = {"id": document.keys.id} if "id" in accepted and "id" not in stated else {}
        if handed.get("id", "") is None:
            what = f"{entry.method} needs what identifies a record"
            problems.append(file.problem(("keys", "id"), what, 'id = "person_id"'))
            handed = {"id": [""]}
        if "secret" in accepted and not secret_there:
            what, hint = f"{entry.method} needs a secret", "make one with: discreet keys secret"
            problems.append(file.problem(("keys", "secret_file"), what, hint))
        try:
            text = json.dumps(stated | handed, default=str)
            checked = form.model_validate_json(text)
        except DiscreetError as error:
            problems += [file.problem(path, one.what, one.hint) for one in error.problems]
            continue
        except ValidationError as error:
            known = [name for name in form.model_fields if name not in handed]
            for details in error.errors(include_url=False, include_input=False):
                problems.append(form_problem((*path, *details["loc"]), details, file.index, known))
            continue
        yield _Step(
            method=entry.method,
            options={name: _placed(getattr(checked, name), file) for name in form.model_fields},
            stated=json.loads(text),
            place=file.index.place(path),
        )


@cache
def step_form(method: str) -> tuple[type[ProgrammeEntry], frozenset[str]]:
    """The form of a method's options, by what its function takes; and all that it takes.

    >>> sorted(step_form("round_values")[0].model_fields)
    ['base', 'variables']
    """
    function = inspect.unwrap(METHODS[method])
    hints = get_type_hints(function)
    takes = list(inspect.signature(function).parameters.values())[1:]  # the first are records
    own = [one for one in takes if one.kind is not one.VAR_KEYWORD and one.name != "secret"]
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is one.empty else one.default) for one in own
    }
    made = create_model(f"{method}Options", __base__=ProgrammeEntry, **fields)
    return made, frozenset(one.name for one in takes)


def _placed(value: Any, file: ProgrammeFile) -> Any:
    """A path that the programme names, in its folder."""
    return file.file(str(value)) if isinstance(value, Path) else value


# -- carrying it out ---------------------------------------------------------------


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


class _Shelf:
    """Carries out steps, or takes what an earlier run has made of the same. CONFIDENTIAL."""

    def __init__(self, folder: Path | None, plan: _Plan, *, resume: bool) -> None:
        self._folder, self._plan, self._resume = folder, plan, resume
        if folder is not None:
            make_folder(folder, 0o700)

    def step(self, number: int, step: _Step, records: pl.DataFrame) -> tuple[Any, dict[str, Any]]:
        """The records after a step, and what is said of it."""
        if self._folder is None:
            changed = self.carried_out(step, records)
            return changed.records, _told(changed)
        name = f"{number:02d}-{step.method}"
        state, after = self._folder / f"{name}.json", self._folder / f"{name}-records.parquet"
        digest = self._digest(number)
        if self._resume and (told := _remembered(state, after, digest)) is not None:
            return pl.read_parquet(after), told
        changed = self.carried_out(step, records)
        state.unlink(missing_ok=True)
        write_confidential(changed.records, after)
        write_confidential(changed.changes, self._folder / f"{name}-changes.parquet")
        told = _told(changed)
        kept = {"digest": digest, "records": file_digest(after), **told,
                "measures": changed.measures}  # fmt: skip
        write_text(state, json.dumps(kept, ensure_ascii=False, indent=1, default=_plain) + "\n",
                   private=True)  # fmt: skip
        return changed.records, told

    def carried_out(self, step: _Step, records: pl.DataFrame) -> Any:
        """What a step makes of records; it warns of what the step warns of."""
        changed, warned = self.heard_out(step, records)
        for message, category in warned:
            warnings.warn(message, category, stacklevel=4)
        return changed

    def heard_out(
        self, step: _Step, records: pl.DataFrame
    ) -> tuple[Any, list[tuple[str, type[Warning]]]]:
        """What a step makes of records, and what it warns of."""
        function = METHODS[step.method]
        secret = {"secret": self._plan.secret} if "secret" in step_form(step.method)[1] else {}
        where = f"{step.place}, {step.method}"
        try:
            with _own_warnings() as caught:
                changed = function(records, **step.options, **secret)
        except DiscreetError as error:
            placed = [
                replace(one, where=f"{where}: {one.where}".rstrip(": ")) for one in error.problems
            ]
            raise type(error).of(
                placed, f"{where}: several things are wrong", code=error.code
            ) from None
        return changed, [(f"{where}: {one}", type(one)) for one in caught]

    def _digest(self, number: int) -> str:
        """Keyed by the secret where there is one: data, and all steps so far."""
        plan = self._plan
        steps = [[step.method, step.stated] for step in plan.steps[:number]]
        text = json.dumps([_STATE, __version__, plan.data, _reading(plan), steps], sort_keys=True)
        key = plan.secret.derive(_STATE) if plan.secret is not None else b""
        return hashlib.blake2b(text.encode(), key=key[:64], digest_size=16).hexdigest()


def _reading(plan: _Plan) -> Any:
    data = plan.document.data
    return None if data is None else json.loads(json.dumps(data.content(), default=str))


def _told(changed: Any) -> dict[str, Any]:
    return {"statement": dict(changed.statement), "provenance": dict(changed.provenance)}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _remembered(state: Path, after: Path, digest: str) -> dict[str, Any] | None:
    """What an earlier run says of a step, if it did the same and its file is whole."""
    try:
        kept = json.loads(state.read_text("utf-8"))
        same = kept["digest"] == digest and kept["records"] == file_digest(after)
        return {key: kept[key] for key in ("statement", "provenance")} if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _check_promises(plan: _Plan, records: pl.DataFrame) -> None:
    """Refuse a file of which a step says what later ones have undone."""
    hint = "put it after the steps that change these variables"
    problems = [
        Problem(f"{broken} any more", f"{step.place}, {step.method}", hint)
        for step in plan.steps
        if (broken := broken_promise(step.method, step.options, records))
    ]
    raise_all(ProgrammeError, problems, code="steps")


def _described(plan: _Plan, records: pl.DataFrame) -> DescribedRecords:
    """The records as they go out: described as they were, without what is to be dropped."""
    output, names = plan.document.output, set(records.columns)
    decided = [*output.drop, *output.keep]
    problems = [
        Problem(_IDENTIFIES, name, _KEEP)
        for name in plan.document.keys.id or []
        if name in names and name not in decided
    ]
    problems += [
        Problem(reason, name, _KEEP)
        for name in records.columns
        if name not in {*decided, *(plan.document.keys.id or [])}
        and (reason := suspicion(records[name]))
    ]
    problems += [
        Problem("after the last step there is no such column", name, nearest(name, sorted(names)))
        for name in decided
        if name not in names
    ]
    raise_all(ProgrammeError, problems, code="output")
    before = {one.name: one for one in plan.original.variables}
    going = records.drop(output.drop)
    rows = going.with_row_index(_AT).sort(going.columns, nulls_last=True)[_AT]
    variables = [_variable(before.get(column.name), column) for column in going]
    if output.order == "sorted":
        variables = [
            replace(one, values=one.values.gather(rows), reasons=one.reasons.gather(rows))
            for one in variables
        ]
    return replace(plan.original, variables=variables)


def _variable(before: DescribedVariable | None, values: pl.Series) -> DescribedVariable:
    """A column with its description; reasons of missing values hold only where nothing changed."""
    if before is not None and before.values.equals(values, null_equal=True):
        return before
    plain = plain_variable(values)
    if before is None or before.values.dtype != values.dtype:
        return plain
    return replace(before, values=values, reasons=plain.reasons)


def _write(result: AnonymisedFile, described: DescribedRecords, plan: _Plan, folder: Path) -> None:
    """The file, the statement for its users, and last where both come from."""
    make_folder(folder)
    title = plan.document.title
    texts = [
        "\n".join(
            [
                f"# {title.get(language) or title.get('en') or plan.document.output.file}",
                "",
                *sentences,
                "",
            ]
        )
        for language, sentences in result.statement.items()
    ]
    path = write_described(described, folder / plan.document.output.file)
    write_text(folder / "statement.md", "\n".join(texts))
    about = {"file": path.name, "sha256": file_digest(path), "records": result.records,
             "discreet": __version__, "steps": list(result.provenance)}  # fmt: skip
    write_text(folder / "provenance.json", json.dumps(about, indent=1) + "\n")
