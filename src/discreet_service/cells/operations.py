"""Operations over cells (CONFIDENTIAL): requests, the jobs that carry them out, and studies for
whoever handed the cells in.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ValidationError, create_model

from discreet.errors import Problem
from discreet.microdata import Secret, write_described
from discreet.operations import OPERATIONS, Operation, Source
from discreet.settings import setting_problems
from discreet.tables import ProtectedTable
from discreet_service.cells.layouts import LAYOUTS, Layout
from discreet_service.cells.results import RESULT_TYPES, table_output
from discreet_service.jobs import JobContext, JobOutput
from discreet_service.problems import refuse

Asked = TypeVar("Asked", bound=BaseModel)
#: Problems that one answer lists, and bytes of the length of a request in a sealed input.
_MOST_PROBLEMS, _LENGTH = 20, 8


@cache
def request_model(operation: Operation) -> type[Layout]:
    """Model of a request: columns and settings.

    >>> request_model(OPERATIONS["rounding"])(by=["sex"]).rounding.base
    5
    """
    name = f"{operation.name.title().replace('-', '')}Request"
    layout = LAYOUTS[operation.takes]
    if not operation.section:
        bases: Any = (layout, operation.settings)
        both: type[Layout] = create_model(name, __base__=bases)
        return both
    needed = any(
        model_field.is_required() for model_field in operation.settings.model_fields.values()
    )
    default: Any = ... if needed else operation.settings()
    return create_model(name, __base__=layout, **{operation.section: (operation.settings, default)})  # type: ignore[call-overload, no-any-return]


def read_request(kind: type[Asked], stated: Mapping[str, Any]) -> Asked:
    """Read a request; one error lists all problems, without sent values.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> read_request(RoundingSettings, {"base": 3}).base
    3
    """
    try:
        return kind.model_validate(dict(stated))
    except ValidationError as error:
        problems = []
        for problem in setting_problems(error)[:_MOST_PROBLEMS]:
            place = problem.where.split(".")
            if place[0] in kind.model_fields:
                # Deeper than that, names are the caller's own.
                problems.append(Problem(problem.what, ".".join(place[:2]), problem.hint))
            else:
                hint = f"known: {', '.join(kind.model_fields)}"
                problems.append(Problem("unknown option", "", hint))
    refuse(problems)
    raise AssertionError


def packed(frame: pl.DataFrame, request: BaseModel) -> bytes:
    """Cells or records and what is asked of them as one input. CONFIDENTIAL."""
    content = request.model_dump_json().encode()
    rows = io.BytesIO()
    frame.write_ipc(rows, compression="zstd")
    return len(content).to_bytes(_LENGTH, "big") + content + rows.getvalue()


def unpacked(content: bytes, kind: type[Asked]) -> tuple[pl.DataFrame, Asked]:
    """Restore from the stored form. CONFIDENTIAL."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    request = read_request(kind, json.loads(content[_LENGTH:end]))
    return pl.read_ipc(io.BytesIO(content[end:])), request


def _purpose(operation: Operation) -> str:
    """What draws of an operation are for: all methods on records have the same."""
    return "records" if operation.on_records else operation.name


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CellsCall:
    """Cells, and what is asked of them. CONFIDENTIAL."""

    operation: Operation  # what is asked for
    frame: pl.DataFrame  # the cells
    request: Any  # what they are, and the settings: a `Layout`
    owner: str  # who asks
    key: bytes  # the key of the service for this operation. SECRET

    @classmethod
    def of(
        cls, service: Any, owner: str, operation: Operation, frame: pl.DataFrame, said: Any
    ) -> CellsCall:
        """A call of somebody."""
        request = said
        if not isinstance(said, Layout):
            request = read_request(request_model(operation), said)
        key = service.key_for(_purpose(operation))
        return cls(operation=operation, frame=frame, request=request, owner=owner, key=key)

    @property
    def settings(self) -> Any:
        """The settings of the method."""
        if self.operation.section:
            return getattr(self.request, self.operation.section)
        fields = self.operation.settings.model_fields
        return self.operation.settings(**{name: getattr(self.request, name) for name in fields})

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(self.request.size(self.frame))

    @property
    def draws(self) -> bool:
        """Whether figures are drawn from a secret of the service."""
        keys = getattr(self.request, "cell_key", None) is not None
        return self.operation.draws(self.settings, keys)

    def secret(self) -> Secret | None:
        """Source of random draws for this table. SECRET.

        The same person and name of a table have the same secret: a table that is protected again
        has the same figures, and one corrected count changes no other. Nobody else can try out
        its draws.
        """
        if not self.draws:
            return None
        purpose = f"{_purpose(self.operation)} 1"
        content = "\0".join((purpose, self.owner, self.request.name)).encode()
        return Secret(hmac.new(self.key, content, hashlib.sha256).digest())

    def source(self) -> Source:
        """Input of the operation; one error lists all problems. CONFIDENTIAL."""
        request: Layout = self.request
        return request.source(self.frame, self.operation, self.settings)

    def hurried(self) -> CellsCall:
        """A copy with a time limit for callers who wait."""
        if not self.operation.section:
            return self
        update = {self.operation.section: self.operation.hurried(self.settings)}
        request = self.request.model_copy(update=update)
        return replace(self, request=request)

    def studied(self) -> Any:
        """Protected cells beside the truth, with disclosure risk. CONFIDENTIAL."""
        assert self.operation.study is not None
        return self.operation.study(self.source(), self.settings, self.secret())

    def output(self, source: Source | None = None) -> JobOutput:
        """The protected table, the records or the report, as a file."""
        source = self.source() if source is None else source
        process: Any = self.operation.run(source, self.settings, self.secret())
        name, form = self.request.name, str(self.request.format or "json")
        if isinstance(process, ProtectedTable):
            return table_output(process, form, self.request.language)
        if isinstance(process, Mapping):
            name = f"{name}-{self.operation.name}.json"
            content = (json.dumps(process, ensure_ascii=False, indent=1) + "\n").encode()
            return JobOutput(file_name=name, media_type=RESULT_TYPES["json"], content=content)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / f"{name}.{form}"
            if self.operation.answer == "package":
                process.write(place, language=self.request.language)
                packed = io.BytesIO()
                with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                    for file in sorted(place.parent.iterdir()):
                        archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes())
                name, kind, content = f"{name}.zip", "application/zip", packed.getvalue()
            else:
                content = write_described(process.described, place).read_bytes()
                name, kind = place.name, RESULT_TYPES[form]
        return JobOutput(file_name=name, media_type=kind, content=content)


def run_operation(context: JobContext) -> JobOutput:
    """Carry out an operation: the function of its jobs."""
    service, job = context.service, context.job
    asked = job.asked()
    operation = OPERATIONS[asked["operation"]]
    content = service.job_inputs.get(asked["input"])
    frame, request = unpacked(content, request_model(operation))
    call = CellsCall.of(service, job.owner, operation, frame, request)
    context.report(5, "reading")
    source = call.source()
    context.report(10, operation.job)
    output = call.output(source)
    context.report(90, "writing")
    return output
