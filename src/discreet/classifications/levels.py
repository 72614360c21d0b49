"""Trees from level columns of the data, and from prefixes of codes.

In: columns from coarse to fine, or codes with the lengths of their prefixes.
Out: a checked `CodeTree` whose siblings stand in natural order, whatever the
order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from discreet.classifications.checks import raise_problems
from discreet.classifications.columns import text_rows
from discreet.classifications.links import Link, tree_from_links
from discreet.classifications.order import natural_order
from discreet.classifications.tree import CodeTree
from discreet.errors import ClassificationError, Problem

__all__ = ["tree_from_levels", "tree_from_prefixes"]

Codes = TypeVar("Codes", bound=tuple[str | None, ...])


def tree_from_levels(name: str, frame: Any, columns: Sequence[str], *, total: str) -> CodeTree:
    """The tree of the combinations that occur in columns from coarse to fine."""
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        raise ClassificationError(
            "level columns are a list of different names, coarsest first",
            code="classification",
            where=name,
            hint='such as columns=["state", "district"]',
        )
    rows = text_rows(frame, columns, name, distinct=True)
    rows = _sorted_rows([row for row in rows if any(code is not None for code in row)])
    links = _level_links(name, rows, columns)
    used = {link.where for link in links.values()}
    uneven = any(row[-1] is None for row in rows)
    return tree_from_links(
        name,
        list(links.values()),
        total,
        level_names=tuple(column for column in columns if _place(name, column) in used),
        level_columns=tuple(columns) if uneven else (),
    )


def _level_links(
    name: str, rows: Sequence[tuple[str | None, ...]], columns: Sequence[str]
) -> dict[tuple[str, str], Link]:
    """One link per code and parent; repeated and missing codes add none."""
    places = [_place(name, column) for column in columns]
    links: dict[tuple[str, str], Link] = {}
    for row in rows:
        above = ""
        for code, place in zip(row, places, strict=True):
            if code is None or (above and code == above):
                continue
            links.setdefault((code, above), Link(code, above, place))
            above = code
    return links


def _place(name: str, column: str) -> str:
    return f"{name}, column {column}"


def _sorted_rows(rows: list[Codes]) -> list[Codes]:
    """Rows by the natural order of each column; a missing code comes first."""
    ranks: list[dict[str | None, int]] = []
    for column in zip(*rows, strict=True):
        codes = natural_order({code for code in column if code is not None})
        ranks.append({None: -1, **{code: rank for rank, code in enumerate(codes)}})
    return sorted(rows, key=lambda row: [rank[code] for rank, code in zip(ranks, row, strict=True)])


def tree_from_prefixes(
    name: str, codes: Iterable[str], lengths: Sequence[int], *, total: str
) -> CodeTree:
    """The tree whose inner codes are the first characters of the codes given."""
    _check_lengths(name, lengths)
    given: object = codes
    if isinstance(given, str) or not isinstance(given, Iterable):
        what = f"{given!r} is one text, not a list" if isinstance(given, str) else "this is no list"
        raise_problems(name, [Problem(f"codes: {what}", name, 'such as ["0101", "0102"]')])
    wanted = list(codes)
    _check_codes(name, wanted, lengths[-1])
    rows = _sorted_rows([tuple(code[:length] for length in lengths) for code in set(wanted)])
    links: dict[str, Link] = {}
    for row in rows:
        above = ""
        for part in row:
            if part != above:
                links.setdefault(part, Link(part, above))
                above = part
    return tree_from_links(name, list(links.values()), total)


def _check_lengths(name: str, lengths: Sequence[int]) -> None:
    given: object = lengths
    if not isinstance(given, Sequence):
        problem = Problem("lengths is a list", name, "such as lengths=[2, 5, 8]")
        raise_problems(name, [problem])
    whole = all(isinstance(length, int) and length > 0 for length in lengths)
    rising = whole and list(lengths) == sorted(set(lengths))
    if not lengths or not rising:
        raise ClassificationError(
            f"the lengths {list(lengths)} of prefixes are not rising whole numbers",
            code="classification",
            where=name,
            hint="such as lengths=[2, 5, 8]; the last is that of the full codes",
        )


def _check_codes(name: str, codes: Sequence[str], longest: int) -> None:
    problems = []
    for code in codes:
        if not isinstance(code, str) or not code:
            problems.append(Problem(f"code {code!r} is not a text, or is empty", name))
        elif len(code) > longest:
            hint = f"add {len(code)} to the lengths, or shorten the codes"
            what = f"code {code!r} is longer than the last length, {longest}"
            problems.append(Problem(what, name, hint))
    raise_problems(name, problems, what="{} codes do not fit the lengths")
