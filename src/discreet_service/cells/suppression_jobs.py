"""Suppression as a job: the search for a pattern may take long.

In: a sealed input with cells and what is asked of them (CONFIDENTIAL), read in the process of the
job. Out: the file of a protected table, or of an audit without true values.
"""

from __future__ import annotations

import io
import json

import polars as pl

from discreet_service.cells.results import chosen_format, table_result
from discreet_service.cells.suppression import (
    SuppressionRequest,
    audited_cells,
    judged_cells,
    read_request,
    suppressed_cells,
)
from discreet_service.jobs.context import JobContext
from discreet_service.jobs.outputs import JobOutput

_LENGTH = 8
_SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "xlsx": ".xlsx", "html": ".html", "px": ".px"}


def packed(frame: pl.DataFrame, request: SuppressionRequest) -> bytes:
    """Cells and what is asked of them as one input. CONFIDENTIAL.

    Args:
        frame: The cells.
        request: What is asked.
    """
    said = request.model_dump_json().encode()
    cells = io.BytesIO()
    frame.write_ipc(cells, compression="zstd")
    return len(said).to_bytes(_LENGTH, "big") + said + cells.getvalue()


def unpacked(content: bytes) -> tuple[pl.DataFrame, SuppressionRequest]:
    """The same again. CONFIDENTIAL.

    Args:
        content: What `packed` gave.
    """
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    request = read_request(json.loads(content[_LENGTH:end]))
    return pl.read_ipc(io.BytesIO(content[end:])), request


def run_suppression(context: JobContext) -> JobOutput:
    """Hide cells: the function of jobs of the kind "suppress".

    Args:
        context: The job; its request names its input.
    """
    frame, request = _input(context)
    context.report(5, "judging")
    table, found = judged_cells(frame, request)
    context.report(10, "searching")
    safe = suppressed_cells(table, found, request)
    context.report(90, "writing")
    form = chosen_format(request.format, "*/*", table=True)
    made = table_result(safe, form, request.language)
    name = f"{request.name}{_SUFFIXES.get(form, '.json' if 'json' in form else '.csv')}"
    media = made.media_type
    return JobOutput(file_name=name, media_type=media, content=made.content)


def run_audit(context: JobContext) -> JobOutput:
    """Find out what hidden cells still tell: the function of jobs of the kind "audit".

    Args:
        context: The job; its request names its input.
    """
    frame, request = _input(context)
    context.report(5, "judging")
    table, found = judged_cells(frame, request)
    context.report(10, "auditing")
    told = audited_cells(frame, table, found, request)
    text = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    name = f"{request.name}-audit.json"
    return JobOutput(file_name=name, media_type="application/json", content=text.encode())


def _input(context: JobContext) -> tuple[pl.DataFrame, SuppressionRequest]:
    return unpacked(context.service.job_inputs.get(context.job.asked()["input"]))
