"""Codes found in data that a classification does not have, and what may be meant.

In: the codes that are not leaves. Out: an error that names them with a hint each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from discreet.classifications.checks import raise_problems
from discreet.errors import Problem

__all__ = ["check_codes", "suggestion"]

_SHOWN = 10


def check_codes(wrong: Iterable[object], codes: Sequence[str], *, where: str) -> None:
    """Raise an error for codes that records may not carry.

    Args:
        wrong: The codes found that are not leaves.
        codes: All codes of the tree, the total first.
        where: The column or file they were found in.
    """
    distinct = sorted({str(code): code for code in wrong}.items())
    problems = [_problem(code, codes, where) for _, code in distinct[:_SHOWN]]
    raise_problems(
        where,
        problems,
        code="unknown-code",
        total=len(distinct),
        what="{} codes are not leaf codes of the classification",
    )


def _problem(code: object, codes: Sequence[str], where: str) -> Problem:
    if not isinstance(code, str):
        hint = f"codes are texts; write {str(code)!r}"
        return Problem(f"code {code!r} is not in the classification", where, hint)
    if code == codes[0]:
        return Problem(f"code {code!r} is the total", where, "records must carry leaf codes")
    if code in codes:
        what = f"code {code!r} has codes below it"
        return Problem(what, where, "records must carry leaf codes")
    near = suggestion(code, codes[1:])
    hint = f"did you mean {near!r}?" if near else "add it to the classification, or recode it"
    return Problem(f"code {code!r} is not in the classification", where, hint)


def suggestion(code: str, codes: Collection[str]) -> str | None:
    """The code that differs in blanks, leading zeros or upper and lower case only.

    >>> suggestion(" 1", ["01", "02"])
    '01'
    """
    for loosen in (str.strip, _no_zeros, str.casefold, _loose):
        wanted = loosen(code)
        same = [other for other in codes if loosen(other) == wanted]
        if len(same) == 1:
            return same[0]
        if same:
            return None
    return None


def _no_zeros(code: str) -> str:
    return code.strip().lstrip("0") or code.strip()[-1:]


def _loose(code: str) -> str:
    return _no_zeros(code).casefold()
