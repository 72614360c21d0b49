"""Groups under `by` and `bysort`.

In: the data and what stands between the prefix and its colon. Out: the variables and their
groups; `bysort`, or the option `sort`, sorts the data first. CONFIDENTIAL.
"""

from __future__ import annotations

import re

from discreet.output_checking.running.dataset import DataSet
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.scope import Groups

__all__ = ["grouped"]

_BY = re.compile(r"(?P<by>[^(),]*)(?:\((?P<also>[^)]*)\))?\s*(?:,(?P<options>.*))?\Z", re.DOTALL)


def grouped(data: DataSet, prefix: str, text: str) -> tuple[tuple[str, ...], Groups]:
    """The variables of a `by` prefix and the groups they make.

    Raises:
        DoError: The data is not sorted by them.
    """
    found = _BY.match(text.strip())
    if not found or not found["by"].strip():
        raise DoError("varlist required", code=100)
    names = tuple(data.listed(found["by"]))
    also = tuple(data.listed(found["also"])) if found["also"] else ()
    options = (found["options"] or "").split()
    if not set(options) <= {"sort", "s"}:
        raise DoError("invalid option of by", code=198)
    wanted = names + also
    if prefix == "bysort" or options:
        sort(data, wanted)
    elif data.sorted_by[: len(wanted)] != wanted:
        raise DoError("not sorted", code=5)
    return names, Groups(data.starts_of(names))


def sort(data: DataSet, names: tuple[str, ...]) -> None:
    """Sort the data; equal observations stay in their order."""
    if data.sorted_by[: len(names)] != names:
        data.take(data.order_of(names))
        data.sorted_by = names
