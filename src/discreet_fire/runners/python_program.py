"""Runs a Python script inside its closed process; safe functions ask the runner.

In: the script's name on the command line, the pipes to the runner. Out: what the script prints;
safe results print a token, for which the runner puts in what it has worked out itself. Nothing
here protects anything: all of it could be changed by the script. It is there to be convenient.
"""

from __future__ import annotations

import io
import json
import os
import random
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire import scripts, statistics
from discreet_fire.statistics import Check, CheckVerdict, SafeResult

#: What a script may ask for; the first argument of each is the frame. Each script that runs loads
#: this module: what works statistics out stays away from it.
ASKED = (
    "summarize", "tabstat", "codebook", "centile", "histogram", "tabulate", "correlate", "pwcorr",
    "regress", "logit", "probit", "utest",
)  # fmt: skip
#: A column of a request that says where each record stands in its file.
PLACES = "place in the file"
runtime = scripts.runtime
_SAFE = ("describe", "info", "value_counts", "crosstab", "corr", "histogram", "statistic",
         "summary")  # fmt: skip


class _Asking:
    """The way to the runner."""

    def __init__(self, asks: IO[bytes], answers: IO[bytes], script: Path) -> None:
        self._asks, self._answers, self._script = asks, answers, str(script)
        self._places: list[Any] = [None]

    @contextmanager
    def about(self, thing: Any) -> Iterator[None]:
        """Note where the records of an object of pandas stand in their file."""
        self._places.append(_places(thing))
        try:
            yield
        finally:
            self._places.pop()

    def ask(self, command: str, frame: Any, *arguments: Any, **options: Any) -> SafeResult:
        """Ask the runner for a statistic."""
        places = self._places[-1] if self._places[-1] is not None else _places(frame)
        table = runtime._frame(frame)
        if places is not None and len(places) == table.height:
            table = table.with_columns(pl.Series(PLACES, places, dtype=pl.Int64))
        payload = io.BytesIO()
        table.write_ipc(payload)
        message: dict[str, Any] = {
            "command": command,
            "arguments": arguments,
            "options": options,
            "format": "arrow",
        }
        message |= {"bytes": payload.tell(), "line": self._line()}
        self._asks.write(json.dumps(message, default=list).encode() + b"\n" + payload.getvalue())
        self._asks.flush()
        return _result(json.loads(self._answers.readline()))

    def _line(self) -> int:
        """The line of the script that asks."""
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self._script:
            frame = frame.f_back  # type: ignore[assignment]
        return 0 if frame is None else frame.f_lineno


def _result(told: dict[str, Any]) -> SafeResult:
    if "error" in told:
        error = told["error"]
        raise OutputCheckError(
            error["what"], code=error["code"], where=error["where"] or "", hint=error["hint"] or ""
        )
    checks = [Check(**{**one, "verdict": CheckVerdict(one["verdict"])}) for one in told["checks"]]
    return SafeResult(
        command=told["command"],
        shown=told["token"],
        frame=None if told["frame"] is None else pl.DataFrame(told["frame"]),
        stored={name: one for name, one in told["stored"].items() if one is not None},
        checks=checks,
    )


def _places(thing: Any) -> list[int] | None:
    """The places of the records of an object of pandas or statsmodels; None if not known."""
    for name in ("obj", "model", "data"):
        if hasattr(thing, "row_labels") or hasattr(thing, "iloc"):
            break
        thing = getattr(thing, name, thing)
    index = getattr(thing, "row_labels", None)
    index = getattr(thing, "index", None) if index is None else index
    kind = getattr(getattr(index, "dtype", None), "kind", "")
    return [int(one) for one in index] if kind in ("i", "u") and index is not None else None


def _safe(asking: _Asking, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def call(thing: Any, *rest: Any, **options: Any) -> Any:
        with asking.about(thing):
            return original(thing, *rest, **options)

    return call


def _statistic(asking: _Asking, command: str) -> Callable[..., SafeResult]:
    def call(frame: Any, *arguments: Any, **options: Any) -> SafeResult:
        return asking.ask(command, frame, *arguments, **options)

    call.__name__ = command
    return call


def main(script: Path) -> None:
    """Run a script."""
    asks = os.fdopen(int(os.environ.pop("DISCREET_ASKS")), "wb")
    answers = os.fdopen(int(os.environ.pop("DISCREET_ANSWERS")), "rb")
    seed = int(os.environ.pop("DISCREET_SEED", "0"))
    asking = _Asking(asks, answers, script)
    for name in dir(statistics):
        if name in ASKED:
            setattr(statistics, name, _statistic(asking, name))
        elif name.islower():
            setattr(statistics, name, runtime.refused)
    for name in _SAFE:
        setattr(runtime, name, _safe(asking, getattr(runtime, name)))
    random.seed(seed)
    np.random.seed(seed)  # scripts that draw numbers the old way
    sys.argv = [str(script)]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
