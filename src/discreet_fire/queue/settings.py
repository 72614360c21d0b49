"""How a queue works: who decides, how many must agree, what is drawn for control.

In: an officer's choice when the queue is made. Out: `QueueSettings`, kept in the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from discreet_fire.ledger import MOST
from discreet_fire.persons import plain_name, same_person
from discreet_fire.queue.database import queue_error
from discreet_fire.statistics import SafeLimits


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """What a queue goes by.

    >>> QueueSettings(persons=("Anna", "Ben"), approvals=2, clean_approvals=1).rate
    0.1
    """

    persons: tuple[str, ...]  # who may decide
    approvals: int = 1  # how many different persons must approve before release: 2 for four eyes
    clean_approvals: int = 1  # the same for outputs without anything to look at that were not drawn
    rate: float = 0.1  # share of clean outputs that are drawn for control by hand
    #: Fewest units behind a figure, and by which two of them may differ
    minimum: int = SafeLimits().minimum

    def __post_init__(self) -> None:
        object.__setattr__(self, "persons", tuple(plain_name(name) for name in self.persons))
        if not self.persons:
            raise _wrong("no reviewers given", "add them with --person")
        for at, name in enumerate(self.persons):
            if any(same_person(name, other) for other in self.persons[:at]):
                raise _wrong("a person is given twice", "", name)
        if not 1 <= self.approvals <= 2:
            raise _wrong("one or two persons must approve", "", "approvals")
        if not 0 <= self.clean_approvals <= self.approvals:
            raise _wrong(
                "clean outputs cannot need more approvals than others", "", "clean approvals"
            )
        if not 0 <= self.rate <= 1:
            raise _wrong("the drawn share must be between 0 and 1", "", "rate")
        if not 2 <= self.minimum <= MOST:
            raise _wrong(f"the minimum must be between 2 and {MOST}", "", "minimum")
        if self.approvals > len(self.persons):
            raise _wrong("four eyes need two persons", "add them with --person")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "persons": list(self.persons)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> QueueSettings:
        """From plain values."""
        return cls(**{**plain, "persons": tuple(plain["persons"])})

    def person(self, name: str) -> str:
        """The person of this name, as written in the settings."""
        person = plain_name(name)
        if person not in self.persons:
            hint = "known: " + ", ".join(self.persons)
            raise queue_error("unknown reviewer", "unknown-person", person, hint)
        return person


def _wrong(message: str, hint: str, where: str = "") -> Exception:
    return queue_error(message, "queue-settings", where, hint)
