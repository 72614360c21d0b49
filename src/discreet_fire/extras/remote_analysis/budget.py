"""What researchers may still ask: a ledger in SQLite that survives any interruption.

In: a new file and a budget. Out: charges, each written before its answer is given. An
answer that was given once is given again, without a charge for who had it before. Names that
look the same are the same: another spelling is no new budget.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import OutputCheckError
from discreet_fire.append_only import AppendOnlyForm, transaction
from discreet_fire.extras.remote_analysis.answers import QualityClass, truth_chance
from discreet_fire.persons import look_of

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Budget that a researcher has used of a data set."""

    researcher: str  # who
    data: str  # the data set
    answers: int  # how many answers
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
        query = "SELECT researcher, answer FROM charges WHERE data = ? AND question = ?"
        with self._opened() as connection:
            before = dict(connection.execute(query, (look_of(data), question)).fetchall())
            if look_of(researcher) in before:
                return QualityClass(before[look_of(researcher)])
            self._check(connection, data, researcher, new=not before)
        return None

    def charge(
        self, data: str, researcher: str, question: str, answer: QualityClass
    ) -> QualityClass:
        """Write a charge, and give the answer only when that is on the disk."""
        with self._opened() as connection, transaction(connection):
            query = "SELECT researcher, answer FROM charges WHERE data = ? AND question = ?"
            before = dict(connection.execute(query, (look_of(data), question)).fetchall())
            quality = QualityClass(next(iter(before.values()), answer))
            if look_of(researcher) in before:
                return quality
            self._check(connection, data, researcher, new=not before)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            row = (look_of(researcher), look_of(data), question, str(quality), now)
            into = "INSERT INTO charges (researcher, data, question, answer, at)"
            connection.execute(f"{into} VALUES (?, ?, ?, ?, ?)", row)
        return quality

    def _check(
        self, connection: sqlite3.Connection, data: str, researcher: str, *, new: bool
    ) -> None:
        hint = "what was asked before can be asked again"
        if self._usage(connection, data, researcher).left < 1:
            raise _error("the budget of the researcher is used up", "budget", researcher, hint)
        query = "SELECT count(DISTINCT question) FROM charges WHERE data = ?"
        (different,) = connection.execute(query, (look_of(data),)).fetchone()
        if new and self.budget.affordable(self.budget.everyone) - int(different) < 1:
            raise _error("the budget of the data set is used up", "budget", data, hint)

    def _usage(self, connection: sqlite3.Connection, data: str, researcher: str) -> Usage:
        query = "SELECT count(*) FROM charges WHERE data = ? AND researcher = ?"
        (answers,) = connection.execute(query, (look_of(data), look_of(researcher))).fetchone()
        left = self.budget.most_answers - answers
        return Usage(researcher=researcher, data=data, answers=answers, left=left)

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
