"""A model of a run: its terms as the do-file writes them, and the fitted model. CONFIDENTIAL.

In: words such as `i.sex L.wage c.age#c.age x*` and a session; what a safe model gives. Out:
`ModelTerms`, what the models of `statistics` read, with columns for lagged variables, called
`L1_wage` there; `FittedModel`, which later commands ask: `predict`, `test`, `lincom`, `_b[x]`,
`e(sample)`. A model that is withheld has no coefficients.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray
from discreet_fire.runners.builtin.disclosure.record_counts import stop_where
from discreet_fire.runners.builtin.disclosure.units import hidden_column
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.names import SessionNames
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import SafeResult

_WORD = re.compile(r"(?:\([^()]*\)|[^\s()])+")
_SEVERAL = re.compile(r"([LFDSlfds])\((\d+)\s*/\s*(\d+)\)\.(\w+)\Z")
_SHIFTED = re.compile(r"(?:c\.)?((?:[LFDSlfds]\d*)+)\.(\w+)\Z")


@dataclass(repr=False)
class ModelTerms:
    """Terms of a model as the safe models read them, and the names of variables in them.

    `more` are columns that are no variables: lags, leads and differences; of each `shifted` has
    the operators and the variable.
    """

    words: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    more: dict[str, FloatArray] = field(default_factory=dict)
    shifted: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The variables, each once."""
        return list(dict.fromkeys(self.names))


def terms_of(session: Session, text: str) -> ModelTerms:
    """The terms that a text names."""
    terms = ModelTerms()
    for word in _WORD.findall(text):
        several = _SEVERAL.match(word)
        if several:
            letter, first, last, name = several.groups()
            for number in range(int(first), int(last) + 1):
                one = f"{letter}{number}.{name}" if number else name
                terms.words.append(_piece(session, one, terms))
        elif "." in word or "#" in word:
            pieces = re.split(r"(#+)", word)
            named = [
                piece if piece.startswith("#") or not piece else _piece(session, piece, terms)
                for piece in pieces
            ]
            terms.words.append("".join(named))
        else:
            names = session.data.listed(word)
            for name in names:
                if session.data.variables[name].is_text:
                    raise DoError(f"{name} is a string variable", code=109)
            terms.names += names
            terms.words += names
    return terms


def _piece(session: Session, piece: str, terms: ModelTerms) -> str:
    """One variable of a term, with its full name."""
    shifted = _SHIFTED.match(piece)
    if shifted:
        operators, name = shifted[1].upper(), session.data.full(shifted[2])
        column = _column_of(operators, name)
        while column in session.data.variables:
            column += "_"
        terms.names.append(name)
        terms.more[column] = SessionNames(session, scalar=False).shifted(operators, name)
        terms.shifted[column] = (operators, name)
        return f"c.{column}" if piece.startswith("c.") else column
    prefix, dot, name = piece.rpartition(".")
    full = session.data.full(name)
    terms.names.append(full)
    return f"{prefix}{dot}{full}"


def _column_of(operators: str, name: str) -> str:
    """What a lag, lead or difference is called."""
    return f"{operators if operators[-1].isdigit() else operators + '1'}_{name}"


def check_factors(session: Session, terms: Sequence[str], rows: BoolArray) -> None:
    """Raise an error if a factor variable holds numbers that are negative or not whole."""
    for word in terms:
        for piece in re.split("#+", word):
            prefix, dot, name = piece.rpartition(".")
            variable = session.data.variables.get(name)
            if prefix == "c" or not (dot or "#" in word) or variable is None or variable.is_text:
                continue
            values = np.asarray(variable.values, dtype=np.float64)
            wrong = rows & (values < MISSING) & ((values < 0) | (values != np.trunc(values)))
            message = f"factor variable {name} may hold whole numbers from 0 only"
            stop_where(session, wrong, message, code=452)


def plain_label(text: str) -> str:
    """A name of a coefficient in one form, however it is written.

    >>> plain_label("c.age#1.sex"), plain_label("1bn.sex"), plain_label("L.wage")
    ('1.sex#age', '1.sex', 'L1_wage')
    """
    pieces = []
    for piece in text.strip().split("#"):
        one = re.sub(r"\A(\d+)b?n?\.", r"\1.", piece.strip())
        one = one.removeprefix("c.").removeprefix("o.")
        shifted = _SHIFTED.match(one)
        if shifted:
            one = _column_of(shifted[1].upper(), shifted[2])
        pieces.append(one)
    return "#".join(sorted(pieces))


#: What the sample of the last model is called among the hidden variables.
SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FittedModel:
    """A fitted model (confidential); its sample is among the hidden variables, by its key."""

    session: Session
    command: str
    outcome: str
    terms: ModelTerms
    result: SafeResult
    key: str = SAMPLE

    @property
    def shown(self) -> bool:
        """Whether it has coefficients; those of a model that is withheld are not known."""
        return "values" in self.result.evidence

    @property
    def labels(self) -> list[str]:
        """Names of the coefficients, in the order of the covariance."""
        frame = self.result.frame
        if not self.shown or frame is None:
            return []
        terms: list[str] = frame.filter(frame["state"] == "estimated")["term"].to_list()
        return terms

    @property
    def df(self) -> float | None:
        """Degrees of freedom of t; None for normal."""
        return self.result.stored.get("df_r")

    @property
    def sample(self) -> Any:
        """`e(sample)` for the observations as they are now; None if that is not known."""
        kept = hidden_column(self.session.data, self.key)
        return None if kept is None else kept.values

    def fitted(self) -> tuple[FloatArray, npt.NDArray[np.float64]]:
        """Coefficients and covariance; an error if the model is withheld."""
        DoError.when(not self.shown, "the last estimates are withheld", code=301)
        return self.result.evidence["values"], self.result.evidence["covariance"]

    def place(self, label: str) -> int | None:
        """Where a coefficient is; None for base levels and omitted ones."""
        wanted = plain_label(label)
        names = [plain_label(one) for one in self.labels]
        if wanted in names:
            return names.index(wanted)
        known = [] if self.result.frame is None else self.result.frame["term"].to_list()
        if wanted in [plain_label(one) for one in known]:
            return None
        raise DoError(f"{label} not found among the coefficients", code=111)

    def coefficient(self, part: str, label: str) -> float:
        """`_b[label]` or `_se[label]`."""
        values, covariance = self.fitted()
        at = self.place(label)
        if at is None:
            return 0.0
        return float(values[at]) if part == "b" else float(np.sqrt(covariance[at, at]))

    def columns(self) -> npt.NDArray[np.float64]:
        """The columns of the model for all observations; NaN where a variable is missing."""
        self.fitted()
        return np.column_stack([self._column(label) for label in self.labels])

    def _column(self, label: str) -> FloatArray:
        rows = self.session.data.rows
        column = np.ones(rows)
        if label == "_cons":
            return column
        for piece in label.split("#"):
            level, _, name = piece.rpartition(".")
            if name in self.terms.shifted:
                operators, of = self.terms.shifted[name]
                values = SessionNames(self.session, scalar=False).shifted(operators, of)
            else:
                values = self.session.data.named(name).values
            missing = values >= MISSING
            known = np.where(missing, np.nan, values)
            if level and level != "c":
                known = np.where(missing, np.nan, (values == float(level)).astype(np.float64))
            column = column * known
        return column

    def linear(self) -> FloatArray:
        """The linear prediction for all observations; NaN where it cannot be made."""
        values, _ = self.fitted()
        return np.asarray(np.einsum("ij,j->i", self.columns(), values), dtype=np.float64)

    def __repr__(self) -> str:
        return f"<Model {self.command} (confidential)>"
