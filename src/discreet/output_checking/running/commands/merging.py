"""`merge`, `append`, `joinby` and `cross`: data of a second file.

In: calls. Out: the session's data with those of the file. In the table that `merge` prints,
numbers of cases that are too small are withheld, and a second one so that the total does not
give the first away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.combining import (
    combined,
    keys_of,
    missing_values,
    wider,
)
from discreet.output_checking.running.commands.files import file_name, stored_data
from discreet.output_checking.running.commands.rows import copied
from discreet.output_checking.running.dataset import DataSet, Variable, check_room
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.failing import failure, repeated
from discreet.output_checking.running.isolating import RECORD, few_in, owners
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import Affected, affected, count_text
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_KINDS = ("1:1", "m:1", "1:m")
_RESULTS = {
    1.0: "Master only (1)",
    2.0: "Using only (2)",
    3.0: "Matched (3)",
    4.0: "Missing updated (4)",
    5.0: "Nonmissing conflict (5)",
}
_WORDS = {
    "1": 1, "masters": 1, "2": 2, "using": 2, "3": 3, "matches": 3, "matched": 3,
    "4": 4, "match_updates": 4, "5": 5, "match_conflicts": 5,
}  # fmt: skip


@command("merge", summary="add variables of a file by key variables",
         options="keepusing() GENerate() noGENerate noREPort keep() assert() UPDATE REPLACE "
                 "force noLabel", idle="noNOTEs sorted")  # fmt: skip
def merge(session: Session, call: Call) -> None:
    """`merge 1:1|m:1|1:m varlist using file [, options]`."""
    kind, _, rest = call.head.partition(" ")
    if kind not in _KINDS or call.using is None:
        raise UnsupportedError("merge other than 1:1, m:1 and 1:m")
    if call.has("replace") and not call.has("update"):
        raise DoError("option replace needs update", code=198)
    name = call.argument("generate") or "_merge"
    if not call.has("nogenerate"):
        session.data.check_new(name.strip())
    kept = stored_data(session, call.using)
    master, using = session.data, kept.data
    rest = rest.strip()
    if rest == "_n":
        if kind != "1:1":
            raise DoError("invalid syntax of merge", code=198)
        session.trace.ordered()
        keys: list[str] = []
        codes = np.arange(master.rows), np.arange(using.rows)
    else:
        keys = master.listed(rest)
        if not keys:
            raise DoError("varlist required", code=100)
        codes = keys_of(master, using, keys)
    _check_unique(session, kind, codes, using)
    names = using.listed(str(call.argument("keepusing"))) if call.has("keepusing") else None
    rows, others = _pairs(*codes)
    result = combined(master, using, (rows, others), keys=keys, names=names,
                      force=call.has("force"), labels=not call.has("nolabel"))  # fmt: skip
    found = np.where(rows < 0, 2.0, np.where(others < 0, 1.0, 3.0))
    if call.has("update"):
        taken = [one for one in (names or using.variables) if one not in keys]
        _update(result, using, taken, (rows, others), found, replace=call.has("replace"))
        # Values that the program made could stand around those of a few.
        own = set(taken) if RECORD not in using.hidden else set(taken) & kept.made
        session.trace.variables |= own
    _assert(session, call, found, result)
    mask = _kept(call, found)
    result.variables[name.strip()] = Variable(found, "byte", "%23.0g", "", "_merge")
    result.value_labels["_merge"] = dict(_RESULTS)
    result.take(mask)
    if call.has("nogenerate"):
        result.drop([name.strip()])
        result.value_labels.pop("_merge", None)
    result.sorted_by = tuple(keys) if not (rows < 0)[mask].any() else ()
    session.data = result
    session.add(kept)
    if not call.has("noreport"):
        _report(session, found[mask], name.strip(), named=not call.has("nogenerate"))


def _check_unique(session: Session, kind: str, codes: tuple[Any, Any], using: DataSet) -> None:
    sides = zip(kind.split(":"), codes, ("master", "using"), (session.data, using), strict=True)
    for side, given, place, data in sides:
        again = repeated(given)
        if side == "1" and again.any():
            what = f"the key variables do not uniquely identify observations in the {place} data"
            raise failure(session, again, what, code=459, data=data)


def _pairs(codes: Any, others: Any) -> tuple[Any, Any]:
    """Rows that go together, sorted by their keys; rows of the file alone come last."""
    order, sought = np.argsort(codes, kind="stable"), np.argsort(others, kind="stable")
    first = np.searchsorted(others[sought], codes[order], side="left")
    end = np.searchsorted(others[sought], codes[order], side="right")
    number = end - first
    repeated = np.maximum(number, 1)
    rows = np.repeat(order, repeated)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(repeated) - repeated, repeated)
    place = np.repeat(first, repeated) + step
    matched = np.repeat(number > 0, repeated)
    safe = np.minimum(place, max(len(sought) - 1, 0))
    found = np.where(matched, sought[safe] if len(sought) else -1, -1)
    alone = sought[~np.isin(others[sought], codes)]
    return (
        np.concatenate([rows, np.full(len(alone), -1)]).astype(np.int64),
        np.concatenate([found, alone]).astype(np.int64),
    )


def _update(
    result: DataSet,
    using: DataSet,
    names: Sequence[str],
    pairs: tuple[Any, Any],
    found: Any,
    *,
    replace: bool,
) -> None:
    """Values of the file where those in memory are missing, or also where they differ."""
    rows, others = pairs
    both = (rows >= 0) & (others >= 0)
    filled, differs = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    for name in names:
        mine, other = result.variables[name], using.variables[name]
        if mine.is_text != other.is_text:
            continue
        new = Variable(other.values[np.maximum(others, 0)], other.kind)
        empty, known = missing_values(mine), ~missing_values(new)
        fill = both & empty & known
        clash = both & ~empty & known & (mine.values != new.values)
        filled |= fill
        differs |= clash
        values = np.where(fill | (clash if replace else False), new.values, mine.values)
        kept = values.astype(object) if mine.is_text else values
        kind = wider(mine.kind, other.kind)
        result.variables[name] = Variable(kept, kind, mine.layout, mine.label, mine.value_label)
    found[filled] = 4.0
    found[differs] = 5.0


def _numbers(text: str) -> set[int]:
    numbers: set[int] = set()
    for word in text.split():
        hits = [given for known, given in _WORDS.items()
                if known == word or (len(word) >= 3 and known.startswith(word))]  # fmt: skip
        if not hits:
            raise DoError("invalid result of merge", code=198)
        # `match` stands for the first of the results that begin so.
        numbers.add(min(hits))
    return numbers


def _kept(call: Call, found: Any) -> Any:
    text = call.argument("keep")
    return np.isin(found, sorted(_numbers(text))) if text else np.ones(len(found), dtype=np.bool_)


def _assert(session: Session, call: Call, found: Any, result: DataSet) -> None:
    text = call.argument("assert")
    others = ~np.isin(found, sorted(_numbers(text))) if text else np.zeros(0, dtype=np.bool_)
    if others.any():
        what = "merge: after merge, not all observations are as asserted"
        raise failure(session, others, what, code=9, data=result)


def _report(session: Session, found: Any, name: str, *, named: bool) -> None:
    """The table of results."""
    counts = {one: int((found == one).sum()) for one in (1, 2, 3, 4, 5)}
    used = [one for one in counts if one <= 3 or counts[one]]
    hidden = [
        one for one in used
        if counts[one] and count_text(session, _whom(session, found == one)) == "."
    ]  # fmt: skip
    others = sorted((one for one in used if counts[one] and one not in hidden), key=counts.get)  # type: ignore[arg-type]
    if len(hidden) == 1 and others:
        hidden.append(others[0])
    text = {one: "." if one in hidden else f"{counts[one]:,}" for one in used}
    alone = "." if {1, 2} & set(hidden) else f"{counts[1] + counts[2]:,}"
    matched = [one for one in used if one >= 3]
    both = "." if set(matched) & set(hidden) else f"{sum(counts[one] for one in matched):,}"
    mark = {one: f"  ({name}=={one})" if named else "" for one in used}
    rule = "    " + "-" * 41
    lines = [
        f"    {'Result':<22}{'Number of obs':>19}",
        rule,
        f"    {'Not matched':<22}{alone:>19}",
        f"        {'from master':<18}{text[1]:>19}{mark[1]}",
        f"        {'from using':<18}{text[2]:>19}{mark[2]}",
        "",
        f"    {'Matched':<22}{both:>19}{mark[3] if matched == [3] else ''}",
    ]
    words = {3: "not updated", 4: "missing updated", 5: "nonmissing conflict"}
    if matched != [3]:
        lines += [f"        {words[one]:<18}{text[one]:>19}{mark[one]}" for one in matched]
    lines.append(rule)
    verdict = Verdict.fail if hidden else Verdict.passed
    reason = "numbers of cases are too small" if hidden else "numbers of cases"
    check = Check(rule="minimum", verdict=verdict, reason=reason)
    session.show(SafeResult(command="merge", shown="\n".join(lines), checks=[check]))


def _whom(session: Session, rows: Any) -> Affected:
    """Whom records are about; each counts for itself where that is not known."""
    known = affected(session, rows)
    unknown = int((owners(session)[rows] < 0).sum())
    return Affected(known.records, known.cases + unknown, known.even)


@command("append", summary="add observations of files",
         options="GENerate() force keep() noLabel", idle="noNOTEs")  # fmt: skip
def append(session: Session, call: Call) -> None:
    """`append using file … [, generate(name) keep(varlist) force]`."""
    if call.using is None or call.head:
        raise DoError("using required", code=100)
    name = (call.argument("generate") or "").strip()
    if name:
        session.data.check_new(name)
    copied(session, "append")
    result = session.data
    origin = [np.zeros(result.rows)]
    for number, word in enumerate(words_of(call.using), 1):
        kept = stored_data(session, f'"{word}"')
        using = kept.data
        rows = np.r_[np.arange(result.rows), np.full(using.rows, -1)]
        others = np.r_[np.full(result.rows, -1), np.arange(using.rows)]
        names = using.listed(str(call.argument("keep"))) if call.has("keep") else None
        result = combined(result, using, (rows, others), names=names,
                          force=call.has("force"), labels=not call.has("nolabel"))  # fmt: skip
        origin.append(np.full(using.rows, float(number)))
        made = session.trace.made | kept.made
        session.add(kept)
        if few_in(session, session.data) or few_in(session, using):
            session.trace.variables |= made  # what the program made could stand around those
    if name:
        result.variables[name] = Variable(np.concatenate(origin), "byte")
    session.data = result


@command("joinby", summary="all pairs of observations with equal keys",
         options="UNMatched() _merge() noLabel")  # fmt: skip
def join_by(session: Session, call: Call) -> None:
    """`joinby varlist using file [, unmatched(none|both|master|using)]`."""
    if call.using is None or not call.head:
        raise DoError("invalid syntax of joinby", code=198)
    kept = stored_data(session, call.using)
    master, using = session.data, kept.data
    keys = master.listed(call.head)
    rows, others = _pairs(*keys_of(master, using, keys))
    wanted = (call.argument("unmatched") or "none").strip()
    if wanted not in ("none", "both", "master", "using"):
        raise DoError("invalid option unmatched()", code=198)
    found = np.where(rows < 0, 2.0, np.where(others < 0, 1.0, 3.0))
    stays = {"none": [3], "both": [1, 2, 3], "master": [1, 3], "using": [2, 3]}[wanted]
    result = combined(master, using, (rows, others), keys=keys, labels=not call.has("nolabel"))
    if wanted != "none":
        name = (call.argument("_merge") or "_merge").strip()
        result.check_new(name)
        result.variables[name] = Variable(found, "byte", "%23.0g", "", "_merge")
        result.value_labels["_merge"] = dict(_RESULTS)
    result.take(np.isin(found, stays))
    copied(session, "joinby")
    session.data = result
    session.add(kept)


@command("cross", summary="every observation with every observation of a file")
def cross(session: Session, call: Call) -> None:
    """`cross using file`."""
    if call.using is None or call.head:
        raise DoError("using required", code=100)
    kept = stored_data(session, f'"{file_name(call.using)}"')
    one, other = session.data.rows, kept.data.rows
    check_room(one * other, len(session.data.variables) + len(kept.data.variables))
    pairs = np.repeat(np.arange(one), other), np.tile(np.arange(other), one)
    copied(session, "cross")
    session.data = combined(session.data, kept.data, pairs)
    session.add(kept)
