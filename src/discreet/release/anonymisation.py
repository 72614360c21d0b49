"""Programmes for records: one method after another, records in, records for others out.

In: a TOML file that names records (CONFIDENTIAL), their identifier and secret, and steps. Out: a
folder with the records, a statement for their users and where they come from; in a second,
CONFIDENTIAL folder what each step changed, from which an interrupted run is taken up.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import ConfigDict, Field

from discreet._version import __version__
from discreet.confidential import without_values
from discreet.files import file_digest, make_folder, write_text
from discreet.microdata import (
    DescribedRecords,
    check_writable_as,
    described_records,
    write_described,
)
from discreet.pretabular import (
    METHODS,
    RecordChain,
    checked_steps,
    undecided,
)
from discreet.protection.problems import Opener, stated_secret_problems
from discreet.release.confidential_files import write_confidential
from discreet.release.programme.checks import check_sections
from discreet.release.programme.file import (
    main_source,
    raise_problems,
    read_form,
)
from discreet.release.programme.sources import DataEntry
from discreet.release.programme.values import Languages, ProgrammeEntry, Texts
from discreet.release.run.files import check_internal
from discreet.release.run.inputs import read_records
from discreet.settings import NameList, Text

Report = Callable[[int, int, str], None]

_STATE = "discreet anonymisation state, version 1"


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
    """Result of a programme for records.

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
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
      Hint: give the path of a TOML file
    """
    plan = _plan(Path(programme), show_values)
    inside = None if internal is None or out is None else Path(internal)
    if out is not None:
        check_internal(inside, Path(out))
        check_writable_as(plan.chain.original, Path(out) / plan.document.output.file)
    if inside is not None:
        make_folder(inside, 0o700)
    report = progress or (lambda done, steps, name: None)
    chain, records = plan.chain, plan.chain.original.frame
    done = []
    for number, step in enumerate(chain.steps, start=1):
        records, facts = _carried_out(plan, number, records, inside, resume=resume)
        done.append(facts)
        report(number, len(chain.steps), step.method)
    described = chain.described(records)
    result = AnonymisedFile(
        path=None if out is None else Path(out) / plan.document.output.file,
        records=records.height,
        steps=tuple(step.method for step in chain.steps),
        statement={
            language: [facts["statement"][language] for facts in done]
            for language in plan.document.languages
        },
        provenance=[facts["provenance"] for facts in done],
    )
    if out is not None:
        _write(result, described, plan, Path(out))
    return result


# -- the programme ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class _Plan:
    """A programme and everything that it names. CONFIDENTIAL."""

    document: AnonymisationDocument
    chain: RecordChain
    stated: Sequence[Mapping[str, Any]]  # the steps as they were written
    #: SHA-256 of the file of records, or of what was read from a database.
    data: str


def _plan(path: Path, show_values: bool) -> _Plan:
    document, file, problems = read_form(path, AnonymisationDocument)
    keys, output = document.keys, document.output
    source = main_source(document.data or DataEntry(), keys)
    if document.data is None:
        problems.append(file.problem(("data",), "section [data] is missing"))
    else:
        problems += [each for _, each in check_sections(file, source.records, source.path)]
    if not document.steps and not file.reported(("steps",)):
        hint = f"add [[steps]] with method = one of {', '.join(METHODS)}"
        problems.append(file.problem(("steps",), "no steps given", hint))
    problems += [each for _, each in stated_secret_problems(file, ("keys",), keys)]
    secret_there, ids = bool(keys.secret_file or keys.secret_env), keys.id or []
    stated = [entry.model_dump() for entry in document.steps]
    place = file.index.place
    steps = [
        replace(step, settings=step.settings.model_copy(
            update={name: file.file(str(one)) for name, one in step.settings.files().items()}
        ))
        for step in checked_steps(stated, problems, place, ids=ids, secret_there=secret_there)
    ]  # fmt: skip
    opener = Opener(file, problems)
    secret = opener.secret(("keys",), keys)
    original: DescribedRecords | None = None
    entry = source.records
    described = (entry.source or "").lower().endswith((".dta", ".sav"))
    with opener.placed(*source.place):  # the records, with what their file says of them
        if entry.source is not None and described and not any(entry.stated.values()):
            if file.file(entry.source).is_file():
                original = described_records(file.file(entry.source))
        elif (frame := read_records(source, file, show_values=show_values)) is not None:
            original = described_records(frame)
    if original is not None:
        names, decided = [one.name for one in original.variables], [*output.drop, *output.keep]
        problems += undecided(stated, names, place, ids=ids, decided=decided)
        if output.order == "kept" and not output.keep:
            message = "the order of the original records discloses changes"
            hint = 'remove it, or add keep = ["person_id"]'
            problems.append(file.problem(("output", "order"), message, hint))
    raise_problems(str(path), problems)
    assert original is not None
    chain = RecordChain(
        original=original, steps=steps, secret=secret, ids=ids, drop=output.drop,
        keep=output.keep, sorted=output.order == "sorted",
    )  # fmt: skip
    name = source.records.source
    if name is not None and file.file(name).is_file():
        data = file_digest(file.file(name))
    else:
        content = BytesIO()
        original.frame.write_ipc(content)
        data = hashlib.sha256(content.getbuffer()).hexdigest()
    return _Plan(document=document, chain=chain, stated=stated, data=data)


# -- carrying it out ---------------------------------------------------------------


def _carried_out(
    plan: _Plan, number: int, records: pl.DataFrame, folder: Path | None, *, resume: bool
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The records after a step, and what is said of it. CONFIDENTIAL.

    In a folder stands what an earlier run has made of the same.
    """
    step = plan.chain.steps[number - 1]
    if folder is not None:
        # Keyed by the secret where there is one: data, and all steps so far.
        name = f"{number:02d}-{step.method}"
        chosen = zip(plan.stated[:number], plan.chain.steps, strict=False)
        steps = [[stated, list(each.ids)] for stated, each in chosen]
        data, secret = plan.document.data, plan.chain.secret
        reading = None if data is None else json.loads(json.dumps(data.content(), default=str))
        made_of = [_STATE, __version__, plan.data, reading, steps]
        text = json.dumps(made_of, sort_keys=True, default=str)
        key = secret.derive(_STATE) if secret is not None else b""
        digest = hashlib.blake2b(text.encode(), key=key[:64], digest_size=16).hexdigest()
        state, after = folder / f"{name}.json", folder / f"{name}-records.parquet"
        with suppress(OSError, ValueError, KeyError, TypeError):  # none, or half of one
            kept = json.loads(state.read_text("utf-8"))
            if resume and (kept["digest"], kept["records"]) == (digest, file_digest(after)):
                values = {key: kept[key] for key in ("statement", "provenance")}
                return pl.read_parquet(after), values
    changed, warned = plan.chain.carried_out(step, records)
    for message, category in warned:
        warnings.warn(message, category, stacklevel=3)
    values = {"statement": dict(changed.statement), "provenance": dict(changed.provenance)}
    if folder is not None:
        state.unlink(missing_ok=True)
        write_confidential(changed.records, after)
        write_confidential(changed.changes, folder / f"{name}-changes.parquet")
        kept = {"digest": digest, "records": file_digest(after), **values,
                "measures": changed.measures}  # fmt: skip
        text = json.dumps(kept, ensure_ascii=False, indent=1, default=_plain)
        write_text(state, text + "\n", private=True)
    return changed.records, values


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _write(result: AnonymisedFile, described: DescribedRecords, plan: _Plan, folder: Path) -> None:
    """The file, the statement for its users, and last where both come from."""
    make_folder(folder)
    title = plan.document.title
    texts = []
    for language, sentences in result.statement.items():
        heading = title.get(language) or title.get("en") or plan.document.output.file
        texts.append("\n".join([f"# {heading}", "", *sentences, ""]))
    path = write_described(described, folder / plan.document.output.file)
    write_text(folder / "statement.md", "\n".join(texts))
    about = {"file": path.name, "sha256": file_digest(path), "records": result.records,
             "discreet": __version__, "steps": list(result.provenance)}  # fmt: skip
    write_text(folder / "provenance.json", json.dumps(about, indent=1) + "\n")
