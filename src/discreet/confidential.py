"""What never leaves the process: values in tracebacks, secret objects in pickles.

In: functions that handle records, cells or secrets, and classes that hold secrets. Out: the
same, whose errors show no value, not even where a program prints the local variables of a
traceback, and whose objects refuse to be pickled.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import NoReturn, ParamSpec, Self, TypeVar

from discreet.errors import DiscreetError, MicrodataError, RecordKeyError

P = ParamSpec("P")
R = TypeVar("R")

#: Packages whose messages may quote records.
_ENGINES = frozenset(
    ("polars", "duckdb", "_duckdb", "pyarrow", "pandas", "pyspark", "py4j", "narwhals", "ibis")
)


def without_values(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function's errors carry no value: no local variables, no words of an engine.

    >>> @without_values
    ... def share(secret: str) -> float:
    ...     return 1 / len(secret.strip())
    >>> try:
    ...     share(" ")
    ... except ZeroDivisionError as error:
    ...     frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    >>> bool(frames[-1].locals)
    False
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            forget(error)
            failure = engine_failed(error) if _of_an_engine(error) else error
        del args, kwargs
        # Out here an engine's error is not the new one's context.
        try:
            raise failure
        finally:
            del failure

    return called


def forget(error: BaseException) -> None:
    """Take the local variables from an error's traceback, and what was hidden behind it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        if one.__suppress_context__ or isinstance(one, DiscreetError):
            one.__context__ = None


def engine_failed(error: BaseException) -> MicrodataError:
    """The error for whatever goes wrong with records: its type and its place, without its words."""
    place = _place_of(error)
    hint = f"the cause is {place}, not the microdata: check folders, memory and installation"
    if _of_an_engine(error):
        hint = "collect the frame separately to see the message of the engine"
    message = f"the data engine failed on these records ({type(error).__name__} in {place})"
    return MicrodataError(message, code="engine-failed", hint=hint)


def _of_an_engine(error: BaseException) -> bool:
    """Whether an engine raised it, or Python in an engine's code."""
    if isinstance(error, DiscreetError | MemoryError):
        return False
    places = [type(error).__module__, _place_of(error)]
    return any(place.partition(".")[0] in _ENGINES for place in places)


def _place_of(error: BaseException) -> str:
    """The module in which an error was raised."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return type(error).__module__
    return str(last.tb_frame.f_globals.get("__name__", ""))


class Unpicklable:
    """An object that stays in its process: copies are itself, and nothing pickles it."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise RecordKeyError(
            f"{type(self).__name__} is secret and cannot be pickled",
            code="secret",
            hint="pass the name of its file, and read it there",
        )


class Confidential:
    """Shows nothing of itself but that it is confidential."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (confidential)>"


class SecretValues:
    """Shows nothing of itself but that it is secret."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: secret>"
