"""A small, safe language for choosing records: parsed, never evaluated as code.

In: a text such as ``age >= 18 and sex in ('m', 'w')``. Out: a `Filter` that can
become an expression of any engine. A record passes when the condition is true;
a comparison with a missing value is neither true nor false, as in SQL.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import FilterError, Problem, raise_all

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

_NAMES = re.compile(r"`([^`]+)`|([^\W\d]\w*)")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NULLS = {"null", "None", "NULL"}
_TRUTH = {"true": True, "True": True, "false": False, "False": False}
_MAX_LENGTH = 10_000
_MAX_DEPTH = 100
#: So many filters are remembered: the same few are read for each step of an answer.
_OFTEN = 32
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: lambda left, right: left == right,
    ast.NotEq: lambda left, right: left != right,
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
}


@dataclass(frozen=True, eq=False)
class Filter:
    """A parsed filter."""

    text: str  # the filter as written
    _tree: ast.expr
    _names: Mapping[str, str]

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns the filter looks at."""
        return frozenset(self._name(node) for node, _ in self._uses)

    @cached_property
    def _uses(self) -> list[tuple[ast.expr, list[Any]]]:
        """Each column with the literals it is compared to."""
        uses: list[tuple[ast.expr, list[Any]]] = []
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                literals = [value for side in sides for value in _literals(side)]
                uses += [(side, literals) for side in sides if self._is_column(side)]
        bare: list[ast.expr] = [
            node for node in _operands(self._tree) if not isinstance(node, ast.Compare)
        ]
        return uses + [(node, [True]) for node in bare if self._is_column(node)]

    def parts(self) -> list[Filter]:
        """The conditions that all must be true.

        >>> parts = parse_filter("a == 1 and (d == 4 and (b == 2 or c == 3))").parts()
        >>> [sorted(part.columns) for part in parts]
        [['a'], ['d'], ['b', 'c']]
        """
        return self._parts

    @cached_property
    def _parts(self) -> list[Filter]:
        parts, waiting = list[Filter](), [self._tree]
        while waiting:
            tree = waiting.pop()
            if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
                waiting += reversed(tree.values)
            else:
                parts.append(Filter(self.text, tree, self._names))
        return parts

    @cached_property
    def literals(self) -> list[Any]:
        """The values that columns are compared to.

        >>> parse_filter("18 <= age < 65 or sex in ('m', 'w')").literals
        [18, 65, 'm', 'w']
        """
        return [value for _, values in self._uses for value in values]

    def excluded(self) -> list[tuple[str, Any]]:
        """Each column with a literal it must differ from: all other values pass.

        >>> parse_filter("sex != 'm' and not age in ['1', '2']").excluded()
        [('sex', 'm'), ('age', '1'), ('age', '2')]
        """
        return self._exclusions

    @cached_property
    def _exclusions(self) -> list[tuple[str, Any]]:
        return list(self._excluded(self._tree, negated=False))

    def _excluded(self, node: ast.expr, *, negated: bool) -> Iterator[tuple[str, Any]]:
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self._excluded(value, negated=negated)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from self._excluded(node.operand, negated=not negated)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                if isinstance(operator, ast.NotEq | ast.NotIn) != negated:
                    named = [self._name(side) for side in (left, right) if self._is_column(side)]
                    literals = [*_literals(left), *_literals(right)]
                    yield from ((name, value) for name in named for value in literals)

    def _is_column(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id not in _NULLS and node.id not in _TRUTH
        return isinstance(node, ast.Attribute)

    def _name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value)}.{self._names.get(node.attr, node.attr)}"
        assert isinstance(node, ast.Name)
        return self._names.get(node.id, node.id)

    def check(self, schema: Mapping[str, Any]) -> None:
        """Raise unless every column exists in `schema` and suits what it is compared to."""
        problems = []
        for node, literals in self._uses:
            name = self._name(node)
            if name not in schema:
                known = ", ".join(list(schema)[:20])
                message = f"column {name!r} not found"
                problems.append(Problem(message, self.text, f"found: {known}"))
                continue
            texts = str(schema[name]).startswith(("String", "Categorical", "Enum"))
            if texts and any(isinstance(value, int | float) for value in literals):
                hint = f"write the codes as texts: {name} == '1'"
                message = f"column {name!r} has texts and is compared with a number"
                problems.append(Problem(message, self.text, hint))
            numeric = hasattr(schema[name], "is_numeric") and schema[name].is_numeric()
            if numeric and any(isinstance(value, str) for value in literals):
                hint = f"write the number without quotes: {name} == 1"
                message = f"column {name!r} has numbers and is compared with a text"
                problems.append(Problem(message, self.text, hint))
        raise_all(FilterError, problems, code="filter-columns", where=self.text)

    def to_narwhals(self, schema: Mapping[str, Any] | None = None) -> nw.Expr:
        """The filter as an expression; texts of categories are compared as texts."""
        expression: nw.Expr = self.built(_NarwhalsTerms(schema or {}))
        return expression

    def among_texts(self, columns: Mapping[str, pl.Series]) -> pl.Series | None:
        """Which rows pass, where all is about texts; None where it is not.

        Of few rows this is many times as fast as an expression.
        """
        import polars as pl

        literals = self.literals
        if not literals or not all(isinstance(value, str) for value in literals):
            return None
        if any(columns[name].dtype != pl.String for name in self.columns):
            return None
        passed: pl.Series = self.built(_TextTerms(columns))
        return passed.fill_null(False) if passed.null_count() else passed

    def built(self, terms: FilterTerms) -> Any:
        """The filter as an expression of any engine."""
        return self._build(self._tree, terms)

    def _build(self, node: ast.expr, terms: FilterTerms) -> Any:
        if isinstance(node, ast.BoolOp):
            parts = [self._build(value, terms) for value in node.values]
            if isinstance(node.op, ast.And):
                return reduce(lambda left, right: left & right, parts)
            return reduce(lambda left, right: left | right, parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self._build(node.operand, terms)
        if isinstance(node, ast.Compare):
            sides = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
            steps = [self._compare(left, sign, right, terms) for left, sign, right in sides]
            return reduce(lambda one, other: one & other, steps)
        return self._operand(node, terms)

    def _compare(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, terms: FilterTerms
    ) -> Any:
        if isinstance(operator, ast.Is | ast.IsNot):
            empty = terms.missing(self._operand(left, terms))
            return empty if isinstance(operator, ast.Is) else ~empty
        if isinstance(operator, ast.In | ast.NotIn):
            within = terms.within(self._operand(left, terms), _literals(right))
            return within if isinstance(operator, ast.In) else ~within
        compare = _COMPARISONS[type(operator)]
        return compare(self._operand(left, terms), self._operand(right, terms))

    def _operand(self, node: ast.expr, terms: FilterTerms) -> Any:
        if self._is_column(node):
            return terms.column(self._name(node))
        return terms.literal(_literals(node)[0])

    def __str__(self) -> str:
        return self.text


class FilterTerms(Protocol):
    """Expressions of an engine for parts of a filter, joined by `&`, `|`, `~` and comparisons."""

    def column(self, name: str) -> Any:
        """A column; NaN is a missing value here, as everywhere."""

    def literal(self, value: Any) -> Any:
        """A value."""

    def missing(self, term: Any) -> Any:
        """Whether a term has no value."""

    def within(self, term: Any, values: list[Any]) -> Any:
        """Whether a term is one of some values."""


class _NarwhalsTerms:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    def column(self, name: str) -> Any:
        import narwhals as nw

        column, kind = nw.col(name), str(self._schema.get(name, ""))
        if kind.startswith(("Categorical", "Enum")):
            return column.cast(nw.String)
        return nw.when(~column.is_nan()).then(column) if kind.startswith("Float") else column

    def literal(self, value: Any) -> Any:
        import narwhals as nw

        return nw.lit(value)

    def missing(self, term: Any) -> Any:
        return term.is_null()

    def within(self, term: Any, values: list[Any]) -> Any:
        # Engines want lists of the column's own type.
        if any(isinstance(value, float) for value in values):
            return reduce(lambda one, other: one | other, (term == value for value in values))
        return term.is_in(values)


@dataclass(frozen=True)
class _TextTerms:
    columns: Mapping[str, pl.Series]

    def column(self, name: str) -> Any:
        return self.columns[name]

    def literal(self, value: Any) -> Any:
        return value

    def missing(self, term: Any) -> Any:
        return term.is_null()

    def within(self, term: Any, values: list[Any]) -> Any:
        return term.is_in(values)


@lru_cache(_OFTEN)
def parse_filter(text: str) -> Filter:
    """Read a filter text.

    Column names may be written in back quotes or with dots. Allowed are
    comparisons (also chained), ``in`` and ``not in`` with a list of values,
    ``is null`` and ``is not null``, ``and``, ``or``, ``not`` and parentheses.

    >>> sorted(parse_filter("18 <= age < 65 and `marital status` is not null").columns)
    ['age', 'marital status']
    >>> parse_filter("age.__class__()")
    Traceback (most recent call last):
        ...
    discreet.errors.FilterError: [filter] age.__class__(): a call is not allowed in a filter
    """
    if len(text) > _MAX_LENGTH:
        raise _filter_error(text[:40] + "…", "the filter is too long")
    names: dict[str, str] = {}
    free = "quoted_name_"
    while free in text:
        free += "_"

    def stand_in(match: re.Match[str]) -> str:
        # Python would change some letters of other alphabets in names (µ to μ).
        if match.group(2) and match.group(2).isascii():
            return match.group(2)
        name = f"{free}{len(names)}_"
        names[name] = match.group(1) or match.group(2)
        return name

    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise _filter_error(ascii(text), "the filter has an incomplete character")
    _refuse_unread(text)
    source = _outside_strings(text, lambda part: _NAMES.sub(stand_in, part)).strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in texts, such as '\\d'
            tree = ast.parse(source.replace("\n", " "), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        hint = "write == for equal, quotes around texts, and/or/not between conditions"
        raise _filter_error(text, "the filter is not valid", hint) from None
    parsed = Filter(text, tree, names)
    if _depth(tree) > _MAX_DEPTH:
        hint = "write it with fewer parentheses and negations"
        raise _filter_error(text, "the filter is nested too deeply", hint)
    _check_condition(tree, parsed, text)
    return parsed


def _depth(tree: ast.expr) -> int:
    """How deep the deepest part stands; found without recursion, which may end too early."""
    depth, layer = 0, [tree]
    while layer:
        depth += 1
        layer = [
            part
            for node in layer
            for part in ast.iter_child_nodes(node)
            if isinstance(part, ast.expr)
        ]
    return depth


def _refuse_unread(text: str) -> None:
    """Raise on what the parser would skip or join without a word: comments, texts side by side."""
    rest = re.sub(r"`[^`]*`", "", _STRING.sub("'", text))
    if "#" in rest or re.search(r"'\s*'", rest):
        raise _filter_error(
            text,
            "a # is outside quotes" if "#" in rest else "two texts follow each other",
            "put texts in quotes, column names in back quotes, and commas between values",
        )


def _filter_error(text: str, message: str, hint: str = "") -> FilterError:
    return FilterError(message, code="filter", where=text, hint=hint)


def filter_failed(error: Exception) -> FilterError:
    """The error for a condition that a data engine refuses; its text may hold data."""
    hint = "compare numbers with numbers, texts with texts, and name a condition"
    return FilterError("the condition does not fit the data", code="filter-types", hint=hint)


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    parts, last = [], 0
    for match in _STRING.finditer(text):
        parts += [change(text[last : match.start()]), match.group(0)]
        last = match.end()
    return "".join([*parts, change(text[last:])])


def _check_condition(node: ast.expr, parsed: Filter, text: str) -> None:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            _check_condition(value, parsed, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        _check_condition(node.operand, parsed, text)
    elif isinstance(node, ast.Compare):
        _check_comparison(node, parsed, text)
    elif not parsed._is_column(node) or not _plain_name(node):
        _refuse(node, text)


def _check_comparison(node: ast.Compare, parsed: Filter, text: str) -> None:
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(operator, ast.Is | ast.IsNot):
            if not (_plain_name(left) and parsed._is_column(left) and _is_null(right)):
                raise _filter_error(
                    text,
                    "'is' tests for missing values only",
                    "write: income is null, or: income is not null",
                )
        elif isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set):
                raise _filter_error(text, "'in' needs a list of values", "write: sex in ('m', 'w')")
            _check_side(left, parsed, text)
            for item in right.elts:
                if _plain_name(item) or not _literals(item):
                    _refuse(item, text)
        else:
            _check_side(left, parsed, text)
            _check_side(right, parsed, text)
        left = right
    sides = [node.left, *node.comparators]
    if not any(parsed._is_column(side) and _plain_name(side) for side in sides):
        raise _filter_error(text, "a comparison names no column")


def _check_side(node: ast.expr, parsed: Filter, text: str) -> None:
    if _is_null(node):
        raise _filter_error(text, "== cannot compare with a missing value", "write: income is null")
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        raise _filter_error(text, "a list goes with 'in'", "write: sex in ('m', 'w')")
    if not (_plain_name(node) and parsed._is_column(node)) and not _literals(node):
        _refuse(node, text)


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return [part for value in node.values for part in _operands(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _operands(node.operand)
    return [node]


def _plain_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return _plain_name(node.value) and not node.attr.startswith("__")
    return isinstance(node, ast.Name)


def _is_null(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Name) and node.id in _NULLS


def _literals(node: ast.expr) -> list[Any]:
    """The values written in a node: one for a literal, several for a list, else none."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str | int | float | bool) else []
    if isinstance(node, ast.Name) and node.id in _TRUTH:
        return [_TRUTH[node.id]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _literals(node.operand)
        if len(inner) == 1 and isinstance(inner[0], int | float):
            return [-inner[0] if isinstance(node.op, ast.USub) else inner[0]]
        return []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [value for item in node.elts for value in _literals(item)]
    return []


_KINDS = {
    ast.Call: "a call",
    ast.BinOp: "arithmetic",
    ast.Lambda: "a function",
    ast.IfExp: "an if",
    ast.Subscript: "an index",
    ast.Constant: "a value alone",
    ast.List: "a list alone",
    ast.Tuple: "a list alone",
    ast.Attribute: "a name with double underscores",
}


def _refuse(node: ast.expr, text: str) -> None:
    kind = _KINDS.get(type(node), "this form")
    raise _filter_error(
        text,
        f"{kind} is not allowed in a filter",
        "allowed: comparisons, in, is null, and, or, not",
    )
