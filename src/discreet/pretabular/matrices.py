"""Transition matrices of post-randomisation, as settings name them.

In: shares or rows of probabilities. Out: the matrix for the codes of some records. Numbers are
loaded with the first matrix: commands know their options without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import MicrodataError

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray

_NEAR = 1e-9


@dataclass(frozen=True, repr=False)
class Invariant:
    """A transition matrix that keeps expected frequencies, made from those of the records.

    Args:
        stay: Share that stays in the first of its two steps, for all codes or for each.
        alpha: Weight of the invariant matrix; the rest is no change at all.
        band: A code changes into codes at most so many places away, in their order.
        blocks: Sets of codes; a code changes within its own only.

    >>> import numpy as np
    >>> Invariant(stay=0.8).matrix(np.array([90, 10]), ["a", "b"]).round(5).tolist()
    [[0.91684, 0.08316], [0.74844, 0.25156]]
    """

    #: Settings name one by its values
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"strict": False, "extra": "forbid"}

    stay: float | Mapping[str, float] = 0.8
    alpha: float = 1.0
    band: int | None = None
    blocks: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        shares = [
            self.alpha,
            *(self.stay.values() if isinstance(self.stay, Mapping) else [self.stay]),
        ]
        if not all(0 <= share <= 1 for share in shares):
            raise MicrodataError("shares must be between 0 and 1", code="pram", where="stay, alpha")
        if self.band is not None and self.band < 1:
            raise MicrodataError("a band must be at least 1", code="pram", where="band")

    def __repr__(self) -> str:
        return "<Invariant>"  # parameters stay out of logs

    def first_step(self, codes: Sequence[str]) -> FloatArray:
        """The matrix P of the first step."""
        import numpy as np

        size = len(codes)
        place = np.arange(size)
        near = np.ones((size, size), dtype=bool)
        if self.band is not None:
            near = np.abs(place[:, None] - place) <= self.band
        if self.blocks:
            block = {str(code): at for at, codes_in in enumerate(self.blocks) for code in codes_in}
            of = np.array([block.get(code, -1 - at) for at, code in enumerate(codes)])
            near &= of[:, None] == of
        others = near.sum(1) - 1
        if isinstance(self.stay, Mapping):
            stay = np.array([self.stay.get(code, np.nan) for code in codes])
            if np.isnan(stay).any():
                raise MicrodataError("stay is missing for some codes", code="pram", where="stay")
        else:
            stay = np.full(size, float(self.stay))
        stay[others == 0] = 1
        matrix: FloatArray = near * ((1 - stay) / np.maximum(others, 1))[:, None]
        matrix[place, place] = stay
        return matrix

    def matrix(self, counts: IntArray, codes: Sequence[str]) -> FloatArray:
        """R* = alpha P Q + (1 - alpha) I for these frequencies."""
        import numpy as np

        first = self.first_step(codes)
        whole: FloatArray = self.alpha * (first @ second_step(first, counts))
        whole[np.diag_indices(len(codes))] += 1 - self.alpha
        return whole


@dataclass(frozen=True, repr=False)
class PramMatrix:
    """A transition matrix that is given: a row for each old code, a column for each new one.

    Args:
        codes: The codes; of several variables together, with "/" between.
        rows: Probabilities. A row's sum is 1, up to rounding in its last digits.
        normalise: Whether rows are divided by their sum.

    >>> PramMatrix(["a", "b"], [[0.9, 0.1], [0.2, 0.8]]).matrix(None, ["a", "b"]).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"strict": False, "extra": "forbid"}

    codes: Sequence[str]
    rows: Sequence[Sequence[float]]
    normalise: bool = False

    def __post_init__(self) -> None:
        import numpy as np

        rows = np.array([*self.rows], dtype=np.float64)
        size = len(self.codes)
        wrong = ""
        if rows.shape != (size, size) or len({str(code) for code in self.codes}) != size:
            wrong = "a matrix needs one row and one column per code, without repetition"
        elif not np.isfinite(rows).all() or (rows < 0).any() or (rows.sum(1) <= 0).any():
            wrong = "probabilities must not be negative or all zero"
        elif not self.normalise and (np.abs(rows.sum(1) - 1) > _NEAR).any():
            wrong = "some rows do not sum to 1"
        if wrong:
            hint = "add normalise=True to divide rows by their sums" if wrong.endswith("1") else ""
            raise MicrodataError(wrong, code="pram", where="matrix", hint=hint)

    def __repr__(self) -> str:
        return f"<PramMatrix of {len(self.codes):,} codes>"

    def matrix(self, counts: IntArray | None, codes: Sequence[str]) -> FloatArray:
        """The matrix for the codes that occur."""
        import numpy as np

        del counts
        rows = np.array(self.rows, dtype=np.float64)
        rows /= rows.sum(1, keepdims=True)
        known = {str(code): at for at, code in enumerate(self.codes)}
        if any(code not in known for code in codes):
            raise MicrodataError("codes of the records lack a row", code="pram", where="matrix")
        at = np.array([known[code] for code in codes], dtype=np.int64)
        chosen: FloatArray = rows[np.ix_(at, at)]
        if (np.abs(chosen.sum(1) - 1) > _NEAR).any():
            raise MicrodataError(
                "the matrix leads to codes that do not occur", code="pram", where="matrix",
                hint="remove them from the matrix",
            )  # fmt: skip
        return chosen


def second_step(first: FloatArray, counts: IntArray) -> FloatArray:
    """Q of R = P Q: the way back from a new code to an old one, by Bayes; R keeps `counts`."""
    import numpy as np

    joint = first * np.asarray(counts, dtype=np.float64)[:, None]
    reached = joint.sum(0)
    back: FloatArray = joint.T / np.where(reached > 0, reached, 1.0)[:, None]
    never = np.flatnonzero(reached == 0)
    back[never, never] = 1
    return back
