"""One test for all rows of a table: each row is tried, and all that fail are named."""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def for_all_rows(
    names: str | Sequence[str], rows: Collection[Any], ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, as one test; for rows that take hardly any time.

    Args:
        names: Parameters of the test that a row fills.
        rows: Values, one set per test.
        ids: As in `parametrize`; the rows themselves name what failed.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def whole(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            failures: list[Exception] = []
            for row in rows:
                values = (row,) if len(words) == 1 else row
                if isinstance(row, ParameterSet):
                    values = row.values
                try:
                    test(**fixtures, **dict(zip(words, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failure = error if isinstance(error, Exception) else AssertionError(str(error))
                    failure.add_note(f"in the row {row!r}"[:2_000])
                    failures.append(failure)
            assert len(rows)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(rows)} rows", failures)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in words]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del loop.__wrapped__  # type: ignore[attr-defined]
        return loop

    return whole


def grouped(rows: Mapping[str, Sequence[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """The rows of a table that stand under the word with which each begins."""
    return [(word, *row) for word, own in rows.items() for row in own]
