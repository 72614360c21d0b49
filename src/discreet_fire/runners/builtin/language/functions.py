"""Functions of expressions: numbers, conditions, distributions, random draws.

In: the values of arguments. Out: the value, with Stata's rules for missing ones; missing where
an argument lies outside a function's domain. Quantiles are found by halving an interval.
Functions of texts and dates stand in modules of their own; `function_of` finds all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet_fire.catalogue import check_function_names, function_table
from discreet_fire.runners.builtin.language.date_functions import DATES
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.function_frames import (
    FunctionOf,
    each_number,
    given_numbers,
    known_numbers,
    typed,
    yes_or_no,
)
from discreet_fire.runners.builtin.language.scope import Scope, Value
from discreet_fire.runners.builtin.language.text_functions import TEXTS
from discreet_fire.runners.builtin.language.values import MISSING, is_text, limited, tidy
from discreet_fire.statistics import chi2_tail, f_tail, t_tail

_HALVINGS = 2000


def _density(*values: float) -> float:
    """`normalden(z)`, `normalden(x, s)` and `normalden(x, m, s)`."""
    mean, scale = (values[1], values[2]) if len(values) == 3 else (0.0, (*values, 1.0)[1])
    if scale <= 0:
        return math.nan
    z = (values[0] - mean) / scale
    return math.exp(-z * z / 2.0) / (scale * math.sqrt(2.0 * math.pi))


def _chi2(df: float, x: float) -> float:
    return chi2_tail(x, df) if df > 0 else math.nan


def _t(df: float, t: float) -> float:
    return t_tail(t, df) if df > 0 else math.nan


def _f(first: float, second: float, f: float) -> float:
    if first <= 0 or second <= 0:
        return math.nan
    return f_tail(f, first, second) if f > 0 else 1.0


def _quantile(tail: Callable[[float], float], chance: float, *, signed: bool = False) -> float:
    """The number that is exceeded with a chance."""
    if not 0.0 < chance < 1.0 or math.isnan(tail(1.0)):
        return 0.0 if chance == 1.0 and not signed else math.nan
    low, high = (-1.0 if signed else 0.0), 1.0
    while tail(high) > chance:
        high *= 2.0
    while signed and tail(low) < chance:
        low *= 2.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if tail(middle) > chance else (low, middle)
    return (low + high) / 2.0


def _invttail(df: float, chance: float) -> float:
    if chance == 0.5 and df > 0:
        return 0.0
    return _quantile(lambda t: _t(df, t), chance, signed=True)


def _comb(number: float, chosen: float) -> float:
    if number < 0 or chosen < 0 or number != int(number) or chosen != int(chosen):
        return math.nan
    return float(math.comb(int(number), int(chosen)))


def _lngamma(x: float) -> float:
    return math.lgamma(x) if x > 0 else math.nan


def _binomial_probability(number: float, most: float, chance: float) -> float:
    """The chance of at most so many successes."""
    if number < 0 or not 0.0 <= chance <= 1.0:
        return math.nan
    top = min(int(most), int(number))
    terms = (
        math.comb(int(number), k) * chance**k * (1.0 - chance) ** (int(number) - k)
        for k in range(top + 1)
    )
    return math.fsum(terms)


def _probability_of_each(function: Callable[..., float]) -> Callable[..., Any]:
    """The function for one number or for arrays."""

    def one(*values: float) -> float:
        try:
            chance = function(*map(float, values))
        except (OverflowError, ValueError, ZeroDivisionError):
            return MISSING
        return MISSING if math.isnan(chance) else chance

    def call(*values: Any) -> Any:
        return np.vectorize(one, otypes=[np.float64])(*values)

    return call


#: Per function: how it is worked out, how many arguments it takes, how many more it may take.
CHANCES: dict[str, tuple[Callable[..., float], int, int]] = {
    "comb": (_comb, 2, 0),
    "lnfactorial": (lambda n: _lngamma(n + 1.0), 1, 0),
    "lngamma": (_lngamma, 1, 0),
    "normal": (lambda z: 0.5 * math.erfc(-z / math.sqrt(2.0)), 1, 0),
    "invnormal": (lambda p: NormalDist().inv_cdf(p) if 0.0 < p < 1.0 else math.nan, 1, 0),
    "normalden": (_density, 1, 2),
    "binomial": (_binomial_probability, 3, 0),
    "chi2": (lambda df, x: 1.0 - _chi2(df, x), 2, 0),
    "chi2tail": (_chi2, 2, 0),
    "invchi2": (lambda df, p: _quantile(lambda x: _chi2(df, x), 1.0 - p), 2, 0),
    "invchi2tail": (lambda df, p: _quantile(lambda x: _chi2(df, x), p), 2, 0),
    "t": (lambda df, t: _t(df, -t), 2, 0),
    "ttail": (_t, 2, 0),
    "invt": (lambda df, p: -_invttail(df, p), 2, 0),
    "invttail": (_invttail, 2, 0),
    "F": (lambda a, b, f: 1.0 - _f(a, b, f), 3, 0),
    "Ftail": (_f, 3, 0),
    "invF": (lambda a, b, p: _quantile(lambda f: _f(a, b, f), 1.0 - p), 3, 0),
    "invFtail": (lambda a, b, p: _quantile(lambda f: _f(a, b, f), p), 3, 0),
}


def function_of(name: str) -> FunctionOf | None:
    """The function of a name, or None."""
    return _FUNCTIONS.get(name)


def function_names() -> list[str]:
    """The names of all functions."""
    return sorted(_FUNCTIONS)


def _rounded(value: Any, unit: Any = 1.0) -> Any:
    with np.errstate(all="ignore"):
        whole = unit * np.floor(value / unit + 0.5)
    return np.where(unit == 0, value, whole)


def _extreme(choose: Callable[[Any, Any], Any], nothing: float) -> FunctionOf:
    """The largest or smallest of several, without missing ones."""

    def call(scope: Scope, text: str, values: Sequence[Value]) -> Value:
        numbers = given_numbers(values, least=1)
        best: Any = np.full((), nothing)
        for value in numbers:
            best = choose(best, np.where(np.greater_equal(value, MISSING), nothing, value))
        _note_bounds(scope, numbers, best)
        result: Value = tidy(best if best.ndim else float(best))
        return result

    return call


def _note_bounds(scope: Scope, numbers: Sequence[Any], best: Any) -> None:
    """A bound, as in `min(x, 5000)`, asks who lies beyond it, as a comparison does."""
    columns = [one for one in numbers if np.ndim(one)]
    bounds = [one for one in numbers if not np.ndim(one)]
    if len(columns) == 1 and bounds:
        gaps = np.min([np.abs(columns[0] - bound) for bound in bounds], axis=0)
        known = np.less(columns[0], MISSING)
        scope.names.told_apart((best == columns[0]) | ~known, np.where(known, gaps, np.inf))


def _missing(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    gaps: Any = np.zeros((), dtype=np.bool_)
    for value in values:
        gap = np.equal(value, "") if is_text(value) else np.greater_equal(value, MISSING)
        gaps = gaps | gap
    return yes_or_no(gaps)


def _cond(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    if len(values) not in (3, 4):
        raise DoError("invalid syntax: cond() takes 3 or 4 arguments", code=198)
    test = given_numbers(values[:1], least=1)[0]
    _alike(values[1:])
    chosen = np.where(np.not_equal(test, 0), values[1], values[2])
    if len(values) == 4:
        chosen = np.where(np.greater_equal(test, MISSING), values[3], chosen)
    return typed(chosen, values[1])


def _alike(values: Sequence[Value]) -> bool:
    """Whether values are texts; an error unless all of them are, or none."""
    kinds = {is_text(value) for value in values}
    DoError.when(len(kinds) > 1, "type mismatch", code=109)
    return kinds == {True}


def _inrange(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    """Whether a value is in a range; a missing end leaves the range open."""
    DoError.when(len(values) != 3, "invalid syntax: inrange() takes 3 arguments", code=198)
    value, low, high = values
    if _alike(values):
        below = np.equal(high, "") | np.less_equal(value, high)
        return yes_or_no(np.greater_equal(value, low) & below & np.not_equal(value, ""))
    above = np.greater_equal(low, MISSING) | np.greater_equal(value, low)
    below = np.greater_equal(high, MISSING) | np.less_equal(value, high)
    return yes_or_no(above & below & np.less(value, MISSING))


def _inlist(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    DoError.when(len(values) < 2, "invalid syntax: inlist() takes at least 2 arguments", code=198)
    _alike(values)
    equal: Any = np.zeros((), dtype=np.bool_)
    for other in values[1:]:
        equal = equal | np.equal(values[0], other)
    return yes_or_no(equal)


def _running(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    """The running sum, within groups; missing values count as 0."""
    value = given_numbers(values, least=1, most=1)[0]
    known = np.where(np.greater_equal(value, MISSING), 0.0, value)
    scope.names.added(known, scope.groups)
    total = np.cumsum(np.broadcast_to(known, (scope.rows,)))
    if scope.groups is not None and scope.rows:
        before = np.concatenate([[0.0], total])[scope.groups.first]
        total = total - before
    return np.asarray(tidy(total))


def _autocode(value: Any, number: Any, low: Any, high: Any) -> Any:
    width = (high - low) / number
    return low + np.clip(np.ceil((value - low) / width), 1, number) * width


def _irecode(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    value, *cuts = given_numbers(values, least=2)
    code = sum((np.greater(value, cut).astype(np.float64) for cut in cuts), np.zeros(()))
    return _number(np.where(np.greater_equal(value, MISSING), MISSING, code))


def _float(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    """A number rounded as a variable of type float keeps it."""
    value = given_numbers(values, least=1, most=1)[0]
    return _number(np.asarray(limited(np.asarray(value, dtype=np.float64), "float")))


def _recode(scope: Scope, text: str, values: Sequence[Value]) -> Value:
    """The first of the cuts that is not below a value; the last cut beyond them."""
    value, *cuts = given_numbers(values, least=2)
    upper: Any = np.broadcast_to(cuts[-1], np.shape(value))
    for cut in reversed(cuts[:-1]):
        upper = np.where(np.less_equal(value, cut), cut, upper)
    return _number(np.where(np.greater_equal(value, MISSING), value, upper))


def _number(value: Any) -> Value:
    return value if np.ndim(value) else float(value)


def _draw(
    kind: Callable[..., Any], least: int, most: int, valid: Callable[..., Any] | None = None
) -> FunctionOf:
    """Draws of a distribution; missing where an argument is missing or out of its range."""

    def call(scope: Scope, text: str, values: Sequence[Value]) -> Value:
        outside, known = known_numbers(given_numbers(values, least=least, most=most), valid)
        size = scope.rows if scope.rows else None
        if not getattr(scope.names, "scalar_wanted", False):
            scope.names.ordered()
        drawn = np.asarray(kind(part_of(scope.draw), *known, size=size), dtype=np.float64)
        drawn_values = np.where(outside, MISSING, drawn)
        result: Value = tidy(
            drawn_values if size else float(drawn_values.flat[0]) if drawn_values.size else MISSING
        )
        return result

    return call


def part_of(draw: np.random.Generator) -> np.random.Generator:
    """Random numbers of one command.

    How many numbers it uses hangs on the records; the numbers of later commands may not.
    """
    return np.random.default_rng(draw.integers(2**63))


def _uniform(draw: Any, low: Any = 0.0, high: Any = 1.0, *, size: Any) -> Any:
    return low + (high - low) * draw.random(size)


def _normal(draw: Any, mean: Any = 0.0, deviation: Any = 1.0, *, size: Any) -> Any:
    return mean + deviation * draw.standard_normal(size)


def _whole(draw: Any, low: Any, high: Any, *, size: Any) -> Any:
    return np.floor(low + (high - low + 1) * draw.random(size))


#: So large may a mean of counts be.
_MOST_EXPECTED = 1e15


def _binomial(draw: Any, number: Any, chance: Any, *, size: Any) -> Any:
    return draw.binomial(np.asarray(number).astype(np.int64), chance, size=size)


def _is_trial(number: Any, chance: Any) -> Any:
    return (number >= 1) & (number < _MOST_EXPECTED) & (chance >= 0) & (chance <= 1)


def _positive(*given: Any) -> Any:
    return np.logical_and.reduce([np.greater(value, 0) for value in given])


#: Functions of one number, each with its name in numpy.
_SAME = "abs exp log log10 expm1 sqrt sin cos tan sinh cosh tanh floor ceil trunc sign"
_OF_NUMPY = {name: name for name in _SAME.split()} | {
    "ln": "log", "ln1p": "log1p", "int": "trunc", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
#: Draws: of what generator, how many arguments they take at least and at most, which are valid.
_DRAWS: dict[str, tuple[Callable[..., Any], int, int, Callable[..., Any] | None]] = {
    "runiform": (_uniform, 0, 2, None),
    "uniform": (_uniform, 0, 0, None),
    "rnormal": (_normal, 0, 2, None),
    "runiformint": (_whole, 2, 2, None),
    "rbinomial": (_binomial, 2, 2, _is_trial),
    "rpoisson": (Generator.poisson, 1, 1, lambda mean: (mean >= 0) & (mean < _MOST_EXPECTED)),
    "rchi2": (Generator.chisquare, 1, 1, _positive),
    "rt": (Generator.standard_t, 1, 1, _positive),
    "rgamma": (Generator.gamma, 2, 2, _positive),
    "rbeta": (Generator.beta, 2, 2, _positive),
    "rexponential": (Generator.exponential, 1, 1, _positive),
}
_FUNCTIONS: dict[str, FunctionOf] = {
    **{name: each_number(getattr(np, of)) for name, of in _OF_NUMPY.items()},
    "atan2": each_number(np.arctan2, 2),
    "cloglog": each_number(lambda p: np.log(-np.log1p(-p))),
    "invcloglog": each_number(lambda x: -np.expm1(-np.exp(x))),
    "ln1m": each_number(lambda x: np.log1p(-x)),
    "reldif": each_number(lambda x, y: np.abs(x - y) / (np.abs(y) + 1.0), 2),
    "clip": each_number(lambda x, a, b: np.where(a > b, MISSING, np.clip(x, a, b)), 3),
    "float": _float,
    "recode": _recode,
    "round": each_number(_rounded, 1, 1),
    "mod": each_number(lambda x, by: np.where(by <= 0, MISSING, x - by * np.floor(x / by)), 2),
    "logit": each_number(lambda p: np.log(p / (1 - p))),
    "invlogit": each_number(lambda x: 1 / (1 + np.exp(-x))),
    "autocode": each_number(_autocode, 4),
    **{
        name: each_number(_probability_of_each(function), arguments, optional)
        for name, (function, arguments, optional) in CHANCES.items()
    },
    "min": _extreme(np.minimum, np.inf),
    "max": _extreme(np.maximum, -np.inf),
    **dict.fromkeys(("missing", "mi"), _missing),
    "cond": _cond,
    "inrange": _inrange,
    "inlist": _inlist,
    "irecode": _irecode,
    "sum": _running,
    **{name: _draw(*how) for name, how in _DRAWS.items()},
    **TEXTS,
    **DATES,
}
_LISTED = function_table()
check_function_names(_LISTED.asking | _LISTED.drawing | _LISTED.plain, _FUNCTIONS)
