"""Records: what methods on records make of a file that callers hand in, and what that changes.

In: records, CONFIDENTIAL, and steps as a programme for records has them; draws come from a secret
of the service. Out: records for others, as `discreet anonymise` makes them; and for whoever handed
them in a study: tables and risk before and after. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import hmac
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from discreet.assessment import RecordRisk, assess_records
from discreet.confidential import without_values
from discreet.errors import Problem
from discreet.microdata import NumberSpelling, Secret, as_type, types_of, write_described
from discreet.release import AnonymisedRecords, anonymise_records
from discreet.tabulation import tabulate
from discreet_service.cells.requests import refused_call, unpacked
from discreet_service.cells.results import RESULT_TYPES
from discreet_service.jobs import JobContext, JobOutput

_Text = Annotated[str, Field(max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
#: Records that are changed while somebody waits, and cells of a table that is compared.
MOST_AT_ONCE, MOST_CELLS = 5_000, 500
#: What stands for a value that is missing.
_MISSING = "(missing)"


class RecordsRequest(BaseModel):
    """What is to be done with records."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    #: Columns that identify a record
    id: Annotated[list[_Name], Field(max_length=5)] = Field(default_factory=list)
    #: The methods, one after the other, each with its options
    steps: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=20)]
    #: Columns that are left out of the file
    drop: Annotated[list[_Name], Field(max_length=100)] = Field(default_factory=list)
    #: Columns that identify a record and stay on purpose
    keep: Annotated[list[_Name], Field(max_length=100)] = Field(default_factory=list)
    #: What others know of somebody: risk is assessed by these
    keys: Annotated[list[_Name], Field(max_length=10)] = Field(default_factory=list)
    #: For a study: the variables of each table that is compared
    tables: Annotated[
        list[Annotated[list[_Name], Field(min_length=1, max_length=3)]], Field(max_length=10)
    ] = Field(default_factory=list)
    #: Name of the file; draws of another name are others
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")] = "records"
    format: Literal["csv", "parquet"] = "csv"  # format of the file
    language: Literal["en", "de"] = "en"  # "en" or "de"

    def __repr__(self) -> str:
        return "<RecordsRequest: secret>"

    __str__ = __repr__


def secret_of_records(key: bytes, owner: str, name: str) -> Secret:
    """The secret from which changes are drawn. SECRET.

    The same person and name of a file have the same secret, and nobody else can try it out.
    """
    content = "\0".join(("records 1", owner, name)).encode()
    return Secret(hmac.new(key, content, hashlib.sha256).digest())


def typed_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Records whose texts have the types that they have in a file of text. CONFIDENTIAL.

    >>> typed_columns(pl.DataFrame({"age": ["7", "31"], "code": ["01", "2"]})).rows()
    [(7, '01'), (31, '2')]
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    spelling = NumberSpelling()
    found = types_of(frame.lazy(), texts, spelling)
    return frame.with_columns(as_type(pl.col(name), found[name], spelling) for name in texts)


@without_values
def changed_records(
    frame: pl.DataFrame, request: RecordsRequest, secret: Secret
) -> AnonymisedRecords:
    """The records after all steps."""
    return anonymise_records(
        frame,
        request.steps,
        id=request.id,
        secret=secret,
        drop=request.drop,
        keep=request.keep,
    )


def records_file(made: AnonymisedRecords, request: RecordsRequest) -> JobOutput:
    """The file that goes out."""
    name = f"{request.name}.{request.format}"
    with tempfile.TemporaryDirectory() as folder:
        content = write_described(made.described, Path(folder) / name).read_bytes()
    return JobOutput(file_name=name, media_type=RESULT_TYPES[request.format], content=content)


# What it changes ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TableEffect:
    """A table before and after. CONFIDENTIAL."""

    by: tuple[str, ...]  # its variables
    cells: Sequence[tuple[tuple[str, ...], int, int]]  # codes, count before, count after

    def measures(self) -> dict[str, float]:
        """How far counts moved: cells, share unchanged, mean and largest difference."""
        moved = [abs(after - before) for _, before, after in self.cells]
        number = max(len(moved), 1)
        return {
            "cells": len(moved),
            "unchanged": sum(not item for item in moved) / number,
            "mean_absolute_deviation": sum(moved) / number,
            "largest": max(moved, default=0),
        }

    def __repr__(self) -> str:
        return "<TableEffect: confidential>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RecordsStudy:
    """What steps do to records. CONFIDENTIAL."""

    made: AnonymisedRecords  # the records afterwards
    before: int  # how many there were
    tables: Sequence[TableEffect]  # tables before and after
    #: Who can be found, before and after; None if no keys are named
    risk: tuple[RecordRisk, RecordRisk] | None

    def described(self) -> dict[str, Any]:
        """For programs: no record. CONFIDENTIAL."""
        return {
            "records": self.before,
            "records_after": self.made.described.frame.height,
            "warnings": list(self.made.warnings),
            "statement": {name: list(each) for name, each in self.made.statement.items()},
            "tables": [
                {
                    "by": list(table.by),
                    "measures": table.measures(),
                    "cells": [
                        {"codes": list(codes), "before": before, "after": after}
                        for codes, before, after in table.cells
                    ],
                }
                for table in self.tables
            ],
            "risk": None if self.risk is None else [dict(item.rates) for item in self.risk],
        }

    def __repr__(self) -> str:
        return "<RecordsStudy: confidential>"


@without_values
def studied_records(frame: pl.DataFrame, request: RecordsRequest, secret: Secret) -> RecordsStudy:
    """Change records, and find out what that does to tables, and to the risk of those in them."""
    _check_named(frame, request, "there is no such column")
    records = changed_records(frame, request, secret)
    after = records.described.frame
    _check_named(after, request, "after the steps there is no such column")
    risk = None
    if request.keys:
        before = assess_records(frame, keys=request.keys)
        risk = (before, assess_records(after, keys=request.keys))
    return RecordsStudy(
        made=records,
        before=frame.height,
        tables=[_effect(frame, after, by, at) for at, by in enumerate(request.tables)],
        risk=risk,
    )


def _check_named(frame: pl.DataFrame, request: RecordsRequest, what: str) -> None:
    """Raise an error unless records have the columns that are looked at."""
    named = [(f"tables[{at}]", name) for at, by in enumerate(request.tables) for name in by]
    named += [(f"keys[{at}]", name) for at, name in enumerate(request.keys)]
    problems = [Problem(what, where) for where, name in named if name not in frame.columns]
    problems += [
        Problem("a variable stands twice in a table", f"tables[{at}]")
        for at, by in enumerate(request.tables)
        if len(set(by)) < len(by)
    ]
    if problems:
        raise refused_call(problems)


def _effect(before: pl.DataFrame, after: pl.DataFrame, by: Sequence[str], at: int) -> TableEffect:
    """The cells of a table that has both, totals among them."""
    counts: list[Mapping[tuple[str, ...], int]] = []
    names = [f"by{place}" for place in range(len(by))]  # some names no table may have
    for item in (before, after):
        plain = item.select(
            pl.col(name).cast(pl.String).fill_null(_MISSING).alias(own)
            for name, own in zip(by, names, strict=True)
        )
        few = plain.n_unique() <= MOST_CELLS
        cells = tabulate(plain, names).to_polars().select(*names, "count") if few else plain
        if not few or cells.height > MOST_CELLS:  # totals counted
            what, hint = f"this table has more than {MOST_CELLS} cells", "name fewer variables"
            raise refused_call([Problem(what, f"tables[{at}]", hint)])
        counts.append({tuple(row[:-1]): int(row[-1]) for row in cells.iter_rows()})
    every = sorted({*counts[0], *counts[1]}, key=lambda codes: [_first(code) for code in codes])
    return TableEffect(
        by=tuple(by),
        cells=[(codes, counts[0].get(codes, 0), counts[1].get(codes, 0)) for codes in every],
    )


def _first(code: str) -> tuple[bool, float, str]:
    """Totals first, then numbers by size, then texts."""
    try:
        number = float(code.partition("-")[0])
    except ValueError:
        number = float("inf")
    return code != "Total", number, code


def run_records(context: JobContext) -> JobOutput:
    """Change records: the function of jobs of the kind "records"."""
    service, job = context.service, context.job
    frame, request = unpacked(service.job_inputs.get(job.asked()["input"]), RecordsRequest)
    context.report(5, "changing")
    records = changed_records(
        frame, request, secret_of_records(service.key_for("records"), job.owner, request.name)
    )
    context.report(90, "writing")
    return records_file(records, request)
