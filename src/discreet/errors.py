"""Error classes of the package.

Every failure a user can cause or repair is a `DiscreetError`. It says what was
wrong, where, and how to put it right; it never quotes a true cell value, a
record key or a noise parameter.

    DiscreetError
    ├── ClassificationError   code trees and their files
    ├── MicrodataError        records: files, columns, types, identifiers
    ├── RecordKeyError        record keys, key grids, secrets
    ├── FilterError           the filter language of programmes
    ├── TableError            tables made or combined in a way that cannot be
    ├── PerturbationError     perturbation tables and their use
    ├── SuppressionError      rules, secondary suppression, audit
    ├── CountRoundingError    rounding to multiples, and its audit
    ├── PackageError          packages of parameters, their keys and signatures
    ├── OutputCheckError      programs and logs of research data centres
    ├── PublicationError      writers, formats, output places
    └── ProgrammeError        table programmes

What a caller should know although it is no error is a `DiscreetWarning`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    what: str  # what is wrong, in one sentence
    where: str = ""  # column, file, line or key concerned
    hint: str = ""  # what to do about it
    key: tuple[str | int, ...] = ()  # where it stands in a document, if it is of one

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"\n  Hint: {self.hint}" if self.hint else ""
        return f"{place}{self.what}{hint}"


def shortened(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """The first problems, and how many more there are.

    >>> [problem.what for problem in shortened([Problem("a"), Problem("b"), Problem("c")], 1)]
    ['a', 'and 2 more']
    """
    shown = list(problems[:limit])
    if len(problems) > limit:
        shown.append(Problem(f"and {len(problems) - limit:,} more"))
    return shown


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint that names the likeliest of the known names, or all of them.

    >>> nearest("wher", ["where", "weight"])
    "closest match: 'where'"
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"closest match: {close[0]!r}"
    shown = ", ".join(list(known)[:20]) + (", …" if len(known) > 20 else "")
    return f"known: {shown}" if known else ""


def raise_all(
    error: type[DiscreetError],
    problems: Iterable[Problem],
    *,
    code: str,
    many: str = "",
    where: str | None = None,
    most: int | None = None,
) -> None:
    """Raise one error for all problems; do nothing when there is none.

    >>> problems = [Problem("too long", "name"), Problem("too short", "title")]
    >>> raise_all(TableError, problems, code="names", many="{} mistakes", where="table")
    Traceback (most recent call last):
        ...
    discreet.errors.TableError: [names] table: 2 mistakes
      1. name: too long
      2. title: too short
    """
    listed = list(problems)
    if not listed:
        return
    first, headed = listed[0], bool(many) and len(listed) > 1
    place = first.where or where or ""
    if where is not None and (headed or not many):
        place = where
    raise error(
        many.format(len(listed)) if headed else first.what,
        code=code,
        where=place,
        hint=first.hint,
        problems=listed if most is None else shortened(listed, most),
    )


class DiscreetError(Exception):
    """Base class of all errors that discreet raises on purpose.

    Args:
        what: What is wrong, in one sentence.
        code: Short stable name of the kind of error, for programs.
        where: Column, file, line or key concerned.
        hint: What to do about it.
        problems: When several things are wrong at once, all of them.

    >>> from discreet.errors import MicrodataError
    >>> raise MicrodataError("column is missing", code="missing-column", where="rent",
    ...                      hint="columns found: sex, age")
    Traceback (most recent call last):
        ...
    discreet.errors.MicrodataError: [missing-column] rent: column is missing
      Hint: columns found: sex, age
    """

    def __init__(
        self,
        what: str,
        *,
        code: str,
        where: str = "",
        hint: str = "",
        problems: Sequence[Problem] = (),
    ) -> None:
        self.code = code
        self.what = what
        self.where = where
        self.hint = hint
        self.problems: tuple[Problem, ...] = tuple(problems) or (Problem(what, where, hint),)
        super().__init__(self._text())

    @classmethod
    def of(cls, problems: Sequence[Problem], many: str, *, code: str) -> Self:
        """The error of one problem, or one that lists them all.

        Args:
            problems: What is wrong; at least one.
            many: What is said of several.
            code: Short stable name of the kind of error, for programs.

        >>> print(DiscreetError.of([Problem("too long", "name")], "2 mistakes", code="names"))
        [names] name: too long
        """
        if len(problems) > 1:
            return cls(many, code=code, problems=problems)
        first = problems[0]
        return cls(first.what, code=code, where=first.where, hint=first.hint)

    def _text(self) -> str:
        if len(self.problems) == 1:
            return f"[{self.code}] {self.problems[0]}"
        head = f"[{self.code}] {self.what}"
        if self.where:
            head = f"[{self.code}] {self.where}: {self.what}"
        lines = [f"  {number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        return "\n".join([head, *lines])

    def __reduce__(self) -> tuple[object, ...]:
        facts = {name: getattr(self, name) for name in ("code", "where", "hint", "problems")}
        return (partial(type(self), self.what, **facts), ())


class DiscreetWarning(UserWarning):
    """A warning of discreet; like errors, it quotes no true value.

    >>> import warnings
    >>> warnings.simplefilter("error", DiscreetWarning)  # have them raised, in scripts
    >>> warnings.simplefilter("default", DiscreetWarning)
    """


class DisclosureWarning(DiscreetWarning):
    """A request that may disclose more than intended; it is carried out."""


class ClassificationError(DiscreetError):
    """A code tree is not a tree, or data do not fit it."""


class MicrodataError(DiscreetError):
    """Records cannot be read or do not have the expected form."""


class RecordKeyError(DiscreetError):
    """Record keys are missing, off their grid, or cannot be made."""


class FilterError(DiscreetError):
    """A filter text cannot be understood."""


class TableError(DiscreetError):
    """Cells do not form the table that was asked for."""


class PerturbationError(DiscreetError):
    """A perturbation table is not valid or does not fit the table."""


class PackageError(DiscreetError):
    """A package of parameters cannot be made, opened or trusted."""


class OutputCheckError(DiscreetError):
    """A program or a log cannot be read, rewritten or cleaned."""


class PublicationError(DiscreetError):
    """A table cannot be written in the form or place asked for."""


class ProgrammeError(DiscreetError):
    """A table programme has mistakes; all of them are listed."""


class CountRoundingError(DiscreetError):
    """Counts cannot be rounded as asked for."""


class AdjustmentError(DiscreetError):
    """Figures cannot be adjusted as asked for."""


class SuppressionError(DiscreetError):
    """Cells cannot be suppressed, audited or protected as asked for."""
