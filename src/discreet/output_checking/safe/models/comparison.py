"""Models whose samples differ by few cases: two tables that can be solved for one person.

In: results of models over the same records. Out: a check. What is kept of a sample is
CONFIDENTIAL and leaves the process with nobody; it does not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.models.sample import Sample
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

__all__ = ["SampleTrace", "compare", "trace_of"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SampleTrace:
    """What is kept of a sample. CONFIDENTIAL.

    Args:
        traces: A digest of the entity of each row, or of all its values.
        traced: The columns that these are made of.
    """

    traces: npt.NDArray[np.uint64]
    traced: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same for the same rows in any order."""
        total = int(np.add.reduce(self.traces, dtype=np.uint64))
        mixed = int(np.bitwise_xor.reduce(self.traces))
        return f"{len(self.traces):x}-{total:016x}-{mixed:016x}"

    def apart(self, other: SampleTrace) -> int:
        """How many cases only one of the two has, at least."""
        if self.traced != other.traced:
            return abs(len(self.traces) - len(other.traces))
        known = np.concatenate([self.traces, other.traces])
        sign = np.repeat([1, -1], [len(self.traces), len(other.traces)])
        names, places = np.unique(known, return_inverse=True)
        counts = np.bincount(places, sign, minlength=len(names))
        return int(np.count_nonzero(counts))

    def __repr__(self) -> str:
        return "<SampleTrace: confidential>"


def trace_of(sample: Sample) -> SampleTrace:
    """What is kept of a sample."""
    return SampleTrace(traces=sample.traces, traced=sample.traced)


def compare(trace: SampleTrace, earlier: Sequence[SafeResult], limits: SafeLimits) -> Check:
    """Whether a sample differs from that of an earlier result by few cases.

    With an entity column, or the same variables, cases are compared one by one; else numbers
    of observations are.

    Args:
        trace: The sample.
        earlier: Results of models.
        limits: The rules.
    """
    traces = [result.evidence["sample"] for result in earlier if "sample" in result.evidence]
    close = any(0 < trace.apart(other) < limits.minimum for other in traces)
    return Check(
        rule="differencing",
        verdict=Verdict.review if close else Verdict.passed,
        reason="the sample differs from that of an earlier model by few cases"
        if close
        else "holds",
    )
