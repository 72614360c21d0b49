"""Around one command: what it was given, what it may have told, what its failure may say.

In: a session before and after a command. Out: its trace brought up to date. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from discreet_fire.catalogue import CommandFacts
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.disclosure.copies import (
    copied_names,
    note_derived,
    note_few_sources,
)
from discreet_fire.runners.builtin.disclosure.units import cases, few
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.builtin.state.trace import ORDER, ROWS, holds_name
from discreet_fire.statistics import CheckVerdict

#: So many values tell which one is the commonest, if all but a few have it.
_FIRST = 2_000
#: Return codes of files that are not there or lie elsewhere.
_OF_FILES = (601, 603)


@dataclass(frozen=True, repr=False)
class StateBeforeCommand:
    """What a command finds."""

    session: Session
    data: DataSet
    variables: dict[str, DataVariable]
    rows: int
    labels: dict[str, dict[float, str]]

    @classmethod
    def of(cls, session: Session, facts: CommandFacts, call: CommandCall) -> StateBeforeCommand:
        """Look at the data before a command; what it rests on is noted."""
        data, trace = session.data, session.trace
        copied = copied_names(data)
        if copied:
            trace.copied = copied if facts.reads.estimates else copied & _words(data, call.text)
        if call.by:
            trace.touch(not trace.variables.isdisjoint(call.by))
        reads = facts.reads
        trace.touch(reads.estimates and "e()" in trace.whole)
        trace.touch(reads.dictionary and "shape" in trace.whole)
        if reads.counts:
            trace.touch(not trace.variables.isdisjoint(_words(data, call.text)))
        named = bool(call.head) and call.condition is None and call.rows is None
        if reads.failure != "words" and not (reads.failure == "names" and named):
            trace.doubt()
        labels = {name: dict(texts) for name, texts in data.value_labels.items()}
        return cls(session, data, dict(data.variables), data.rows, labels)

    def after(self, facts: CommandFacts, call: CommandCall, source: str) -> None:
        """Note what the command changed, and what of it rests on single values."""
        session, data = self.session, self.session.data
        trace, changes = session.trace, facts.changes
        changed = {
            name for name, one in data.variables.items() if one is not self.variables.get(name)
        }
        note_order(session)
        trace.own &= data.variables.keys()
        if not changes.untouched:
            trace.own -= changed
        if changes.values != "stay" and changes.records == "none":
            note_derived(session, changed, self.variables)
        note_few_sources(session)
        if changes.values != "stay":
            trace.made |= changed
            trace.variables |= {name for name in changed - trace.own if self._alike(name)}
            trace.touch(trace.few and changes.few != "itself")
        if changes.types != "kept":
            written = changes.types == "program"
            trace.sized |= {name for name in changed if self._sized(name, written=written)}
        new = data.variables.keys() - self.variables.keys()
        if changes.names != "program":
            self._named(new, source)
        if not trace.touched:
            return
        trace.variables |= changed
        self._put_together(facts, call, source)
        chosen = call.condition is not None or call.rows is not None or not call.head
        if changes.records == "all" or (changes.records == "chosen" and chosen):
            trace.variables |= {*data.variables, ROWS}
        note_doubtful_names(session, new, source)
        trace.labels |= {
            name for name, texts in data.value_labels.items() if texts != self.labels.get(name)
        }

    def _put_together(self, facts: CommandFacts, call: CommandCall, source: str) -> None:
        """A macro or scalar whose name was made of values: which one it is would tell them."""
        kind = facts.changes.target
        name = re.search(r"\w+", call.text)
        if kind != "none" and name is not None and not holds_name(source, {name[0]}):
            self.session.trace.whole.add(kind)

    def _sized(self, name: str, *, written: bool) -> bool:
        """Whether values decided about the storage type of a variable."""
        one, old = self.session.data.variables[name], self.variables.get(name)
        if old is not None:
            return one.kind != old.kind
        return one.is_text or not written

    def _alike(self, name: str) -> bool:
        """Whether all but a few have the same value, or all the same answer of yes and no."""
        values = self.session.data.variables[name].values
        if not len(values):
            return False
        same = np.asarray(values == _usual(values[:_FIRST]), dtype=np.bool_)
        if same.all():
            first = values[0]
            return not isinstance(first, str) and (first in (0.0, 1.0) or first >= MISSING)
        return few(self.session, ~same)

    def _named(self, new: Iterable[str], source: str) -> None:
        """New names that are there, or are called so, because of values that few have."""
        session, data = self.session, self.session.data
        few_have = set()
        for name in new:
            one = data.variables[name]
            held = one.values != "" if one.is_text else (one.values < MISSING) & (one.values != 0)
            if cases(session, held) < session.limits.minimum:
                few_have.add(name)
        if few_have:
            session.trace.whole.add("shape")
            note_doubtful_names(session, few_have, source)


def note_order(session: Session) -> None:
    """Note whether the records are sorted by values that may not be shown.

    They are no more once they are sorted by others that tell each record from the rest.
    """
    data, held = session.data, session.trace.variables
    if not held.isdisjoint(data.sorted_by):
        held.add(ORDER)
    elif ORDER in held and data.sorted_by and len(data.starts_of(data.sorted_by)) > data.rows:
        held.discard(ORDER)


def _usual(values: Any) -> Any:
    """The commonest of some values."""
    seen, count = np.unique(values.astype(str) if values.dtype == object else values,
                            return_counts=True)  # fmt: skip
    return seen[int(np.argmax(count))]


def _words(data: DataSet, text: str) -> set[str]:
    """The variables that a text names; all of them if it names none."""
    matching: set[str] = set()
    for word in re.findall(r"[\w*?~\u00a1-\uffff]+", text):
        if any(sign in word for sign in "*?~"):
            matching |= {name for name in data.variables if fnmatchcase(name, word)}
        elif word == "_all":
            matching |= data.variables.keys()
        else:
            matching |= {name for name in data.variables if name.startswith(word)}
    return matching or set(data.variables)


def redacted_error(
    error: DoError | UnsupportedError, session: Session, line: int
) -> DoError | UnsupportedError:
    """The error with its line, without words of the program that may hold values of the data.

    Where such a value decided that the run stops here, not even the line may be told.
    """
    if error.line is not None:
        return error
    trace = session.trace
    doubted = not trace.whole.isdisjoint(("shape", "scalars")) or trace.rests(())
    error.redacted |= doubted and getattr(error, "rc", 0) not in _OF_FILES
    if error.redacted:
        placed = error.at(line)
        placed.redacted = True
        return placed
    if not (trace.touched or holds_name(str(error), trace.names)):
        return error.at(line)
    hidden: DoError | UnsupportedError
    if isinstance(error, DoError):
        message = "a command failed whose text rests on values of the data"
        hidden = DoError(message, code=error.rc, line=line)
    else:
        hidden = UnsupportedError("a command whose text rests on values of the data", line=line)
    hidden.redacted = True
    return hidden


def note_doubtful_names(session: Session, names: Iterable[str], source: str) -> None:
    """Remember new names that do not stand in the program: they may hold values of the data."""
    doubtful = {name for name in names if not holds_name(source, {name})}
    if doubtful:
        session.trace.names |= doubtful
        session.trace.whole.add("shape")
        reason = "a name was made of values of the data; it is not shown"
        session.flag("names", "names", CheckVerdict.fail, reason, shown=None)


def echoed(source: str) -> str:
    """A command as it stands in a log."""
    first, *more = source.splitlines() or [""]
    return "\n".join([f". {first.strip()}", *(f"> {line}" for line in more)])
