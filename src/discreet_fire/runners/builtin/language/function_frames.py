"""Frames of functions: how the values of arguments go in, and what comes out.

In: a function of numbers. Out: the same for single values and arrays with one per observation,
missing where an argument is missing or outside of its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.scope import Scope, Value
from discreet_fire.runners.builtin.language.values import MISSING, is_text, tidy

#: A function: the scope, the text between its brackets, the values of its arguments.
FunctionOf = Callable[[Scope, str, Sequence[Value]], Value]


def given_numbers(
    arguments: Sequence[Value], *, least: int, most: int | None = None
) -> Sequence[Any]:
    """The same values; an error unless they are so many, and all of them numbers."""
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise DoError("invalid syntax: wrong number of arguments", code=198)
    DoError.when(any(map(is_text, arguments)), "type mismatch", code=109)
    return arguments


def known_numbers(
    given: Sequence[Any], valid: Callable[..., Any] | None = None
) -> tuple[BoolArray, list[Any]]:
    """Where an argument is missing or not valid, and the arguments with 1 in place of those."""
    outside: Any = np.zeros((), dtype=np.bool_)
    for value in given:
        outside = outside | np.greater_equal(value, MISSING)
    known = [np.where(outside, 1.0, value) for value in given]
    if valid is not None:
        outside = outside | ~np.asarray(valid(*known), dtype=np.bool_)
        known = [np.where(outside, 1.0, value) for value in given]
    return outside, known


def each_number(
    function: Callable[..., Any],
    arguments: int = 1,
    optional: int = 0,
    valid: Callable[..., Any] | None = None,
) -> FunctionOf:
    """A function of numbers that is missing where an argument is, or is not valid."""

    def call(scope: Scope, text: str, values: Sequence[Value]) -> Value:
        numbers = given_numbers(values, least=arguments, most=arguments + optional)
        outside, known = known_numbers(numbers, valid)
        results = np.where(outside, MISSING, function(*known))
        result: Value = tidy(results if results.ndim else float(results))
        return result

    return call


def yes_or_no(held: Any) -> Value:
    """Yes and no as 1 and 0."""
    held = np.asarray(held)
    return held.astype(np.float64) if held.ndim else float(held)


def typed(found: Any, like: Value) -> Value:
    """An array of texts as objects, a single value as itself."""
    text = is_text(like)
    if found.ndim == 0:
        return str(found) if text else float(found)
    result: Value = found.astype(object) if text else found.astype(np.float64)
    return result
