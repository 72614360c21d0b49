"""Requests: what is asked of cells or records that callers hand in, and both as one sealed input.

In: what a call says. Out: a request that is known in full, or one error for all that is wrong with
it, without what was sent; and bytes for the process of a job (CONFIDENTIAL).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ValidationError

from discreet.errors import Problem
from discreet.settings import setting_problems
from discreet_service.problems import ServiceError

Asked = TypeVar("Asked", bound=BaseModel)

_MOST_TOLD = 20
_LENGTH = 8


def read_request(kind: type[Asked], given: Mapping[str, Any]) -> Asked:
    """What a call says; one error for all that is wrong with it.

    >>> from discreet.protection.rounding.settings import RoundingSettings
    >>> read_request(RoundingSettings, {"base": 3}).base
    3
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        found = setting_problems(error)
    problems = []
    for item in found[:_MOST_TOLD]:
        place = item.where.split(".")
        if place[0] in kind.model_fields:
            # Deeper than that, names are the caller's own.
            problems.append(Problem(item.what, ".".join(place[:2]), item.hint))
        else:
            hint = f"known: {', '.join(kind.model_fields)}"
            problems.append(Problem("something is said that is not known here", "", hint))
    raise refused_call(problems)


def refused_call(problems: list[Problem]) -> ServiceError:
    """The error for all that is wrong with a call."""
    message = (
        f"{len(problems)} things are wrong with this call" if problems[1:] else problems[0].what
    )
    first = problems[0]
    return ServiceError(
        message, code="invalid-input", where=first.where, hint=first.hint, problems=problems
    )


def packed(frame: pl.DataFrame, request: BaseModel) -> bytes:
    """Cells or records and what is asked of them as one input. CONFIDENTIAL."""
    content = request.model_dump_json().encode()
    rows = io.BytesIO()
    frame.write_ipc(rows, compression="zstd")
    return len(content).to_bytes(_LENGTH, "big") + content + rows.getvalue()


def unpacked(content: bytes, kind: type[Asked]) -> tuple[pl.DataFrame, Asked]:
    """The same again. CONFIDENTIAL."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    request = read_request(kind, json.loads(content[_LENGTH:end]))
    return pl.read_ipc(io.BytesIO(content[end:])), request
