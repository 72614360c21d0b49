"""`RemoteAnalysis`: results of protected microdata, and how far they can be trusted.

In: original and protected records (CONFIDENTIAL), a secret, a ledger. Out: results of the protected
records, with noisy classes. Of the original records nothing comes out but these classes. Data are
known again by a digest that does not depend on the order of rows or columns.

The same question asked in other words is the same `RemoteQuery`: order, repetition, brackets,
`not`, lists and the sides of a comparison make no difference. Its text never depends on data: two
filters that happen to choose the same records are different queries, since being told that they are
the the same would be an answer too.

Protected copies are made by exchanging values between records: numbers between neighbours in rank,
categories between a share of the records. Each variable keeps its values and missing values; what
goes together changes.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from discreet.confidential import without_values
from discreet.errors import DiscreetError, OutputCheckError, Problem
from discreet.microdata import (
    Filter,
    Secret,
    eager_columns,
    name_list,
    open_frame,
    parse_filter,
    require_columns,
)
from discreet.pretabular import permute, rank_swap
from discreet_fire import statistics
from discreet_fire.catalogue import statistic_rows
from discreet_fire.extras.remote_analysis.answers import (
    AnswerKey,
    BudgetLedger,
    QualityClass,
    compare,
    has_numbers,
    truth_chance,
)
from discreet_fire.persons import look_of
from discreet_fire.statistics import (
    SafeLimits,
    SafeResult,
    in_memory,
    parse_terms,
)
from discreet_fire.texts import words

#: A comparison, or a kind with the sorted texts of its parts.
_Form = str | tuple[str, tuple[str, ...]]

#: Comparisons, and their opposites.
_OPPOSITE = {"Lt": "GtE", "LtE": "Gt", "Eq": "NotEq", "Is": "IsNot"}
_OPPOSITE |= {other: one for one, other in _OPPOSITE.items()}


def condition_text(parsed: Filter) -> str:
    """The text of a condition.

    >>> from discreet.microdata.filters import parse_filter
    >>> one, other = "not (sex == 1 or age <= 17)", "age > 17 and sex != 1.0"
    >>> condition_text(parse_filter(one)) == condition_text(parse_filter(other))
    True
    """

    def form(node: ast.expr, *, turned: bool) -> _Form:
        """A condition, or what it is not."""
        match node:
            case ast.BoolOp(op=operator, values=values):
                kind = "And" if isinstance(operator, ast.And) is not turned else "Or"
                return _joined(kind, (form(one, turned=turned) for one in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return form(operand, turned=not turned)
            case ast.Compare(left=left, ops=operators, comparators=rights):
                sides = zip([left, *rights], operators, rights, strict=False)
                kind = "Or" if turned else "And"
                return _joined(kind, (step(*one, turned=turned) for one in sides))
        return f"(Not {term(node)})" if turned else term(node)

    def step(left: ast.expr, operator: ast.cmpop, right: ast.expr, *, turned: bool) -> _Form:
        """One comparison; one with a list is one with each of its values."""
        kind = type(operator).__name__
        if kind in ("In", "NotIn"):
            negative = (kind == "NotIn") is not turned
            kind, joint = ("NotEq", "And") if negative else ("Eq", "Or")
            values = right.elts if isinstance(right, ast.List | ast.Tuple | ast.Set) else [right]
            return _joined(joint, (compared(kind, left, one) for one in values))
        kind = _OPPOSITE[kind] if turned else kind
        if kind in ("Gt", "GtE"):
            return compared(kind.replace("G", "L"), right, left)
        return compared(kind, left, right)

    def compared(kind: str, left: ast.expr, right: ast.expr) -> str:
        sides = [term(left), term(right)]
        one, other = sorted(sides) if kind in ("Eq", "NotEq") else sides
        return f"({kind} {one} {other})"

    def term(node: ast.expr) -> str:
        """A column or a value."""
        if parsed._is_column(node):
            return f"[{json.dumps(parsed._name(node))}]"
        value = node.id.lower() if isinstance(node, ast.Name) else ast.literal_eval(node)
        return json.dumps(plain_value(value))

    return _form_text(form(parsed._tree, turned=False))


def plain_value(value: Any) -> Any:
    """Whole numbers as such."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _joined(kind: str, parts: Iterable[_Form]) -> _Form:
    """Parts within parts of the same kind, each once and in order."""
    forms: dict[str, _Form] = {}
    for part in parts:
        same = isinstance(part, tuple) and part[0] == kind
        forms |= {one: one for one in part[1]} if same else {_form_text(part): part}
    return next(iter(forms.values())) if len(forms) == 1 else (kind, tuple(sorted(forms)))


def _form_text(form: _Form) -> str:
    return form if isinstance(form, str) else f"({form[0]} {' '.join(form[1])})"


#: The commands that can be asked for.
COMMANDS: Mapping[str, Callable[..., SafeResult]] = MappingProxyType(
    {
        name: getattr(statistics, row.statistic)
        for name, row in sorted(statistic_rows().items())
        if row.remote
    }
)

#: What the centre sets, not the researcher.
_FIXED = frozenset({"frame", "limits", "entity", "earlier"})
#: Lists in which the order says nothing.
_SETS = frozenset({"names", "terms", "statistics", "percent", "centiles", "of", "by"})
#: Arguments that name columns, beside conditions and terms.
_COLUMNS = frozenset({"names", "of", "by", "row", "column", "outcome", "weights", "cluster"})


@dataclass(frozen=True, kw_only=True)
class RemoteQuery:
    """A question to the data.

    >>> one = RemoteQuery.of("regress", outcome="y", terms=["x", "z"], where="age>17 and sex==1.0")
    >>> two = RemoteQuery.of("regress", outcome="y", terms=["z", "x"], where="1==sex and 17 < age")
    >>> one.text == two.text
    True
    """

    command: str  # the safe command
    arguments: Mapping[str, Any]  # what it is called with
    text: str  # the canonical form
    columns: frozenset[str]  # the columns that it names

    @classmethod
    def of(cls, command: str, **arguments: Any) -> RemoteQuery:
        """Bring a question into its one form."""
        if command not in COMMANDS:
            message, hint = "the command cannot be asked for", f"there are: {', '.join(COMMANDS)}"
            raise OutputCheckError(message, code="query", where=str(command), hint=hint)
        parameters = _parameters(command)
        defaults = {name: one.default for name, one in parameters.items()}
        for name in arguments:
            if name in _FIXED or name not in defaults:
                hint = f"{command} takes: {', '.join(sorted(defaults.keys() - _FIXED))}"
                message = (
                    "the argument is set by the centre" if name in _FIXED else "unknown argument"
                )
                raise OutputCheckError(message, code="query", where=str(name), hint=hint)
        needed = {name for name, value in defaults.items() if value is inspect.Parameter.empty}
        for name in needed - arguments.keys() - _FIXED:
            raise OutputCheckError("the argument is missing", code="query", where=name)
        plain = {name: _argument(name, one, parameters[name]) for name, one in arguments.items()}
        changed = {
            name: value
            for name, value in plain.items()
            if name in needed or value != _argument(name, defaults[name], parameters[name])
        }
        if command == "tabulate" and "column" in changed and "percent" not in changed:
            first, second = sorted([str(changed["row"]), str(changed["column"])])
            changed |= {"row": first, "column": second}
        form, columns = dict(changed), []
        if "where" in form:
            condition = parse_filter(form["where"])
            form["where"] = condition_text(condition)
            columns += sorted(condition.columns)
        if "terms" in form:
            terms = parse_terms(form["terms"])
            factors_of = [
                [(a.name, a.levels, str(a.base), a.only) for a in one.factors] for one in terms
            ]
            form["terms"] = sorted({json.dumps(sorted(factors)) for factors in factors_of})
            columns += [factor.name for one in terms for factor in one.factors]
        for name in _COLUMNS & form.keys():
            columns += form[name] if isinstance(form[name], list) else [form[name]]
        text = json.dumps([command, form], sort_keys=True, ensure_ascii=False)
        frozen = MappingProxyType(changed)
        return cls(command=command, arguments=frozen, text=text, columns=frozenset(columns))

    def run(self, frame: Any, **fixed: Any) -> SafeResult:
        """The result on some records, with what the centre sets: limits, entity."""
        return COMMANDS[self.command](frame, **self.arguments, **fixed)


def _parameters(command: str) -> dict[str, inspect.Parameter]:
    """Arguments of a command; models share those of `regress`, all others the filter."""
    as_regress = command in ("logit", "probit")
    parameters = dict(inspect.signature(COMMANDS["regress" if as_regress else command]).parameters)
    if as_regress:
        parameters["weight_kind"] = parameters["weight_kind"].replace(default="pweight")
    if (shared := parameters.pop("options", None)) is not None:
        kind = shared.KEYWORD_ONLY
        where = inspect.Parameter("where", kind, default=None, annotation="str | None")
        parameters["where"] = where
    return parameters


def _argument(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """The argument in its one form, if it is of the kind that the command takes.

    Lists are sorted where order says nothing, whole numbers are such, and a list of one is no list
    where none is meant.
    """
    kind = str(parameter.annotation)
    many = "Sequence" in kind
    listed = isinstance(value, list | tuple | set | frozenset)
    items = [plain_value(one) for one in (value if listed else [value])]
    number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in items)
    texts = all(isinstance(one, str) for one in items)
    if name == "statistics" and texts:
        items = [word for one in items for word in one.split()]
    if len(items) == 1 if listed else texts:
        listed = many
    if kind == "bool":
        good, wanted = not listed and isinstance(items[0], bool), "true or false"
    elif "float" in kind:
        good, wanted = number and listed is many, "a number"
    else:
        good, wanted = texts and listed is many, "a text"
    if not good and not (value is None and parameter.default is None):
        wanted = f"a list of which each is {wanted}" if many else wanted
        raise OutputCheckError(f"the argument is not {wanted}", code="query", where=name)
    if listed and name in _SETS:
        items = sorted(set(items), key=lambda one: (isinstance(one, str), one))
    return items if listed else items[0]


def data_digest(data: pl.DataFrame) -> str:
    """SHA-256 of names, types and values of a frame, rows in sorted order.

    >>> one = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    >>> data_digest(one) == data_digest(one.reverse().select("b", "a"))
    True
    """
    names = sorted(data.columns)
    plain = data.select(_plain(data.get_column(name)) for name in names)
    plain = plain.sort(names, nulls_last=True) if names else plain
    digest = hashlib.sha256(f"discreet data, version 1\0{plain.height}".encode())
    for name in names:
        column = plain.get_column(name)
        digest.update(_framed(f"{name}\0{data.schema[name]}".encode()))
        digest.update(_framed(np.packbits(column.is_null().to_numpy()).tobytes()))
        if column.dtype == pl.String:
            texts = column.fill_null("")
            digest.update(_framed(texts.str.len_bytes().to_numpy().astype("<u8").tobytes()))
            digest.update(_framed("".join(texts.to_list()).encode()))
        else:
            values = column.fill_null(0).to_numpy()
            digest.update(_framed(values.astype(values.dtype.newbyteorder("<")).tobytes()))
    return digest.hexdigest()


def _plain(column: pl.Series) -> pl.Series:
    """Whole numbers and truth as they are; zeros of both signs, and all NaN, are the same."""
    kind = column.dtype
    if kind.is_float():
        column = column.cast(pl.Float64) + 0.0
        return column.set(column.is_nan(), float("nan"))
    if kind.is_integer():
        return column
    if kind == pl.Boolean:
        return column.cast(pl.UInt8)
    if kind.is_temporal():
        return column.to_physical().cast(pl.Int64)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        message = "a column holds neither numbers, texts, categories nor times"
        raise OutputCheckError(message, code="column-type", where=column.name)
    return column.cast(pl.String)


def _framed(content: bytes) -> bytes:
    """Lengths in front: no two different frames give the same bytes."""
    return len(content).to_bytes(8, "little") + content


#: Errors of how a question is asked, whatever the data hold; they cost nothing.
_FREE = words(
    "centile columns column-type correlate filter-columns filter-types not-numeric statistic table "
    "tabulate terms"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityAnswer:
    """Answer to a researcher."""

    result: SafeResult  # the result of the protected records
    quality: QualityClass  # how far it lies from the original; true with the chance `chance` only
    chance: float  # how likely the class is the true one
    left: int  # how many more answers the researcher can have

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        return {
            "result": self.result.to_dict(),
            "quality": str(self.quality),
            "chance": self.chance,
            "left": self.left,
        }

    def __str__(self) -> str:
        sure = f"quality: {self.quality} (a noisy class, true with a chance of {self.chance:.0%})"
        return f"{self.result}\n{sure}\nanswers left: {self.left}"


class RemoteAnalysis:
    """A data set on which questions are answered (confidential)."""

    @without_values
    def __init__(
        self,
        original: Any,
        protected: Any,
        *,
        secret: Secret | bytes | str | Path,
        ledger: BudgetLedger,
        data: str,
        limits: SafeLimits | None = None,
        entity: str | None = None,
    ) -> None:
        self._original, self._protected = map(records_in_memory, (original, protected))
        if self._original.schema != self._protected.schema:
            message = "original and protected records have different columns or types"
            hint = "create the protected records with discreet_fire.extras.remote_analysis.protect"
            raise OutputCheckError(message, code="remote-analysis", where=data, hint=hint)
        _check_name(data, "data")
        self._key = AnswerKey(Secret.of(secret))
        self._ledger, self._data = ledger, data
        self._fixed = {"limits": limits or SafeLimits(), "entity": entity}
        self._version = [data_digest(self._original), data_digest(self._protected)]

    def ask(self, researcher: str, command: str, **arguments: Any) -> QualityAnswer:
        """Answer a question. The charge is written before the answer is given."""
        _check_name(researcher, "researcher")
        query = RemoteQuery.of(command, **arguments)
        for name in query.columns:  # refused before anything is charged
            if name not in self._protected.columns:
                hint = f"columns: {', '.join(self._protected.columns)}"
                message = "column not found"
                raise OutputCheckError(message, code="missing-column", where=name, hint=hint)
        text = json.dumps([*self._version, query.text])
        question = hashlib.sha256(text.encode()).hexdigest()
        ledger, name = self._ledger, self._data
        ledger.bind(name, self._key.known_by(self._version[0]))
        known = ledger.known(name, researcher, question)
        try:
            result = query.run(self._protected, **self._fixed)
            if not has_numbers(result):
                message = "nothing of the protected result may be shown, "
                message += "so there is nothing to compare"
                hint = "ask about more cases; this question is charged, once"
                raise OutputCheckError(message, code="nothing-shown", where=command, hint=hint)
        except DiscreetError as error:
            if error.code in _FREE:
                raise
            # what cannot be shown tells something of the copy, and may not be asked for ever
            ledger.charge(name, researcher, question, QualityClass.far)
            raise
        if known is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they would tell of the original
                    original = query.run(self._original, **self._fixed)
                    true = compare(original, result, stretch=self._key.stretch(question))
            except Exception:  # whatever fails on the original is far: an error would be an answer
                true = QualityClass.far
            noisy = self._key.answer(true, question, ledger.budget.answer)
            known = ledger.charge(name, researcher, question, noisy)
        return QualityAnswer(
            result=result,
            quality=known,
            chance=truth_chance(ledger.budget.answer),
            left=ledger.usage(name, researcher).left,
        )

    def __repr__(self) -> str:
        return "<RemoteAnalysis (confidential)>"


def _check_name(name: str, where: str) -> None:
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not plain or not look_of(name):
        message = "a name is a text of letters, without blanks at its ends"
        raise OutputCheckError(message, code="remote-analysis", where=where)


#: Fewest records among which a number is exchanged.
_NEIGHBOURS = 5


def records_in_memory(frame: Any) -> pl.DataFrame:
    """All records of a frame that narwhals reads."""
    whole = in_memory(open_frame(frame))
    return eager_columns(whole, whole.columns)


def protect(
    frame: Any,
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    keep: Sequence[str] = (),
    distance: float = 0.02,
    share: float = 0.15,
) -> pl.DataFrame:
    """A protected copy of microdata. Every column is named in exactly one role.

    The same records and secret give the same copy in any order of rows.

    Args:
        frame: Records; any frame narwhals reads.
        id: Column, or columns, that identify a record; they stay.
        secret: What makes the exchange unpredictable.
        numeric: Numbers, exchanged between neighbours in rank.
        categorical: Categories, exchanged between some of the records.
        keep: Columns that stay as they are: weights, times.
        distance: How far neighbours lie apart at most, as a share of the records; at least
            five records.
        share: The share of records that give their category to another one.

    >>> people = pl.DataFrame({"pid": range(100), "pay": range(100)})
    >>> copy = protect(people, id="pid", secret=Secret.of("a long, dull line"), numeric=["pay"])
    >>> moved = (copy["pay"] - people["pay"]).abs()
    >>> bool(moved.max() < 9), sorted(copy["pay"].to_list()) == people["pay"].to_list()
    (True, True)
    """
    data = records_in_memory(frame)
    ids = name_list(id, "id")
    require_columns(open_frame(data), ids)
    problems, named = [], [*ids]
    for role, names in (("numeric", numeric), ("categorical", categorical), ("keep", keep)):
        if isinstance(names, str):
            raise OutputCheckError("is a list of names", code="protect", where=role)
        named += names
    for name in dict.fromkeys(named):
        if name not in data.columns:
            problems.append(Problem("column not found", name))
        elif named.count(name) > 1:
            problems.append(Problem("the column is named twice", name))
    for name in data.columns:
        if name not in named:
            hint = "name it as numeric, as categorical or to keep"
            problems.append(Problem("nothing is said about the column", name, hint))
    problems += [
        Problem("the column does not hold numbers", name)
        for name in numeric
        if name in data.columns and not data.schema[name].is_numeric()
    ]
    if problems:
        message = "columns and their roles do not fit"
        raise OutputCheckError(message, code="protect", problems=problems)
    for name, value in (("distance", distance), ("share", share)):
        if not 0 < value <= 1:
            message = "is a share above 0 and at most 1"
            raise OutputCheckError(message, code="protect", where=name)
    held = Secret(secret.derive("discreet: protected microdata"))
    for name in (*numeric, *categorical):
        column = data.get_column(name)
        known = column.is_not_null()
        if column.dtype.is_float():
            known &= column.is_not_nan().fill_null(False)
        some = data.filter(known).select(*ids, name)
        if some.is_empty():
            continue
        if name in numeric:
            window = min(1.0, max(distance, _NEIGHBOURS / some.height))
            exchanged = rank_swap(some, name, window=window, id=ids, secret=held).records
        else:
            exchanged = permute(some, name, share=share, id=ids, secret=held).records
        data = data.with_columns(column.scatter(known.arg_true(), exchanged[name]))
    return data
