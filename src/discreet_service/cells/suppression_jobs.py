"""Suppression as a job: the search for a pattern may take long.

In: a sealed input with cells and what is asked of them (CONFIDENTIAL), read in the process of the
job. Out: the file of a protected table, or of an audit without true values.
"""

from __future__ import annotations

import json

import polars as pl

from discreet_service.cells.requests import unpacked
from discreet_service.cells.results import table_output
from discreet_service.cells.suppression import (
    SuppressionRequest,
    audited_cells,
    judged_cells,
    suppressed_cells,
)
from discreet_service.jobs.context import JobContext
from discreet_service.jobs.outputs import JobOutput


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
    return table_output(safe, request.format, request.language)


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
    content = context.service.job_inputs.get(context.job.asked()["input"])
    return unpacked(content, SuppressionRequest)
