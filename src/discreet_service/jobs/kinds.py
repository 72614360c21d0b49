"""Kinds of jobs: who may ask for them, and how much they may take. A kind that is not listed does
not exist; nothing in a row has a default.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.operations import OPERATIONS
from discreet_service.jobs.context import JobContext, JobOutput
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError

JobFunction = Callable[[JobContext], JobOutput]


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind of job."""

    permission: Permission  # What who hands it in must be allowed to do, and who fetches its result
    function: str  # MODULE:NAME of the function that does it
    memory: str  # What it may hold, such as "4GB"; the settings may allow less
    minutes: int  # How long it may take


_P = Permission
#: All kinds of jobs there are. Functions are named, not imported: they belong to parts above.
KINDS: Mapping[str, JobKind] = {
    "query": JobKind(_P.query_run, "discreet_service.queries:run_query", "16GB", 240),
    "programme": JobKind(_P.programmes_run, "discreet_service.releases:run_programme", "16GB", 720),
    # Programs of researchers: their owners are told a number, and nothing else of them.
    "submission": JobKind(_P.outputs_submit, "discreet_service.reviews:run_submission", "8GB", 60),
    # Their cells and rules are sealed: nothing of them is handed in as a plain request.
    **{
        operation.job: JobKind(
            # Records of persons and firms: who may protect tables may not for that alone.
            _P.records_protect if operation.on_records else _P.tables_protect,
            "discreet_service.cells:run_operation",
            "8GB",
            240,
        )
        for operation in OPERATIONS.values()
    },
}


def kind_of(name: str, kinds: Mapping[str, JobKind] = KINDS) -> JobKind:
    """The row of a kind.

    >>> kind_of("query").permission.value
    'query:run'
    """
    if name not in kinds:
        hint = f"kinds: {', '.join(sorted(kinds))}"
        raise ServiceError("unknown kind of job", "invalid-input", "kind", hint)
    return kinds[name]


def function_of(kind: JobKind) -> JobFunction:
    """The function that does a kind of job."""
    module, _, name = kind.function.partition(":")
    function: JobFunction = getattr(importlib.import_module(module), name)
    return function
