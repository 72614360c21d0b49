"""`CodeTree`: the codes of one variable with labels, levels and a total, and its checks.

In: codes with their parents. Out: an immutable `CodeTree`, or one error with everything
that is wrong; for codes found in data that the tree does not have, what may be meant.
Nothing here is confidential: a classification describes what could be counted, not
what was.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, Self, TypedDict

import numpy as np
import numpy.typing as npt

from discreet.errors import ClassificationError, Problem

_WHOLE = re.compile(r"-?[0-9]{1,4000}")


def natural_order(codes: Iterable[str]) -> list[str]:
    """Codes in the order of their numbers if all are whole numbers, else of their texts.

    >>> natural_order(["10", "9", "-1"]), natural_order(["b", "10", "9"])
    (['-1', '9', '10'], ['10', '9', 'b'])
    """
    listed = list(codes)
    if all(_WHOLE.fullmatch(code) for code in listed):
        return sorted(listed, key=lambda code: (int(code), code))
    return sorted(listed)


_SHOWN = 10
_PLAIN = (dict, MappingProxyType)


def check_tree(name: str, codes: Sequence[str], parents: Sequence[int]) -> None:
    """Raise a `ClassificationError` unless codes and parents form a tree in tree order."""
    problems: list[Problem] = []
    if not isinstance(name, str) or not name:
        name = ""
        problems.append(Problem("the name of a classification must be a text"))
    if not codes:
        problems.append(Problem("no codes given", name, "give at least the total"))
    if len(codes) != len(parents):
        problems.append(Problem("codes and parents differ in number", name))
    if set(map(type, codes)) != {str} or "" in codes:
        problems += [
            Problem(f"code {code!r} is empty or not a text", name)
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
            message = "clashes with the total" if clash else f"occurs {times} times"
            hint = "name another total code" if clash else "make codes unique within the hierarchy"
            problems.append(Problem(f"code {code!r} {message}", name, hint))
    return problems


def _order_problems(name: str, codes: Sequence[str], parents: Sequence[int]) -> list[Problem]:
    problems = []
    if set(map(type, parents)) == {int}:  # millions of codes are looked at in one go
        above = np.asarray(parents)
        if above[0] == -1 and bool(((above >= 0) & (above < np.arange(len(above))))[1:].all()):
            return []
    for at, parent in enumerate(parents):
        if at == 0 and parent != -1:
            problems.append(Problem(f"the total {codes[0]!r} cannot have a parent", name))
        elif at > 0 and not 0 <= parent < at:
            problems.append(Problem(f"code {codes[at]!r} is not listed after its parent", name))
    return problems


def check_missing(name: str, missing: str, codes: Sequence[str], parents: Sequence[int]) -> None:
    """Raise unless records without a value can get this code: not the total, nor an inner one."""
    value: object = missing
    if not isinstance(value, str) or not value:
        message = f"the code {value!r} for missing values is empty or not a text"
    elif missing == codes[0]:
        message = f"the code {missing!r} for missing values equals the total"
    elif missing in codes and codes.index(missing) in parents:
        message = f"the code {missing!r} for missing values has codes below it"
    else:
        return
    raise_problems(name, [Problem(message, name, "name another code with missing=")])


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
        problems.append(Problem("bounds must be numbers", name))
    problems += [
        Problem(f"bound {high:g} does not exceed {low:g}", name, "list the bounds in rising order")
        for low, high in pairwise(bounds)
        if not high > low and not math.isnan(low + high)
    ]
    if not problems and len(bounds) - 1 != leaves:
        message = f"{len(bounds) - 1} intervals for {leaves} codes of the finest level"
        problems.append(Problem(message, name, "use Classification.from_intervals"))
    raise_problems(name, problems)


def raise_problems(
    name: str,
    problems: Sequence[Problem],
    *,
    code: str = "classification",
    total: int | None = None,
    what: str = "{} problems in the hierarchy",
) -> None:
    """Raise one error for all problems; do nothing when there is none."""
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


def check_codes(wrong: Iterable[object], codes: Sequence[str], *, where: str) -> None:
    """Raise an error for codes that records may not carry."""
    distinct = sorted({str(code): code for code in wrong}.items())
    problems = [_problem(code, codes, where) for _, code in distinct[:_SHOWN]]
    raise_problems(
        where,
        problems,
        code="unknown-code",
        total=len(distinct),
        what="{} codes are not on the finest level of the classification",
    )


def _problem(code: object, codes: Sequence[str], where: str) -> Problem:
    if not isinstance(code, str):
        hint = f"write the code as text: {str(code)!r}"
        return Problem(f"code {code!r} is not in the classification", where, hint)
    if code == codes[0]:
        return Problem(
            f"code {code!r} is the total", where, "records need codes of the finest level"
        )
    if code in codes:
        message = f"code {code!r} has codes below it"
        return Problem(message, where, "records need codes of the finest level")
    near = suggestion(code, codes[1:])
    hint = f"closest match: {near!r}" if near else "add it to the classification, or recode it"
    return Problem(f"code {code!r} is not in the classification", where, hint)


def suggestion(code: str, codes: Collection[str]) -> str | None:
    """The code that differs in blanks, leading zeros or upper and lower case only.

    >>> suggestion(" 1", ["01", "02"])
    '01'
    """
    for loosen in (str.strip, _no_zeros, str.casefold, lambda other: _no_zeros(other).casefold()):
        wanted = loosen(code)
        same = [other for other in codes if loosen(other) == wanted]
        if len(same) == 1:
            return same[0]
        if same:
            return None
    return None


def _no_zeros(code: str) -> str:
    return code.strip().lstrip("0") or code.strip()[-1:]


Labels = Mapping[str, Mapping[str, str]]
Found = Literal["none", "missing", "all"]

TOTAL = "Total"
MISSING = "Missing"

_MISSING_LABELS = {"en": "Missing", "de": "Ohne Angabe"}
_TOTAL_LABELS = {"en": "Total", "de": "Insgesamt"}


class Details(TypedDict, total=False):
    """Arguments of all constructors of classifications besides codes and parents.

    - labels: code → language → label
    - titles: language → name of the variable as printed
    - column: column of the data that holds the leaf codes; the name if None
    - missing: code of the category that records without a value get
    - level_names: names of the levels below the total, coarsest first
    - level_titles: name or number of a level → language → how it is printed
    - found: which codes are listed only because they occur in the data
    """

    labels: Labels
    titles: Mapping[str, str]
    column: str | None
    missing: str
    level_names: tuple[str, ...]
    level_titles: Labels
    found: Found


@dataclass(frozen=True, kw_only=True, repr=False)
class CodeTree:
    """Codes in tree order with what is known about them; see `Classification`."""

    name: str
    codes: tuple[str, ...]
    parents: tuple[int, ...]
    labels: Labels = field(default_factory=dict, hash=False)
    column: str | None = None
    bounds: tuple[float, ...] | None = None
    missing: str = MISSING
    titles: Mapping[str, str] = field(default_factory=dict, hash=False)
    level_names: tuple[str, ...] = ()
    level_columns: tuple[str, ...] = ()
    level_titles: Labels = field(default_factory=dict, hash=False)
    # How the codes came to be listed is no part of what the classification is.
    found: Found = field(default="none", compare=False)

    def __post_init__(self) -> None:
        check_tree(self.name, self.codes, self.parents)
        if self.missing != MISSING:  # the default matters only once it is used
            check_missing(self.name, self.missing, self.codes, self.parents)
        check_texts(self.name, "label", self.labels)
        check_texts(self.name, "title", {self.name: self.titles})
        check_texts(self.name, "level title", self.level_titles)
        if self.bounds is not None:
            check_bounds(self.name, self.bounds, sum(c != self.missing for c in self.leaves))
        frozen = {code: MappingProxyType(dict(text)) for code, text in self.labels.items()}
        object.__setattr__(self, "labels", MappingProxyType(frozen))
        object.__setattr__(self, "titles", MappingProxyType(dict(self.titles)))
        plain = {level: dict(texts) for level, texts in self.level_titles.items()}
        object.__setattr__(self, "level_titles", MappingProxyType(plain))

    # -- looking things up -------------------------------------------------

    @property
    def total(self) -> str:
        """The code of the total."""
        return self.codes[0]

    @property
    def source(self) -> str:
        """The column of the data that holds the leaf codes.

        Where `level_columns` hold them instead, no single column does: an error.
        """
        if self.level_columns and self.column is None:
            message = f"some rows lack a code in the finest column {self.level_columns[-1]!r}"
            hint = "add a column with the finest code of each row, and name it with column="
            raise ClassificationError(message, code="uneven-levels", where=self.name, hint=hint)
        return self.column or self.name

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each code."""
        return MappingProxyType({code: at for at, code in enumerate(self.codes)})

    @cached_property
    def parent_index(self) -> npt.NDArray[np.int32]:
        """Position of each code's parent, -1 for the total."""
        return np.asarray(self.parents, dtype=np.int32)

    @cached_property
    def levels(self) -> npt.NDArray[np.int32]:
        """Level of each code: 0 for the total, 1 for its children, …"""
        level = np.zeros(len(self.codes), dtype=np.int32)
        above = self.parent_index
        while (higher := above >= 0).any():
            level += higher
            above = np.where(higher, self.parent_index[above], -1)
        return level

    @cached_property
    def depth(self) -> int:
        """Number of levels below the total."""
        return int(self.levels.max())

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Which codes have no children."""
        leaf = np.ones(len(self.codes), dtype=np.bool_)
        leaf[self.parent_index[1:]] = False
        return leaf

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes that records carry."""
        return tuple(code for code, leaf in zip(self.codes, self.is_leaf, strict=True) if leaf)

    @cached_property
    def _families(self) -> Mapping[int, tuple[str, ...]]:
        families: dict[int, list[str]] = {}
        for code, parent in zip(self.codes[1:], self.parents[1:], strict=True):
            families.setdefault(parent, []).append(code)
        return {parent: tuple(codes) for parent, codes in families.items()}

    def children(self, code: str) -> tuple[str, ...]:
        """The codes directly below `code`."""
        return self._families.get(self.index[code], ())

    def parent(self, code: str) -> str | None:
        """The code directly above `code`; None for the total."""
        above = self.parents[self.index[code]]
        return None if above < 0 else self.codes[above]

    def label(self, code: str, language: str = "en") -> str:
        """The label in `language`, else in any language, else the code."""
        texts = self.labels.get(code)
        if texts:
            return texts.get(language) or next(iter(texts.values()))
        if code == self.total and code == TOTAL:
            return _TOTAL_LABELS.get(language, code)
        if code == self.missing and code == MISSING:
            return _MISSING_LABELS.get(language, code)
        return code

    def title(self, language: str = "en") -> str:
        """The name of the variable as printed."""
        return self.titles.get(language) or next(iter(self.titles.values()), self.name)

    def level_title(self, level: int, language: str = "en") -> str:
        """The name of a level as printed, coarsest 1; empty if it has none.

        >>> tree = CodeTree(name="region", codes=("Total", "a"), parents=(-1, 0),
        ...                 level_names=("state",), level_titles={"state": {"de": "Land"}})
        >>> tree.level_title(1, "de"), tree.replace(level_titles={}).level_title(1, "de")
        ('Land', 'state')
        """
        name = "".join(self.level_names[level - 1 : level])
        texts = self.level_titles.get(name or str(level), {})
        return texts.get(language) or name or next(iter(texts.values()), "")

    @property
    def notes(self) -> tuple[str, ...]:
        """Things worth knowing that are not errors, such as codes with one child."""
        counts = np.bincount(self.parent_index[1:], minlength=len(self.codes))
        return tuple(
            (
                f"{self.name}: code {self.codes[at]!r} has a single child; "
                "both always have the same value"
            )
            for at in np.flatnonzero(counts == 1)
        )

    # -- codes of the data -------------------------------------------------

    @cached_property
    def _leaf_set(self) -> frozenset[str]:
        return frozenset(self.leaves)

    def unknown(self, codes: Iterable[str]) -> list[str]:
        """The `codes` that records may not have, because they are not leaves of this tree."""
        return [code for code in codes if code not in self._leaf_set]

    def check(self, codes: Iterable[object], *, where: str = "") -> None:
        """Raise a `ClassificationError` if records may not carry one of these codes.

        >>> from discreet.classifications import Classification
        >>> Classification.flat("month", ["01", "02"]).check(["1", "02"])
        Traceback (most recent call last):
            ...
        discreet.errors.ClassificationError: [unknown-code] month: code '1' is not in the
        classification
          Hint: closest match: '01'
        """
        wrong = [code for code in codes if code is not None and code not in self._leaf_set]
        if wrong:
            check_codes(wrong, self.codes, where=where or self.column or self.name)

    # -- making others from it ---------------------------------------------

    def replace(self, **changes: object) -> Self:
        """A copy with some fields changed."""
        return type(self)(**{**self.fields(), **changes})  # type: ignore[arg-type]

    def with_missing(self) -> Self:
        """A copy with the category of missing values as last child of the total."""
        check_missing(self.name, self.missing, self.codes, self.parents)
        if self.missing in self.index:
            return self
        return self.replace(
            codes=(*self.codes, self.missing),
            parents=(*self.parents, 0),
            found="missing" if self.found == "none" else self.found,
        )

    def restricted(self, keep: npt.NDArray[np.bool_]) -> Self:
        """A copy with some of the codes; with a code, those above it are kept."""
        place = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep).tolist()
        codes = tuple(self.codes[at] for at in kept)
        parents = (-1, *(int(place[self.parents[at]]) for at in kept[1:]))
        labels = {code: self.labels[code] for code in codes if code in self.labels}
        return self.replace(codes=codes, parents=parents, labels=labels)

    def with_total(self, total: str) -> Self:
        """A copy whose total has another code."""
        if total == self.total:
            return self
        labels = {total if code == self.total else code: t for code, t in self.labels.items()}
        return self.replace(codes=(total, *self.codes[1:]), labels=labels)

    def fields(self) -> dict[str, object]:
        """All fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __reduce__(self) -> tuple[object, ...]:
        labels = {code: dict(texts) for code, texts in self.labels.items()}
        plain: dict[str, Any] = {**self.fields(), "labels": labels, "titles": dict(self.titles)}
        plain["level_titles"] = dict(self.level_titles)
        return (partial(type(self), **plain), ())

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.codes)} codes, {self.depth} levels>"
