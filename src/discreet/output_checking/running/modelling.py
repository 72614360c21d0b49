"""A fitted model of a run: coefficients, their covariance, its sample. CONFIDENTIAL.

In: what a safe model gives. Out: `Model`, which later commands ask: `predict`, `test`,
`lincom`, `_b[x]`, `e(sample)`. A model that is withheld has no coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.factors import Terms, plain_label
from discreet.output_checking.running.names import SessionNames
from discreet.output_checking.running.values import MISSING, Floats, Mask

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.safe.results import SafeResult

__all__ = ["SAMPLE", "Model", "keep_sample"]

#: What the sample of the last model is called among the hidden variables.
SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Model:
    """A fitted model (confidential).

    Args:
        session: The session.
        command: The command that fitted it.
        outcome: The dependent variable.
        terms: Its terms.
        result: What the safe model gave.
        labels: Names of the coefficients, in the order of the covariance.
        values: The coefficients.
        covariance: Their covariance.
        df: Degrees of freedom of t; None for normal.
        key: The name of its sample among the hidden variables.
    """

    session: Session
    command: str
    outcome: str
    terms: Terms
    result: SafeResult
    labels: tuple[str, ...]
    values: Floats | None
    covariance: npt.NDArray[np.float64] | None
    df: float | None
    key: str = SAMPLE

    @classmethod
    def of(
        cls,
        session: Session,
        command: str,
        outcome: str,
        terms: Terms,
        result: SafeResult,
        key: str,
    ) -> Model:
        """From the result of a safe model."""
        shown = "values" in result.evidence
        labels: list[str] = []
        if shown and result.frame is not None:
            kept = result.frame.filter(result.frame["state"] == "estimated")
            labels = kept["term"].to_list()
        return cls(
            session=session,
            command=command,
            outcome=outcome,
            terms=terms,
            result=result,
            labels=tuple(labels),
            values=result.evidence["values"] if shown else None,
            covariance=result.evidence["covariance"] if shown else None,
            df=result.stored.get("df_r"),
            key=key,
        )

    @property
    def sample(self) -> Any:
        """`e(sample)` for the observations as they are now; None if that is not known."""
        kept = self.session.data.hidden.get(self.key)
        if kept is None or len(kept.values) != self.session.data.rows:
            return None
        return kept.values

    def fitted(self) -> tuple[Floats, npt.NDArray[np.float64]]:
        """Coefficients and covariance; an error if the model is withheld."""
        if self.values is None or self.covariance is None:
            raise DoError("the last estimates are withheld", code=301)
        return self.values, self.covariance

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

    def _column(self, label: str) -> Floats:
        rows = self.session.data.rows
        found = np.ones(rows)
        if label == "_cons":
            return found
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
            found = found * known
        return found

    def linear(self) -> Floats:
        """The linear prediction for all observations; NaN where it cannot be made."""
        values, _ = self.fitted()
        return np.asarray(np.einsum("ij,j->i", self.columns(), values), dtype=np.float64)

    def __repr__(self) -> str:
        return f"<Model {self.command} (confidential)>"


def keep_sample(session: Session, key: str, rows: Mask) -> None:
    """Keep which observations a model used; it goes with them."""
    session.data.hidden[key] = Variable(rows.astype(np.float64), "byte")
