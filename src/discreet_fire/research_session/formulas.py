"""Formulas of models as researchers in Python write them: ``y ~ x1 + C(x2) + x1:x2``.

In: a formula, and which variables hold texts. Out: the outcome and terms in the notation of the
safe models, and expressions such as ``np.log(x)`` or ``I(z**2)`` as variables of their own. What a
formula means elsewhere and cannot be said here is an error, never another model: without a constant
there are only numbers.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.errors import OutputCheckError

_TOKEN = re.compile(
    r"\s*(?:(?P<group>C\s*\(\s*(?P<inner>[^\W\d]\w*)\s*\))|(?P<word>\w+)|(?P<sign>.))"
)
_MOST = 200
#: Where an expression begins, and what it may hold.
_EXPRESSION = re.compile(
    r"(?<![\w.])(?:(?:np|numpy)\s*\.\s*\w+|I|log|log10|log1p|exp|sqrt|abs)\s*\("
)
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
        return tuple(dict.fromkeys(one for name in whole for one in self._behind(name)))

    def _behind(self, name: str) -> tuple[str, ...]:
        return expression(self.made[name])[1] if name in self.made else (name,)


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


def _named_expressions(text: str) -> tuple[str, dict[str, str]]:
    """A formula with a name in place of each expression, and the expressions."""
    made: dict[str, str] = {}
    while (match := _EXPRESSION.search(text)) is not None:
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        whole = text[match.start() : end]
        expression(whole)
        name = re.sub(r"\W+", "_", re.sub(r"^(?:np|numpy)\s*\.", "", whole)).strip("_")
        while made.get(name, whole) != whole or re.search(rf"\b{name}\b", text):
            name += "_"
        made[name] = whole
        text = text.replace(whole, name)
    return text, made


@dataclass(frozen=True, order=True)
class _Factor:
    name: str
    levels: bool

    def __str__(self) -> str:
        return f"{'i' if self.levels else 'c'}.{self.name}"


_Product = tuple[_Factor, ...]


def read_formula(text: str, texts: Collection[str] = ()) -> ModelFormula:
    """Read a formula.

    >>> read_formula("wage ~ age + C(sex) + age:C(sex)").terms
    ('age', 'i.sex', 'c.age#i.sex')
    >>> read_formula("wage ~ age * region", texts=["region"]).terms
    ('age', 'i.region', 'c.age#i.region')
    """
    if not isinstance(text, str) or len(text) > 10_000:
        raise _wrong("a formula is a text such as 'wage ~ age + C(sex)'", "")
    text, made = _named_expressions(text)
    left, tilde, right = text.partition("~")
    outcome = left.strip()
    if not tilde or not outcome.isidentifier():
        raise _wrong("left of ~ stands the name of the outcome", text)
    products, constant = _FormulaReader(right, text, frozenset(texts)).read()
    if not constant and any(one.levels for product in products for one in product):
        message = "a model without a constant takes numbers only: levels would mean another model"
        raise _wrong(message, text, "leave out '- 1', or make indicators of your own")
    names = dict.fromkeys(one.name for product in products for one in product)
    return ModelFormula(
        outcome=outcome,
        terms=tuple(_written(product) for product in products),
        names=tuple(names),
        constant=constant,
        made=made,
    )


def _written(product: _Product) -> str:
    if len(product) == 1 and not product[0].levels:
        return product[0].name
    return "#".join(map(str, product))


@dataclass(kw_only=True)
class _Sum:
    """What was read so far: products in order, each once, and whether there is a constant."""

    products: dict[frozenset[_Factor], _Product]
    constant: bool = True


class _FormulaReader:
    """The right side of a formula, token by token."""

    def __init__(self, right: str, whole: str, texts: frozenset[str]) -> None:
        self._whole = whole
        self._texts = texts
        self._tokens = list(self._split(right))

    def read(self) -> tuple[list[_Product], bool]:
        total = _Sum(products={})
        at, minus = 0, False
        while at < len(self._tokens):
            behind = next(
                (n for n in range(at, len(self._tokens)) if self._tokens[n] in ("+", "-")),
                len(self._tokens),
            )
            self._term(self._tokens[at:behind], minus, total)
            if behind == len(self._tokens) - 1:
                raise _wrong("the formula ends with a sign", self._whole)
            minus = behind < len(self._tokens) and self._tokens[behind] == "-"
            at = behind + 1
        if not total.products and not self._tokens:
            raise _wrong("nothing stands right of ~", self._whole, "for a constant alone write 1")
        return list(total.products.values()), total.constant

    def _split(self, right: str) -> Iterator[_Factor | str]:
        for number, token in enumerate(_TOKEN.finditer(right.rstrip())):
            if number >= _MOST:
                raise _wrong("the formula is too long", self._whole[:50])
            if token["group"]:
                yield _Factor(token["inner"], True)
            elif (word := token["word"]) is not None:
                if word in ("0", "1"):
                    yield word
                elif word.isidentifier():
                    yield _Factor(word, word in self._texts)
                else:
                    raise _wrong(f"{word} is not a variable", self._whole)
            elif (sign := token["sign"]) in "+-:*":
                yield sign
            else:
                hint = "make such a variable first; a formula has names, C(name), + - : *"
                raise _wrong(f"a formula cannot hold {sign!r}", self._whole, hint)

    def _term(self, tokens: Sequence[_Factor | str], minus: bool, total: _Sum) -> None:
        if len(tokens) == 1 and tokens[0] in ("0", "1"):
            total.constant = (tokens[0] == "1") is not minus
            return
        if minus:
            raise _wrong("only '- 1' can be taken away", self._whole)
        factors, signs = tokens[::2], tokens[1::2]
        fits = len(tokens) % 2 == 1 and all(isinstance(one, _Factor) for one in factors)
        if not fits or any(one not in (":", "*") for one in signs):
            raise _wrong("between two signs stands one variable", self._whole)
        groups: list[list[_Product]] = []
        for sign, factor in zip(("*", *signs), factors, strict=True):
            assert isinstance(factor, _Factor)
            if sign == ":":  # binds closer than *
                groups[-1] = [(*one, factor) for one in groups[-1]]
            else:
                groups.append([(factor,)])
        for width in range(1, len(groups) + 1):
            for chosen in itertools.combinations(groups, width):
                for product in itertools.product(*chosen):
                    whole = tuple(itertools.chain.from_iterable(product))
                    if len(set(whole)) < len(whole):
                        message = "a variable stands twice in a product"
                        raise _wrong(message, self._whole, "make its square first")
                    total.products.setdefault(frozenset(whole), whole)


def _wrong(message: str, text: str, hint: str = "write y ~ x1 + C(x2) + x1:x2") -> OutputCheckError:
    return OutputCheckError(message, code="formula", where=text, hint=hint)
