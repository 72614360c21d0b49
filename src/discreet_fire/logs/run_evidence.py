"""Evidence that a log comes from a run of our own, in which each line was checked as it was made.

In: the log and the limits of a run, and the office's key. Out: `RunEvidence`, which holds for this
log alone, byte by byte. Between two programs it is kept as a mark signed with the key, which a
researcher does not have: how a log looks is no evidence. An office that names no key has one for
each account, in a file that only this account can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.statistics import SafeLimits

#: The part of a report that holds a mark.
MARK = "mark"
_SEAL = "seal"
_PURPOSE = "discreet: logs of checked runs"
_LARGEST = 50_000_000


def signing_key(file: Path | None) -> Secret | None:
    """The key that logs of runs are signed with."""
    if file is not None:
        return Secret.from_file(file)
    state = os.environ.get("XDG_STATE_HOME")
    try:
        folder = Path(state) if state else Path.home() / ".local" / "state"
        place = folder / "discreet" / "logs.key"
        if not place.exists():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            Secret.generate().write(place)
        return Secret.from_file(place)
    except (OSError, RuntimeError, DiscreetError):
        return None


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """A log was checked line by line as it was made, and by which limits."""

    sha256: str  # digest of the log
    minimum: int  # fewest cases behind a number
    percentile_cases: int  # fewest cases beyond a percentile
    residual_df: int  # fewest residual degrees of freedom of a model

    @classmethod
    def of(cls, log: str, limits: SafeLimits, *, checked: bool) -> RunEvidence | None:
        """The evidence of a run; None if not all that its log shows was checked.

        >>> RunEvidence.of("", SafeLimits(), checked=False) is None
        True
        """
        names = ("minimum", "percentile_cases", "residual_df")
        values = {name: getattr(limits, name) for name in names}
        return cls(sha256=_digest(log), **values) if checked else None

    def covers(self, log: str, rules: CleaningRules) -> bool:
        """Whether this log was checked by limits no looser than those of some rules.

        >>> evidence = RunEvidence.of("text", SafeLimits(), checked=True)
        >>> rules = CleaningRules.default()
        >>> evidence.covers("text", rules), evidence.covers("other text", rules)
        (True, False)
        """
        return (
            self.sha256 == _digest(log)
            and self.minimum >= rules.minimum
            and self.percentile_cases >= rules.percentile_cases
            and self.residual_df >= rules.residual_df
            # runs show skewness and kurtosis by what they tell, not by a number of cases
            and rules.moment_cases <= CleaningRules.default().moment_cases
        )

    def for_copy(self, cleaned: str) -> RunEvidence:
        """The evidence for what was left of the log when more was taken out."""
        return replace(self, sha256=_digest(cleaned))

    def mark(self, key: Secret) -> dict[str, Any]:
        """The mark to be kept beside the log, sealed."""
        text = json.dumps(asdict(self), sort_keys=True)
        seal = hmac.new(key.derive(_PURPOSE), text.encode(), hashlib.sha256).hexdigest()
        return {**asdict(self), _SEAL: seal}

    @classmethod
    def beside(cls, log: Path, key: Secret) -> RunEvidence | None:
        """The evidence in a report beside a log; None if there is none sealed with the key."""
        for report in (log.with_suffix(".run.json"), log.with_name(f"{log.name}.json")):
            try:
                large = report.stat().st_size > _LARGEST
                document = None if large else json.loads(report.read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                continue
            mark = document.get(MARK) if isinstance(document, dict) else None
            names = cls.__dataclass_fields__
            if not isinstance(mark, dict) or mark.keys() != {*names, _SEAL}:
                continue
            if any(type(mark[one]) is not (str if one == "sha256" else int) for one in names):
                continue
            evidence = cls(**{name: mark[name] for name in names})
            own = evidence.mark(key)[_SEAL].encode()
            seal = mark[_SEAL] if isinstance(mark[_SEAL], str) else ""
            if hmac.compare_digest(own, seal.encode("utf-8", "replace")):
                return evidence
        return None


def _digest(log: str) -> str:
    return hashlib.sha256(log.encode("utf-8", "surrogatepass")).hexdigest()
