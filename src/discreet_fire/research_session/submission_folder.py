"""The folder that a session hands in: outputs, what was asked, evidence, checksums. CONFIDENTIAL.

In: outputs of a session; later the folder, as material that anybody can have written. Out: the
folder, all of it or nothing; and what it holds, if every file is what its checksum says.

    outputs/       one file for each output, and its picture
    session.json   what was asked for, verdicts, comments, exceptions that are asked for
    evidence.json  the counts behind what is shown
    SHA256SUMS     checksums of all these

No record, no identifier and no hidden number is in it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet import __version__
from discreet.errors import OutputCheckError
from discreet.files import TEMPORARY_SUFFIX, check_writable, kept_on_disk, told_if_full
from discreet_fire.research_session.calls import SessionCall
from discreet_fire.research_session.outputs import SessionOutput
from discreet_fire.research_session.sacro_results import RESULTS, is_sacro
from discreet_fire.research_session.session_check import SessionCheck
from discreet_fire.statistics import CheckVerdict

MANIFEST, EVIDENCE, SUMS, OUTPUTS = "session.json", "evidence.json", "SHA256SUMS", "outputs"
_FORMAT = "discreet session 1"
_LARGEST = 20_000_000
#: So many outputs one session can have.
MOST_OUTPUTS = 999

_Text = Annotated[str, Field(max_length=100_000)]
_FileName = Annotated[str, Field(pattern=r"\A\d{3} [A-Za-z0-9][A-Za-z0-9 _-]{0,59}\.(txt|svg)\z")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class HandedCall(_Strict):
    """What was asked for."""

    method: str
    arguments: dict[str, Any]

    @property
    def call(self) -> SessionCall:
        """The same, to be repeated."""
        return SessionCall(method=self.method, arguments=self.arguments)


class HandedCheck(_Strict):
    """A rule that does not simply hold."""

    rule: _Text
    verdict: _Text
    reason: _Text
    where: _Text = ""


class HandedOutput(_Strict):
    """One output as it is handed in."""

    number: Annotated[int, Field(ge=1, le=MOST_OUTPUTS)]
    name: Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9 _-]{0,59}\z")]  # what it is called
    call: HandedCall  # what was asked for
    #: Cells that are hidden besides, because of other tables
    hidden: list[Annotated[int, Field(ge=0)]]
    variables: list[_Text]  # what it is about
    verdict: Annotated[str, Field(pattern=r"\A(pass|review|fail)\z")]  # the worst that was found
    summary: _Text  # verdict and reasons
    checks: list[HandedCheck]  # what does not simply hold
    comment: _Text  # what the researcher says
    exception: _Text  # why an exception is asked for; empty if not
    files: list[_FileName]  # its files in the folder of outputs

    @classmethod
    def of(
        cls,
        output: SessionOutput,
        call: SessionCall,
        hidden: frozenset[int],
        variables: Sequence[str],
    ) -> Self:
        """From an output of a session."""
        return cls(
            number=output.number,
            name=output.name,
            call=HandedCall(method=call.method, arguments=dict(call.arguments)),
            hidden=sorted(hidden),
            variables=list(variables),
            verdict=output.verdict.value,
            summary=output.summary,
            checks=[
                HandedCheck(**one.to_dict())
                for one in output.checks
                if one.verdict is not CheckVerdict.passed
            ],
            comment=output.comment,
            exception=output.exception,
            files=list(files_of(output)),
        )


class HandedSession(_Strict):
    """What a session hands in."""

    format: str = _FORMAT
    made_by: _Text = f"discreet {__version__}"
    project: _Text  # what for
    entity: _Text | None  # column of whom a record is about; None if each is another case
    minimum: int  # fewest cases behind a number, as the session went by
    outputs: list[HandedOutput]


def files_of(output: SessionOutput) -> dict[str, str]:
    """The files of an output with what they hold."""
    stem = f"{output.number:03d} {output.name}"
    files = {f"{stem}.txt": f"{output.call}\n\n{output.text}\n"}
    if output.svg:
        files[f"{stem}.svg"] = output.svg
    return files


def is_session(folder: Path) -> bool:
    """Whether a folder looks like one that a session handed in."""
    return folder.is_dir() and (folder / MANIFEST).is_file() and (folder / SUMS).is_file()


def manifest_of(folder: Path) -> str | None:
    """What says what a folder holds that was handed in without a program; None if nothing does."""
    if is_session(folder):
        return MANIFEST
    return RESULTS if is_sacro(folder) else None


def write_folder(
    folder: Path, handed: HandedSession, outputs: Sequence[SessionOutput], check: SessionCheck
) -> Path:
    """Write the folder, in one step."""
    if folder.exists() or folder.is_symlink():
        hint = "name a new folder"
        raise OutputCheckError("the place is already in use", code="session-folder",
                               where=str(folder), hint=hint)  # fmt: skip
    check_writable(folder.parent)
    files = {f"{OUTPUTS}/{name}": text for one in outputs for name, text in files_of(one).items()}
    files[MANIFEST] = _json(handed.model_dump())
    files[EVIDENCE] = _json(check.to_dict())
    files[SUMS] = "".join(
        f"{_digest(text.encode())}  {name}\n" for name, text in sorted(files.items())
    )
    pending = folder.with_name(f".{folder.name}{TEMPORARY_SUFFIX}")
    with told_if_full(folder):
        if pending.exists():
            shutil.rmtree(pending)
        try:
            (pending / OUTPUTS).mkdir(mode=0o700, parents=True)
            for name, text in files.items():
                (pending / name).write_bytes(text.encode())
                kept_on_disk(pending / name)
            kept_on_disk(pending)
            pending.rename(folder)
        except BaseException:
            shutil.rmtree(pending, ignore_errors=True)
            raise
    kept_on_disk(folder.parent)
    return folder


def read_folder(folder: Path) -> HandedSession:
    """What a folder holds, if its files are what their checksums say."""
    sums = _sums(folder)
    known = {*sums, SUMS}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    if there != known:
        differ = ", ".join(ascii(name) for name in sorted(there ^ known)[:5])
        raise _broken(folder, f"files and checksums are not of the same names: {differ}")
    for name, digest in sums.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            raise _broken(folder, f"{name!a} is not an ordinary file of a session")
        if _digest(path.read_bytes()) != digest:
            raise _broken(folder, f"{name!a} is not what its checksum says")
    handed = read_manifest(folder)
    named = [f"{OUTPUTS}/{name}" for one in handed.outputs for name in one.files]
    if len(set(named)) < len(named) or {*named, MANIFEST, EVIDENCE} != set(sums):
        raise _broken(folder, "its files are not those of its outputs")
    numbers = [one.number for one in handed.outputs]
    if not numbers or len(set(numbers)) < len(numbers):
        raise _broken(folder, "its outputs are not numbered")
    return handed


def read_manifest(folder: Path) -> HandedSession:
    """What was asked for, without a look at the other files."""
    try:
        handed = HandedSession.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError, ValueError, RecursionError):
        raise _broken(folder, f"{MANIFEST} is not what a session writes") from None
    if handed.format != _FORMAT:
        raise _broken(folder, f"{MANIFEST} is of another version")
    return handed


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _broken(folder, f"{SUMS} cannot be read") from None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _json(plain: dict[str, Any]) -> str:
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _broken(folder: Path, message: str) -> OutputCheckError:
    hint = "submit the folder as s.finalise() wrote it"
    return OutputCheckError(message, code="session-folder", where=str(folder), hint=hint)
