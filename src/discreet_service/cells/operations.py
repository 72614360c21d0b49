"""Operations over cells that callers hand in: requests, and the jobs that carry them out.

In: cells (CONFIDENTIAL) and what is asked of them. Out: a protected table or a report in the format
asked for; a study, CONFIDENTIAL, for whoever handed the cells in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import create_model

from discreet.microdata import Secret, write_described
from discreet.operations import OPERATIONS, Operation, Source
from discreet.settings import Settings
from discreet.tables import ProtectedTable
from discreet_service.cells.layouts import LAYOUTS, Layout
from discreet_service.cells.requests import read_request, unpacked
from discreet_service.cells.results import RESULT_TYPES, table_output
from discreet_service.jobs import JobContext, JobOutput


@cache
def request_model(operation: Operation) -> type[Layout]:
    """What a call says: what the columns are, and the settings.

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
        """How many cells there are."""
        return int(self.request.size(self.frame))

    @property
    def draws(self) -> bool:
        """Whether figures are drawn from a secret of the service."""
        keys = getattr(self.request, "cell_key", None) is not None
        return self.operation.draws(self.settings, keys)

    def secret(self) -> Secret | None:
        """What figures of this table are drawn from, if they are drawn. SECRET.

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
        """What goes in; an error for all that is wrong with it. CONFIDENTIAL."""
        request: Layout = self.request
        return request.source(self.frame, self.operation, self.settings)

    def hurried(self) -> CellsCall:
        """The same for somebody who waits."""
        operation = self.operation
        if not operation.section:
            return self
        settings: Settings = operation.hurried(self.settings)
        request = self.request.model_copy(update={operation.section: settings})
        return CellsCall(
            operation=operation, frame=self.frame, request=request, owner=self.owner, key=self.key
        )

    def studied(self) -> Any:
        """What becomes of the cells, and what that still tells. CONFIDENTIAL."""
        assert self.operation.study is not None
        return self.operation.study(self.source(), self.settings, self.secret())

    def output(self, source: Source | None = None) -> JobOutput:
        """The protected table, the records or the report, as a file."""
        source = self.source() if source is None else source
        process = self.operation.run(source, self.settings, self.secret())
        if isinstance(process, ProtectedTable):
            return table_output(process, self.request.format, self.request.language)
        if isinstance(process, Mapping):
            return report_output(process, f"{self.request.name}-{self.operation.name}")
        name = f"{self.request.name}.{self.request.format}"
        with tempfile.TemporaryDirectory() as folder:
            content = write_described(process.described, Path(folder) / name).read_bytes()
        form = str(self.request.format)
        return JobOutput(file_name=name, media_type=RESULT_TYPES[form], content=content)

    def __repr__(self) -> str:
        return f"<CellsCall {self.operation.name}: confidential>"


def report_output(report: Mapping[str, Any], name: str) -> JobOutput:
    """A report as a file of JSON."""
    text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
    return JobOutput(file_name=f"{name}.json", media_type="application/json", content=text.encode())


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
