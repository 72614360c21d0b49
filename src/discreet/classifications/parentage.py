"""Trees from tables of codes and their parents.

In: a mapping, pairs, a frame, or the rows of a file. Out: a checked `CodeTree`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from discreet.classifications.checks import raise_problems
from discreet.classifications.columns import column_names, text_rows
from discreet.classifications.links import Link, tree_from_links
from discreet.classifications.tree import TOTAL, CodeTree, Labels
from discreet.errors import ClassificationError, Problem

__all__ = ["LABEL_PREFIX", "Row", "tree_from_parents", "tree_from_rows"]

LABEL_PREFIX = "label_"

_NONE: Labels = {}


class Row(NamedTuple):
    """A code, its parent, its labels by language, and where this was written."""

    child: str
    parent: str | None
    labels: Mapping[str, str]
    where: str = ""


def tree_from_parents(
    name: str, source: Any, *, total: str | None, child: str, parent: str
) -> CodeTree:
    """The tree of a mapping child → parent, of pairs, or of a frame with columns for both."""
    if isinstance(source, Mapping):
        rows = [Row(code, above, {}) for code, above in source.items()]
    elif isinstance(source, Sequence):
        rows = [_pair(name, number, item) for number, item in enumerate(source, 1)]
    else:
        rows = _frame_rows(name, source, child, parent)
    return tree_from_rows(name, rows, total=total or TOTAL)


def _pair(name: str, number: int, item: Any) -> Row:
    where = f"{name}, pair {number}"
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        raise ClassificationError(
            "this is not a pair of code and parent",
            code="classification",
            where=where,
            hint='write pairs such as ("N1", "N"), with None above the highest codes',
        )
    return Row(item[0], item[1], {}, where)


def _frame_rows(name: str, frame: Any, child: str, parent: str) -> list[Row]:
    labels = [column for column in column_names(frame, name) if column.startswith(LABEL_PREFIX)]
    languages = [column.removeprefix(LABEL_PREFIX) for column in labels]
    rows = []
    for number, cells in enumerate(text_rows(frame, [child, parent, *labels], name), 1):
        texts = {
            language: text for language, text in zip(languages, cells[2:], strict=True) if text
        }
        rows.append(Row(cells[0] or "", cells[1], texts, f"{name}, row {number}"))
    return rows


def tree_from_rows(
    name: str, rows: Sequence[Row], *, total: str | None, labels: Labels = _NONE, **fields: object
) -> CodeTree:
    """The tree of rows with a code, its parent and its labels.

    Args:
        name: Name of the variable.
        rows: One per code; rows without a parent stand directly below the total.
        total: Code of the total. None: the only row without a parent, if there is
            just one, else ``Total``.
        labels: Labels of further codes, such as the missing category.
        fields: Further fields of the tree.
    """
    if total is None:
        roots = [row.child for row in rows if not row.parent]
        total = roots[0] if len(roots) == 1 and len(rows) > 1 else TOTAL
    links = [
        Link(row.child, _blank(row.parent), row.where)
        for row in rows
        if row.parent or row.child != total
    ]
    raise_problems(name, list(_doubled_totals(rows, total)))
    texts = {**{row.child: row.labels for row in rows if row.labels}, **labels}
    return tree_from_links(name, links, total, labels=texts, **fields)


def _blank(parent: str | None) -> str:
    return "" if parent is None else parent


def _doubled_totals(rows: Sequence[Row], total: str) -> Iterable[Problem]:
    for row in [row for row in rows if row.child == total][1:]:
        yield Problem(f"the total {total!r} is listed twice", row.where)
