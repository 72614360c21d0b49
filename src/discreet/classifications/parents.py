"""Trees from codes and their parents.

In: a mapping, pairs, a frame, or the rows of a file, in any order. Out: a checked
`CodeTree`, in which every code stands below its parent and the children of one parent
stand in the order given. Of a frame only combinations that occur are looked at, never
how often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.classifications.tree import TOTAL, CodeTree, Labels, raise_problems, suggestion
from discreet.errors import ClassificationError, DiscreetError, Problem
from discreet.record_batches import collected

if TYPE_CHECKING:
    import polars as pl


def column_names(frame: Any, name: str) -> list[str]:
    """The names of a frame's columns."""
    return list(_wrapped(frame, name).collect_schema().names())


def text_rows(
    frame: Any, columns: Sequence[str], name: str, *, distinct: bool = False
) -> list[tuple[str | None, ...]]:
    """The rows of some columns as texts, whole numbers as digits, missing values as None."""
    wrapped = _wrapped(frame, name)
    names = list(wrapped.collect_schema().names())
    raise_problems(
        name,
        [
            Problem(f"column {column!r} not found", name, f"columns: {', '.join(names)}")
            for column in columns
            if column not in names
        ],
        code="missing-column",
        what="{} columns not found",
    )
    chosen = _read(wrapped, columns, name, distinct=distinct)
    return list(
        zip(*(texts_of_codes(c, f"{name}, column {c.name!r}") for c in chosen), strict=True)
    )


def _read(wrapped: Any, columns: Sequence[str], name: str, *, distinct: bool) -> pl.DataFrame:
    try:
        chosen = wrapped.select(list(columns))
        if distinct:
            chosen = chosen.unique()
        frame: pl.DataFrame = collected(chosen)
    except (DiscreetError, MemoryError):
        raise
    except Exception as error:  # each engine has its own; their texts may hold data
        message = f"the columns cannot be read ({type(error).__name__})"
        hint = "convert the column to text, so that all values have one type"
        raise ClassificationError(message, code="codes", where=name, hint=hint) from None
    return frame


def _wrapped(frame: Any, name: str) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(frame)
    except (TypeError, ValueError):
        message = f"an object of type {type(frame).__name__} is not a table of codes"
        hint = "give a data frame of polars, pandas, pyarrow or DuckDB"
        raise ClassificationError(message, code="classification", where=name, hint=hint) from None


def texts_of_codes(
    series: pl.Series, where: str, error: type[DiscreetError] = ClassificationError
) -> pl.Series:
    """The values of a column as codes: texts as they are, whole numbers as digits."""
    import polars as pl

    dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype.is_float():
        series = series.fill_nan(None)
        whole = series.cast(pl.Int64, strict=False)
        if not bool((whole.cast(pl.Float64) == series).fill_null(series.is_null()).all()):
            raise fractions(where, error)
        return whole.cast(pl.String)
    whole_number = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and not dtype.scale)
    dated = dtype.is_temporal() and dtype != pl.Duration
    if whole_number or dated or dtype in (pl.Boolean, pl.Null, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    raise error(f"a column of type {dtype} cannot hold codes", code="codes", where=where)


def fractions(where: str, error: type[DiscreetError] = ClassificationError) -> DiscreetError:
    """The error for codes that are numbers with decimals."""
    hint = "group them with Classification.from_intervals"
    return error("numbers with decimals cannot be codes", code="codes", where=where, hint=hint)


class CodeLink(NamedTuple):
    """A code, the code above it ("" for the total), and where this was written."""

    child: str
    parent: str
    where: str = ""


def tree_from_links(name: str, links: Sequence[CodeLink], total: str, **fields: object) -> CodeTree:
    """The tree that the links describe."""
    problems = [*_text_problems(name, links), *_double_problems(name, links, total)]
    raise_problems(name, problems)
    raise_problems(name, _orphan_problems(name, links, total))
    codes, parents = _walk(links, total)
    if len(codes) <= len(links):
        raise_problems(name, _cycle_problems(name, links, set(codes)))
    tree: CodeTree = CodeTree(
        name=name,
        codes=tuple(codes),
        parents=tuple(parents),
        **fields,  # type: ignore[arg-type]
    )
    return tree


def flat_tree(name: str, codes: Iterable[str], total: str) -> CodeTree:
    """The tree of codes that all stand directly below the total."""
    value: object = codes
    if isinstance(value, str):
        problem = Problem(f"{codes!r} is one text, not a list of codes", name, 'such as ["m", "w"]')
        raise_problems(name, [problem])
    if not isinstance(value, Iterable):
        raise_problems(name, [Problem("the codes are not a list", name, 'such as ["m", "w"]')])
    return tree_from_links(name, [CodeLink(code, "") for code in codes], total)


def _text_problems(name: str, links: Sequence[CodeLink]) -> Iterator[Problem]:
    for link in links:
        codes: tuple[object, object] = (link.child, link.parent)
        for code in codes:
            if not isinstance(code, str):
                hint = f"write the code as text: {str(code)!r}"
                yield Problem(f"code {code!r} is not a text", link.where or name, hint)
        if link.child == "":
            hint = "give it a code, or make it missing in the data"
            yield Problem("a code is empty", link.where or name, hint)


def _double_problems(name: str, links: Sequence[CodeLink], total: str) -> Iterator[Problem]:
    first: dict[str, CodeLink] = {}
    for link in links:
        where = link.where or name
        if link.child == total:
            hint = "name another total code with total=, or leave the total out"
            yield Problem(f"code {link.child!r} clashes with the total", where, hint)
            continue
        other = first.setdefault(link.child, link)
        if other is link:
            continue
        before = f" (first in {other.where})" if other.where else ""
        if (other.parent or total) == (link.parent or total):
            yield Problem(f"code {link.child!r} is listed twice{before}", where)
        else:
            one, two = other.parent or total, link.parent or total
            message = f"code {link.child!r} has two parents, {one!r} and {two!r}{before}"
            yield Problem(
                message,
                where,
                "make codes unique within the hierarchy, for example by adding the parent's code",
            )


def _orphan_problems(name: str, links: Sequence[CodeLink], total: str) -> list[Problem]:
    known = {link.child for link in links} | {total, ""}
    problems = []
    for link in links:
        if link.parent not in known:
            near = suggestion(link.parent, known - {total, ""})
            hint = f"closest match: {near!r}" if near else f"list {link.parent!r} as a code too"
            message = f"parent {link.parent!r} of code {link.child!r} not found among the codes"
            problems.append(Problem(message, link.where or name, hint))
    return problems


def _walk(links: Sequence[CodeLink], total: str) -> tuple[list[str], list[int]]:
    """Codes and positions of parents in tree order, from the total downwards."""
    children: dict[str, list[str]] = {}
    for link in links:
        children.setdefault(link.parent or total, []).append(link.child)
    codes: list[str] = []
    parents: list[int] = []
    waiting = [(total, -1)]
    while waiting:
        code, parent = waiting.pop()
        at = len(codes)
        codes.append(code)
        parents.append(parent)
        waiting.extend((child, at) for child in reversed(children.get(code, ())))
    return codes, parents


def _cycle_problems(name: str, links: Sequence[CodeLink], reached: set[str]) -> list[Problem]:
    above = {link.child: link for link in links if link.child not in reached}
    problems = []
    done: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        code = start
        while code not in done and code not in path:
            path[code] = None
            code = above[code].parent
        if code in path:
            problems.append(_cycle_problem(name, list(path), code, above))
        done.update(path)
    return problems


def _cycle_problem(name: str, path: list[str], code: str, above: Mapping[str, CodeLink]) -> Problem:
    circle = [*path[path.index(code) :], code]
    shown = circle if len(circle) <= 12 else [*circle[:10], "…", code]
    chain = " → ".join(item if item == "…" else repr(item) for item in shown)
    where = above[code].where or name
    return Problem(
        f"the hierarchy has a circle: {chain}", where, "each code needs a path to the total"
    )


LABEL_PREFIX = "label_"

_NONE: Labels = {}


class CodeRow(NamedTuple):
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
        rows = [CodeRow(code, above, {}) for code, above in source.items()]
    elif isinstance(source, Sequence):
        rows = [_pair(name, number, item) for number, item in enumerate(source, 1)]
    else:
        rows = _frame_rows(name, source, child, parent)
    return tree_from_rows(name, rows, total=total or TOTAL)


def _pair(name: str, number: int, item: Any) -> CodeRow:
    where = f"{name}, pair {number}"
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        message = "not a pair of code and parent"
        hint = 'write pairs such as ("N1", "N"), with None above the highest codes'
        raise ClassificationError(message, code="classification", where=where, hint=hint)
    return CodeRow(item[0], item[1], {}, where)


def _frame_rows(name: str, frame: Any, child: str, parent: str) -> list[CodeRow]:
    labels = [column for column in column_names(frame, name) if column.startswith(LABEL_PREFIX)]
    languages = [column.removeprefix(LABEL_PREFIX) for column in labels]
    rows = enumerate(text_rows(frame, [child, parent, *labels], name), 1)
    return [
        CodeRow(code or "", above, texts_of(languages, cells), f"{name}, row {number}")
        for number, (code, above, *cells) in rows
    ]


def texts_of(languages: Sequence[str], cells: Sequence[str | None]) -> dict[str, str]:
    """The labels of a row by language, without those that are empty."""
    return {lang: text for lang, text in zip(languages, cells, strict=True) if text}


def tree_from_rows(
    name: str,
    rows: Sequence[CodeRow],
    *,
    total: str | None,
    labels: Labels = _NONE,
    **fields: object,
) -> CodeTree:
    """The tree of rows with a code, its parent and its labels."""
    if total is None:
        roots = [row.child for row in rows if not row.parent]
        total = roots[0] if len(roots) == 1 and len(rows) > 1 else TOTAL
    links = [
        CodeLink(row.child, "" if row.parent is None else row.parent, row.where)
        for row in rows
        if row.parent or row.child != total
    ]
    doubled = [row for row in rows if row.child == total][1:]
    message = f"the total {total!r} is listed twice"
    raise_problems(name, [Problem(message, row.where) for row in doubled])
    texts = {**{row.child: row.labels for row in rows if row.labels}, **labels}
    return tree_from_links(name, links, total, labels=texts, **fields)
