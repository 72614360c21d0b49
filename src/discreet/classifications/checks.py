"""What makes codes, parents, labels and bounds a classification, and the errors when not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from discreet.errors import ClassificationError, Problem

__all__ = ["check_bounds", "check_missing", "check_texts", "check_tree", "raise_problems"]

_SHOWN = 10
_PLAIN = (dict, MappingProxyType)


def check_tree(name: str, codes: Sequence[str], parents: Sequence[int]) -> None:
    """Raise a `ClassificationError` unless codes and parents form a tree in tree order."""
    problems: list[Problem] = []
    if not isinstance(name, str) or not name:
        name = ""
        problems.append(Problem("a classification needs a name, which is a text"))
    if not codes:
        problems.append(Problem("there are no codes", name, "at least a total is needed"))
    if len(codes) != len(parents):
        problems.append(Problem("codes and parents differ in number", name))
    problems += [
        Problem(f"code {code!r} is not a text, or is empty", name)
        for code in codes
        if not isinstance(code, str) or code == ""
    ]
    if len(set(codes)) < len(codes):
        problems += _double_problems(name, codes)
    if not problems:
        problems += _order_problems(name, codes, parents)
    raise_problems(name, problems)


def _double_problems(name: str, codes: Sequence[str]) -> list[Problem]:
    problems = []
    for code, times in Counter(codes).items():
        if times > 1:
            clash = code == codes[0]
            what = "clashes with the total" if clash else f"occurs {times} times"
            hint = "name another total code" if clash else "codes are unique within a tree"
            problems.append(Problem(f"code {code!r} {what}", name, hint))
    return problems


def _order_problems(name: str, codes: Sequence[str], parents: Sequence[int]) -> list[Problem]:
    problems = []
    for at, parent in enumerate(parents):
        if at == 0 and parent != -1:
            problems.append(Problem(f"the total {codes[0]!r} cannot have a parent", name))
        elif at > 0 and not 0 <= parent < at:
            problems.append(Problem(f"code {codes[at]!r} does not stand below its parent", name))
    return problems


def check_missing(name: str, missing: str, codes: Sequence[str], parents: Sequence[int]) -> None:
    """Raise unless records without a value can get this code: not the total, nor an inner one."""
    given: object = missing
    if not isinstance(given, str) or not given:
        what = f"the code {given!r} of missing values is not a text, or is empty"
    elif missing == codes[0]:
        what = f"the code {missing!r} of missing values clashes with the total"
    elif missing in codes and codes.index(missing) in parents:
        what = f"the code {missing!r} of missing values has codes below it"
    else:
        return
    raise_problems(name, [Problem(what, name, "name another code with missing=")])


def check_texts(name: str, what: str, texts: Mapping[str, Mapping[str, str]]) -> None:
    """Raise unless each entry is language → text, such as ``{"en": "male"}``."""
    problems = []
    hint = 'write it as language and text, such as {"en": "male", "de": "männlich"}'
    for key, entry in texts.items():
        if (
            type(entry) in _PLAIN
            and all(map(_is_text, entry))
            and all(map(_is_text, entry.values()))
        ):
            continue
        languages: Mapping[str, object] = entry if isinstance(entry, Mapping) else {"": entry}
        for language, text in languages.items():
            if not isinstance(language, str) or not language or not isinstance(text, str):
                problems.append(Problem(f"the {what} of {key!r} has no language", name, hint))
            elif not text:
                problems.append(Problem(f"the {what} of {key!r} in {language!r} is empty", name))
    raise_problems(name, problems)


def _is_text(value: object) -> bool:
    return type(value) is str and value != ""


def check_bounds(name: str, bounds: Sequence[float], leaves: int) -> None:
    """Raise unless the bounds rise and there is one interval per leaf."""
    problems = []
    if any(math.isnan(bound) for bound in bounds):
        problems.append(Problem("a bound is not a number", name))
    problems += [
        Problem(f"bound {high:g} does not exceed {low:g}", name, "list the bounds in rising order")
        for low, high in pairwise(bounds)
        if not high > low and not math.isnan(low + high)
    ]
    if not problems and len(bounds) - 1 != leaves:
        what = f"there are {len(bounds) - 1} intervals for {leaves} leaf codes"
        problems.append(Problem(what, name, "use Classification.from_intervals"))
    raise_problems(name, problems)


def raise_problems(
    name: str,
    problems: Sequence[Problem],
    *,
    code: str = "classification",
    total: int | None = None,
    what: str = "{} problems in the tree",
) -> None:
    """Raise one error for all problems; do nothing when there is none.

    Args:
        name: The classification or file concerned.
        problems: What is wrong; the first ten are shown.
        code: Kind of the error.
        total: Number of all problems if only some are given.
        what: Headline when there are several; {} stands for their number.
    """
    if not problems:
        return
    number = len(problems) if total is None else total
    shown = list(problems[:_SHOWN])
    if number > len(shown):
        shown.append(Problem(f"and {number - len(shown):,} more"))
    single = number == 1
    raise ClassificationError(
        problems[0].what if single else what.format(f"{number:,}"),
        code=code,
        where=(problems[0].where or name) if single else name,
        hint=problems[0].hint,
        problems=shown,
    )
