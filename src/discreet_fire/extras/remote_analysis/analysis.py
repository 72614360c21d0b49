"""`RemoteAnalysis`: results of protected microdata, and how far they can be trusted.

In: original and protected records (CONFIDENTIAL), a secret, a ledger. Out: results of the
protected records, with noisy classes. Of the original records nothing comes out but these
classes. Data are known again by a digest that does not depend on the order of rows or columns.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.confidential import without_values
from discreet.errors import DiscreetError, OutputCheckError
from discreet.microdata import Secret
from discreet_fire.extras.remote_analysis.answers import AnswerKey, QualityClass, truth_chance
from discreet_fire.extras.remote_analysis.budget import BudgetLedger
from discreet_fire.extras.remote_analysis.distances import compare, has_numbers
from discreet_fire.extras.remote_analysis.protected_copy import records_in_memory
from discreet_fire.extras.remote_analysis.queries import RemoteQuery
from discreet_fire.persons import look_of
from discreet_fire.statistics import SafeLimits, SafeResult
from discreet_fire.texts import words


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
    """What a researcher gets."""

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
            hint = "make the protected ones with discreet_fire.extras.remote_analysis.protect"
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
        if known is None:
            ledger.check(name, researcher, question)
        try:
            result = self._shown(query)
        except DiscreetError as error:
            if error.code in _FREE:
                raise
            # what cannot be shown tells something of the copy, and may not be asked for ever
            ledger.charge(name, researcher, question, QualityClass.far)
            raise
        if known is None:
            epsilon = ledger.budget.answer
            noisy = self._key.answer(self._true_class(query, result, question), question, epsilon)
            known = ledger.charge(name, researcher, question, noisy)
        return QualityAnswer(
            result=result,
            quality=known,
            chance=truth_chance(ledger.budget.answer),
            left=ledger.usage(name, researcher).left,
        )

    def _shown(self, query: RemoteQuery) -> SafeResult:
        """The result of the protected records."""
        result = query.run(self._protected, **self._fixed)
        if not has_numbers(result):
            message = "nothing of the protected result may be shown, so there is nothing to compare"
            hint = "ask about more cases; this question is charged, once"
            raise OutputCheckError(message, code="nothing-shown", where=query.command, hint=hint)
        return result

    def _true_class(self, query: RemoteQuery, result: SafeResult, question: str) -> QualityClass:
        """The true class; whatever fails on the original is far: an error would be an answer."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they would tell of the original
                original = query.run(self._original, **self._fixed)
                return compare(original, result, stretch=self._key.stretch(question))
        except Exception:
            return QualityClass.far

    def __repr__(self) -> str:
        return "<RemoteAnalysis (confidential)>"


def _check_name(name: str, where: str) -> None:
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not plain or not look_of(name):
        message = "a name is a text of letters, without blanks at its ends"
        raise OutputCheckError(message, code="remote-analysis", where=where)
