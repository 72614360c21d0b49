"""How far a protected result lies from the original one, and noisy answers that say little of it.

In: two results of the same safe command, a secret, what the question was. Out: a true class
(CONFIDENTIAL); the same noisy answer to the same question for ever, and bounds of what answers
tell. The chance of any answer changes at most by the factor e^epsilon, whatever the data are. What
researchers may still ask is in a ledger in SQLite that survives any interruption: each charge is
written before its answer is given, and an answer that was given once is given again, without a
charge for who had it before. Names that look the same are the same: another spelling is no new
budget.

Estimates with an interval: 1 less the mean share by which both intervals overlap. Means beside a
standard deviation: their difference in units of it. Correlations and percentages: their difference.
Other numbers: their relative difference. All but overlaps are taken five times, so that one scale
of thresholds fits: 0.1 of it is 2 % of a number.
"""

from __future__ import annotations

import hmac
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import OutputCheckError
from discreet.microdata import Secret
from discreet_fire.append_only import AppendOnlyForm, transaction
from discreet_fire.persons import look_of
from discreet_fire.statistics import SafeResult

_WHOLE = 1 << 53


class QualityClass(StrEnum):
    """Coarse distance of a protected result from the original one."""

    very_close = "very close"
    close = "close"
    fair = "fair"
    far = "far"


_CLASSES = tuple(QualityClass)


class AnswerKey:
    """Key that makes answers unpredictable and repeatable (SECRET).

    >>> key = AnswerKey(Secret.of("a long and secret sentence"))
    >>> first = key.answer(QualityClass.close, "a question", 1.0)
    >>> first is key.answer(QualityClass.close, "a question", 1.0), key
    (True, <AnswerKey>)
    """

    __slots__ = ("_key",)

    def __init__(self, secret: Secret) -> None:
        self._key = secret.derive("discreet: answers of remote analysis")

    def stretch(self, question: str) -> float:
        """A factor on thresholds, from the root of 1/2 to the root of 2 (confidential)."""
        return float(2.0 ** (self._uniform("stretch", question) - 0.5))

    def answer(self, true: QualityClass, question: str, epsilon: float) -> QualityClass:
        """The true class with some chance, otherwise one of the others at random."""
        if self._uniform("truth", question) < truth_chance(epsilon):
            return true
        others = [one for one in _CLASSES if one is not true]
        return others[int(self._uniform("other", question) * len(others))]

    def known_by(self, digest: str) -> str:
        """A keyed digest of records, by which they are known again."""
        return hmac.digest(self._key, f"known by\0{digest}".encode(), "sha256").hex()

    def _uniform(self, purpose: str, question: str) -> float:
        text = f"{purpose}\0{question}".encode()
        drawn = hmac.digest(self._key, text, "sha256")
        return (int.from_bytes(drawn[:8], "big") >> 11) / _WHOLE

    def __repr__(self) -> str:
        return "<AnswerKey>"

    def __reduce__(self) -> str:
        raise TypeError("the key of answers is secret and does not leave the process")


def truth_chance(epsilon: float) -> float:
    """Probability that an answer is the true class (randomised response of four classes).

    >>> round(truth_chance(1.0), 3)
    0.475
    """
    if not (0 < epsilon <= 20):
        raise OutputCheckError("epsilon is a number above 0 and at most 20", code="epsilon")
    return math.exp(epsilon) / (math.exp(epsilon) + len(_CLASSES) - 1)


#: Distances up to these are very close, close and fair; beyond the last they are far.
THRESHOLDS = (0.1, 0.25, 0.5)

_FACTOR = 5.0
_SIGNIFICANT = 0.05
#: Numbers that follow from others, and descriptions of rows.
_UNUSED = frozenset({"statistic", "p", "std_err", "low", "high", "cumulated", "percentile"})
_DESCRIBING = frozenset({"state"})
_ESTIMATES = ("coefficient", "centile")
_FAR = math.inf

_Row = Mapping[str, Any]


def compare(original: SafeResult, protected: SafeResult, *, stretch: float = 1.0) -> QualityClass:
    """The true class of a protected result (confidential).

    The number that lies farthest off decides. What the original withholds is far.

    Args:
        original: The result of the original records.
        protected: The result of the protected records.
        stretch: A factor on all thresholds.

    >>> one = SafeResult(command="count", shown="", stored={"N": 1000})
    >>> compare(one, SafeResult(command="count", shown="", stored={"N": 1004}))
    <QualityClass.very_close: 'very close'>
    """
    before, after, distance = _by_labels(original), _by_labels(protected), _FAR
    alike = (original.frame is None) == (protected.frame is None)
    if alike and before is not None and after is not None and before.keys() == after.keys():
        distance = max((_distance(before[key], after[key]) for key in after), default=0.0)
    for threshold, quality in zip(THRESHOLDS, QualityClass, strict=False):
        if distance <= threshold * stretch:
            return quality
    return QualityClass.far


def has_numbers(result: SafeResult) -> bool:
    """Whether anything is shown that could be compared."""
    return any(_compared(name, value) for row in _rows(result) for name, value in row.items())


def _compared(name: str, value: Any) -> bool:
    shown = value is not None and not isinstance(value, str) and not math.isnan(value)
    return shown and name not in _UNUSED


def _rows(result: SafeResult) -> Sequence[_Row]:
    return [result.stored] if result.frame is None else result.frame.to_dicts()


def _by_labels(result: SafeResult) -> dict[tuple[Any, ...], _Row] | None:
    """Rows by what they are about; None if that is not unique."""
    by_labels = {
        tuple(
            (name, value)
            for name, value in row.items()
            if (isinstance(value, str) and name not in _DESCRIBING) or name == "percentile"
        ): row
        for row in _rows(result)
    }
    return by_labels if len(by_labels) == len(_rows(result)) else None


def _distance(before: _Row, after: _Row) -> float:
    if before.get("state") != after.get("state"):
        return _FAR
    largest = 0.0
    for name, new in after.items():
        if not _compared(name, new):
            continue  # it is not shown to the researcher, or follows from others
        old = before.get(name)
        if old is None or not math.isfinite(old) or not math.isfinite(new):
            return _FAR
        unit = {"correlation": 1, "rho": 1, "percent": 100}.get(name)
        if name == "mean" and before.get("sd"):
            unit = before["sd"]
        elif name == "sum" and before.get("sd") and before.get("sum_w"):
            unit = before["sd"] * before["sum_w"]
        if name in _ESTIMATES:
            one = _estimate(float(old), float(new), before, after)
        else:
            one = _relative(old, new) if unit is None else float(_FACTOR * abs(new - old) / unit)
        largest = max(largest, one)
    return largest


def _relative(old: float, new: float) -> float:
    return 0.0 if old == new else _FACTOR * abs(new - old) / max(abs(old), abs(new))


def _estimate(old: float, new: float, before: _Row, after: _Row) -> float:
    """By intervals; where the conclusion turns round it is far, where it weakens not close."""
    ends = [row.get(name) for row in (before, after) for name in ("low", "high")]
    if any(end is None or not math.isfinite(end) for end in ends):
        return _relative(old, new)
    low, high, lower, higher = (float(end) for end in ends if end is not None)
    if high <= low or higher <= lower:
        return _relative(old, new)
    shared = min(high, higher) - max(low, lower)
    distance = 1 - (shared / (high - low) + shared / (higher - lower)) / 2
    chances = [row.get("p") for row in (before, after)]
    sure = [chance is not None and chance < _SIGNIFICANT for chance in chances]
    if any(sure) and (old > 0) != (new > 0):
        return _FAR
    if sure[0] != sure[1]:
        distance = max(distance, (THRESHOLDS[1] + THRESHOLDS[2]) / 2)
    return distance


_TABLES = {
    "budget": "answer REAL NOT NULL, each REAL NOT NULL, everyone REAL NOT NULL",
    "charges": "id INTEGER PRIMARY KEY, researcher TEXT NOT NULL, data TEXT NOT NULL, "
    "question TEXT NOT NULL, answer TEXT NOT NULL, at TEXT NOT NULL, "
    "UNIQUE (researcher, data, question)",
    "known": "digest TEXT PRIMARY KEY, data TEXT NOT NULL",
}
_FORM = AppendOnlyForm(
    application=0x44695162,  # the letters "DiQb"
    version=2,
    tables=_TABLES,
    refusal="the ledger is never changed",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Budget of answers in epsilon. Public.

    >>> Budget(answer=1.0, each=10.0, everyone=50.0).most_answers
    10
    """

    answer: float = 1.0  # by one answer
    each: float = 10.0  # by all answers that one researcher has on a data set
    everyone: float = 50.0  # by all answers on a data set together

    def __post_init__(self) -> None:
        truth_chance(self.answer)
        if not self.answer <= self.each <= self.everyone < float("inf"):
            message = "one answer costs no more than a researcher has, who has no more than all"
            raise OutputCheckError(message, code="budget")

    @property
    def most_answers(self) -> int:
        """Largest number of answers for a researcher."""
        return self.affordable(self.each)

    def affordable(self, total: float) -> int:
        """Number of answers that a total allows; a last one that fits exactly counts."""
        return int(total / self.answer * (1 + 1e-12))


class Usage(NamedTuple):
    """Budget that a researcher has used of a data set."""

    answers: int  # how many answers there were
    left: int  # how many more there can be


class BudgetLedger:
    """The ledger of charges. It holds digests of questions, and answers as they were given."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            hint = "make one with: discreet fire quality init"
            raise _error("ledger not found", "budget-missing", self.path, hint)
        with self._opened() as connection:
            (row,) = connection.execute("SELECT answer, each, everyone FROM budget").fetchall()
        self.budget = Budget(answer=row[0], each=row[1], everyone=row[2])

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget) -> BudgetLedger:
        """Make a new ledger; its budget stays as it is.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "budget.sqlite"
        >>> BudgetLedger.create(file, Budget()).usage("panel", "Weber").left
        10
        """
        place = Path(path)
        with _translated(place):
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            row = (float(budget.answer), float(budget.each), float(budget.everyone))
            _FORM.lay_out(place, [("INSERT INTO budget VALUES (?, ?, ?)", row)])
        return cls(place)

    def usage(self, data: str, researcher: str) -> Usage:
        """Used and remaining budget of a researcher."""
        with self._opened() as connection:
            return self._usage(connection, data, researcher)

    def bind(self, data: str, digest: str) -> None:
        """Keep under which name records are known; under another one they have no new budget."""
        name = look_of(data)
        with self._opened() as connection, transaction(connection):
            connection.execute("INSERT OR IGNORE INTO known VALUES (?, ?)", (digest, name))
            query = "SELECT data FROM known WHERE digest = ?"
            (before,) = connection.execute(query, (digest,)).fetchone()
        if before != name:
            hint = "use the name that they had; versions of a data set share it"
            raise _error("these records are known by another name", "data-name", data, hint)

    def known(self, data: str, researcher: str, question: str) -> QualityClass | None:
        """The answer, if the researcher has it already; a question without budget is refused."""
        with self._opened() as connection:
            return self._known(connection, data, researcher, question)[0]

    def charge(
        self, data: str, researcher: str, question: str, answer: QualityClass
    ) -> QualityClass:
        """Write a charge, and give the answer only when that is on the disk."""
        with self._opened() as connection, transaction(connection):
            own, others = self._known(connection, data, researcher, question)
            if own is not None:
                return own
            quality = answer if others is None else others
            now = datetime.now(UTC).isoformat(timespec="seconds")
            row = (look_of(researcher), look_of(data), question, str(quality), now)
            into = "INSERT INTO charges (researcher, data, question, answer, at)"
            connection.execute(f"{into} VALUES (?, ?, ?, ?, ?)", row)
        return quality

    def _known(
        self, connection: sqlite3.Connection, data: str, researcher: str, question: str
    ) -> tuple[QualityClass | None, QualityClass | None]:
        """The answer that the researcher has, and that others have; refused without budget."""
        query = "SELECT researcher, answer FROM charges WHERE data = ? AND question = ?"
        before = dict(connection.execute(query, (look_of(data), question)).fetchall())
        others = QualityClass(next(iter(before.values()))) if before else None
        if look_of(researcher) in before:
            return QualityClass(before[look_of(researcher)]), others
        hint = "what was asked before can be asked again"
        if self._usage(connection, data, researcher).left < 1:
            raise _error("the budget of the researcher is used up", "budget", researcher, hint)
        query = "SELECT count(DISTINCT question) FROM charges WHERE data = ?"
        (different,) = connection.execute(query, (look_of(data),)).fetchone()
        if others is None and self.budget.affordable(self.budget.everyone) - int(different) < 1:
            raise _error("the budget of the data set is used up", "budget", data, hint)
        return None, others

    def _usage(self, connection: sqlite3.Connection, data: str, researcher: str) -> Usage:
        query = "SELECT count(*) FROM charges WHERE data = ? AND researcher = ?"
        (answers,) = connection.execute(query, (look_of(data), look_of(researcher))).fetchone()
        left = self.budget.most_answers - answers
        return Usage(answers, left)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with _translated(self.path):
            connection, form = _FORM.connect(self.path)
            with closing(connection):
                if form != (_FORM.application, _FORM.version):
                    raise _error("not a ledger of answers", "budget-damaged", self.path)
                yield connection


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise _error("there is already a file here", "budget-exists", place) from None
    except OSError as error:
        message = f"the ledger cannot be read or written ({error.strerror})"
        raise _error(message, "budget-file", place, "check the permissions") from None
    except (sqlite3.Error, ValueError) as error:
        if "locked" in str(error) or "busy" in str(error):
            hint = "try again; nothing was charged"
            raise _error("others are writing to the ledger", "budget-busy", place, hint) from None
        hint = "nothing was answered; look at the disk, or restore the last backup"
        message = "the ledger cannot be used"
        raise _error(message, "budget-damaged", place, hint) from None


def _error(message: str, code: str, where: object, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code=code, where=str(where), hint=hint)
