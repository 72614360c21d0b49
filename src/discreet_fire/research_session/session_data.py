"""The records of a session, and formulas of models on them. CONFIDENTIAL but for formulas.

In: any frame that narwhals reads, or a file; formulas as researchers in Python write them:
``y ~ x1 + C(x2) + x1:x2``. Out: columns for safe statistics, and the records by which tables are
held against each other; the outcome and terms in the notation of the safe models, and expressions
such as ``np.log(x)`` or ``I(z**2)`` as variables of their own. What a formula means elsewhere and
cannot be said here is an error, never another model: without a constant there are only numbers.
"""

from __future__ import annotations

import ast
import itertools
import operator
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from discreet.arrays import IntArray
from discreet.errors import DiscreetError, MicrodataError, OutputCheckError
from discreet.microdata import eager_columns, open_frame, read_microdata
from discreet_fire.statistics import Factor, Term, in_memory, take

_RECORD = "\0record"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SessionData:
    """Records (confidential)."""

    frame: pl.DataFrame  # the columns that can be read
    unread: dict[str, DiscreetError]  # why others cannot
    entity: str | None  # column of whom a record is about; each is another case if None

    @classmethod
    def of(cls, data: Any, entity: str | None) -> SessionData:
        """From a frame, or from a file of records."""
        if isinstance(data, str | os.PathLike):
            data = read_microdata(Path(data))
        opened = open_frame(data)
        names = opened.collect_schema().names()
        whole = in_memory(opened)
        columns: list[pl.Series] = []
        unread: dict[str, DiscreetError] = {}
        for name in names:
            try:
                columns.append(eager_columns(whole.select(name), [name]).to_series())
            except MicrodataError as error:
                unread[name] = error
        session_data = cls(frame=pl.DataFrame(columns), unread=unread, entity=entity)
        if entity is not None:
            session_data.check([entity])
            take(session_data.frame, [], entity=entity).named_entities()
        return session_data

    @property
    def texts(self) -> frozenset[str]:
        """Variables that hold texts or categories."""
        kinds = (pl.String, pl.Categorical, pl.Enum)
        schema = self.frame.schema
        return frozenset(name for name, kind in schema.items() if isinstance(kind, kinds))

    def check(self, names: Sequence[str]) -> None:
        """Refuse variables that cannot be read or do not exist."""
        for name in names:
            if name in self.unread:
                raise self.unread[name]
            if name not in self.frame.columns:
                raise OutputCheckError("variable not found", code="columns", where=name)

    def with_made(self, made: Mapping[str, str]) -> SessionData:
        """The records with variables that are expressions of others."""
        columns: list[pl.Expr] = []
        for name, text in made.items():
            numbers, names = expression(text)
            self.check(names)
            if name in self.frame.columns or not self.texts.isdisjoint(names):
                message = "an expression is of numbers, and has a name of its own"
                raise OutputCheckError(message, code="formula", where=text)
            columns.append(numbers.alias(name))
        return replace(self, frame=self.frame.with_columns(columns))

    def with_column(self, column: Any) -> tuple[SessionData, str]:
        """The records with a column of a frame, such as ``df.age``, and its name here.

        A column that is none of the data gets a name of its own; it has a value for each record.
        """
        name, hint = (
            str(column.name),
            "give columns of all records, and choose with where='age > 3'",
        )
        whole = SessionData.of(column.to_frame(name), None).frame.to_series()
        if len(whole) != self.frame.height:
            message = "the column is not of the records of the session"
            raise OutputCheckError(message, code="columns", where=name, hint=hint)
        while name in self.frame.columns:
            if whole.equals(self.frame[name], check_names=False):
                return self, name
            name += "_"
        return replace(self, frame=self.frame.with_columns(whole.alias(name))), name

    def taken(
        self, names: Sequence[str], where: str | None, weights: str | None = None
    ) -> tuple[pl.DataFrame, IntArray, list[Any] | None]:
        """The records of a statistic, of those with a weight: the columns that it names and the
        weights, their places in the file, and whom each is about; None if no column says so.
        """
        more = [name for name in (weights, self.entity) if name is not None]
        numbered = self.frame.with_row_index(_RECORD)
        data = take(numbered, [*names, *more, _RECORD], where=where).data.fill_nan(None)
        data = data if weights is None else data.filter(pl.col(weights) > 0)
        numbers = data[_RECORD].cast(pl.Int64).to_numpy()
        return data, numbers, None if self.entity is None else data[self.entity].to_list()

    def __repr__(self) -> str:
        return "<SessionData (confidential)>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are confidential and do not leave the process")


#: So many signs a formula has at most.
_MOST = 200
_FUNCTIONS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "I": lambda x: x, "log": pl.Expr.log, "log10": pl.Expr.log10, "log1p": pl.Expr.log1p,
    "exp": pl.Expr.exp, "sqrt": pl.Expr.sqrt, "abs": pl.Expr.abs, "square": lambda x: x * x,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ModelFormula:
    """A formula that was read."""

    outcome: str  # the variable left of the tilde
    terms: tuple[str, ...]  # what is right of it, in the notation of the safe models
    names: tuple[str, ...]  # the variables on the right, each once
    constant: bool  # whether the model has a constant
    made: dict[str, str]  # variables that are expressions of others

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables of the data that the model is about, each once."""
        whole = (self.outcome, *self.names)
        behind = (
            expression(self.made[name])[1] if name in self.made else (name,) for name in whole
        )
        return tuple(dict.fromkeys(one for names in behind for one in names))


def expression(text: str) -> tuple[pl.Expr, tuple[str, ...]]:
    """An expression of variables, missing where it has no number, and their names.

    >>> expression("np.log(wage) + I(age**2) / 10")[1]
    ('wage', 'age')
    """
    names: dict[str, None] = {}

    def read(node: ast.AST) -> pl.Expr:
        match node:
            case ast.Name(id=name):
                names[name] = None
                return pl.col(name).cast(pl.Float64)
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return pl.lit(float(value))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                made: pl.Expr = _OPERATORS[type(op)](read(left), read(right))
                return made
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -read(operand)
            case ast.Call(func=function, args=[argument], keywords=[]):
                name = ast.unparse(function).rpartition(".")[2]
                if name in _FUNCTIONS:
                    return _FUNCTIONS[name](read(argument))
        hint = f"an expression has variables, numbers, + - * / ** and {', '.join(_FUNCTIONS)}"
        raise _wrong("this expression cannot be read", text, hint)

    try:
        whole = read(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, ValueError):
        raise _wrong("this expression cannot be read", text) from None
    return pl.when(whole.is_finite()).then(whole), tuple(names)


def read_formula(text: str, texts: Collection[str] = ()) -> ModelFormula:
    """Read a formula.

    >>> read_formula("wage ~ age + C(sex) + age:C(sex)").terms
    ('age', 'i.sex', 'c.age#i.sex')
    >>> read_formula("wage ~ age * region", texts=["region"]).terms
    ('age', 'i.region', 'c.age#i.region')
    """
    if not isinstance(text, str) or len(text) > 10_000:
        raise _wrong("a formula is a text such as 'wage ~ age + C(sex)'", "")
    left, _, right = text.partition("~")
    if not right.strip():
        raise _wrong("nothing stands right of ~", text, "for a constant alone write 1")
    if len(re.findall(r"[-+:*]", right)) > _MOST:
        raise _wrong("the formula is too long", text[:50])
    names: set[str] = set()
    terms: dict[frozenset[Factor], Term] = {}
    made: dict[str, str] = {}
    constant = True

    def tree(part: str) -> ast.expr:
        """The tree of a part; ``a:b`` stands there as ``a ** +b``, which binds as close."""
        if re.search(r"\*\*\s*\+", part):
            raise _wrong("between two signs stands one variable", text)
        try:
            whole = ast.parse(part.strip().replace(":", "**+"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _wrong("this formula cannot be read", text) from None
        names.update(node.id for node in ast.walk(whole) if isinstance(node, ast.Name))
        return whole

    def add(node: ast.expr, *, minus: bool = False) -> None:
        """Add what is on one side of a sign, or take a constant away."""
        nonlocal constant
        match node:
            case ast.Constant(value=0 | 1 as value) if not isinstance(value, bool | float):
                constant = bool(value) is not minus
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                add(operand, minus=True)
            case _ if minus:
                raise _wrong("only '- 1' can be taken away", text)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                add(left)
                add(right, minus=isinstance(sign, ast.Sub))
            case _:
                groups = [tuple(map(factor, _parts(one, ast.Pow)))
                          for one in _parts(node, ast.Mult)]  # fmt: skip
                for width in range(1, len(groups) + 1):
                    for chosen in itertools.combinations(groups, width):
                        whole = tuple(itertools.chain.from_iterable(chosen))
                        if len(set(whole)) < len(whole):
                            message = "a variable stands twice in a product"
                            raise _wrong(message, text, "make its square first")
                        terms.setdefault(frozenset(whole), Term(whole))

    def factor(node: ast.expr) -> Factor:
        """One variable, its levels, or an expression, which gets a name of its own."""
        match node:
            case ast.Name(id=name):
                return Factor(name=name, levels=name in texts)
            case ast.Call(func=ast.Name(id="C"), args=[ast.Name(id=name)], keywords=[]):
                return Factor(name=name, levels=True)
            case ast.Call():
                own = ast.unparse(node)
                expression(own)
                name = re.sub(r"\W+", "_", re.sub(r"^(?:np|numpy)\.", "", own)).strip("_")
                while made.get(name, own) != own or name in names:
                    name += "_"
                made[name] = own
                return Factor(name=name, levels=False)
        hint = "make such a variable first; a formula has names, C(name), + - : *"
        message = f"a formula cannot hold {ast.unparse(node).replace('**+', ':')[:40]!r}"
        raise _wrong(message, text, hint)

    outcome = factor(tree(left))
    if outcome.levels and outcome.name not in texts:
        raise _wrong("left of ~ stands the name of the outcome", text)
    add(tree(right))
    factors = [one for term in terms.values() for one in term.factors]
    if not constant and any(one.levels for one in factors):
        message = "a model without a constant takes numbers only: levels would mean another model"
        raise _wrong(message, text, "leave out '- 1', or make indicators of your own")
    return ModelFormula(
        outcome=outcome.name,
        terms=tuple(term.text for term in terms.values()),
        names=tuple(dict.fromkeys(one.name for one in factors)),
        constant=constant,
        made=made,
    )


def _parts(node: ast.expr, sign: type[ast.operator]) -> list[ast.expr]:
    """What a sign joins."""
    if sign is ast.Pow and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        return _parts(node.operand, sign)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, sign):
        return [node]
    if sign is ast.Pow and not isinstance(node.right, ast.UnaryOp):  # a power, no product
        return [node]
    return [*_parts(node.left, sign), *_parts(node.right, sign)]


def _wrong(message: str, text: str, hint: str = "write y ~ x1 + C(x2) + x1:x2") -> OutputCheckError:
    return OutputCheckError(message, code="formula", where=text, hint=hint)
