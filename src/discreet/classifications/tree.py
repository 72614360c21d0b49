"""The code tree of one variable: codes, labels, levels and a total.

In: codes with their parents. Out: an immutable `CodeTree`, checked. Nothing here
is confidential: a classification describes what could be counted, not what was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Self, TypedDict

import numpy as np
import numpy.typing as npt

from discreet.classifications.checks import check_bounds, check_missing, check_texts, check_tree
from discreet.classifications.unknown import check_codes
from discreet.errors import ClassificationError

__all__ = ["MISSING", "TOTAL", "CodeTree", "Details", "Labels"]

Labels = Mapping[str, Mapping[str, str]]
Found = Literal["none", "missing", "all"]

TOTAL = "Total"
MISSING = "Missing"

_MISSING_LABELS = {"en": "Missing", "de": "Ohne Angabe"}
_TOTAL_LABELS = {"en": "Total", "de": "Insgesamt"}


class Details(TypedDict, total=False):
    """What every way of making a classification takes besides codes and parents.

    - labels: code → language → label
    - titles: language → name of the variable as printed
    - column: column of the data that holds the leaf codes; the name if None
    - missing: code of the category that records without a value get
    - level_names: names of the levels below the total, coarsest first
    - found: which codes are listed only because they occur in the data
    """

    labels: Labels
    titles: Mapping[str, str]
    column: str | None
    missing: str
    level_names: tuple[str, ...]
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
    # How the codes came to be listed is no part of what the classification is.
    found: Found = field(default="none", compare=False)

    def __post_init__(self) -> None:
        check_tree(self.name, self.codes, self.parents)
        if self.missing != MISSING:  # the default matters only once it is used
            check_missing(self.name, self.missing, self.codes, self.parents)
        check_texts(self.name, "label", self.labels)
        check_texts(self.name, "title", {self.name: self.titles})
        if self.bounds is not None:
            check_bounds(self.name, self.bounds, sum(c != self.missing for c in self.leaves))
        frozen = {code: MappingProxyType(dict(text)) for code, text in self.labels.items()}
        object.__setattr__(self, "labels", MappingProxyType(frozen))
        object.__setattr__(self, "titles", MappingProxyType(dict(self.titles)))

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
            raise ClassificationError(
                f"some rows end above the finest column {self.level_columns[-1]!r}",
                code="uneven-levels",
                where=self.name,
                hint="add a column with the last code of each row, and name it with column=",
            )
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
        level = [0] * len(self.codes)
        for at, parent in enumerate(self.parents[1:], 1):
            level[at] = level[parent] + 1
        return np.asarray(level, dtype=np.int32)

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

    @property
    def notes(self) -> tuple[str, ...]:
        """Things worth knowing that are not errors, such as codes with one child."""
        counts = np.bincount(self.parent_index[1:], minlength=len(self.codes))
        return tuple(
            f"{self.name}: code {self.codes[at]!r} has a single child; both always have one value"
            for at in np.flatnonzero(counts == 1)
        )

    # -- codes of the data -------------------------------------------------

    @cached_property
    def _leaf_set(self) -> frozenset[str]:
        return frozenset(self.leaves)

    def unknown(self, codes: Iterable[str]) -> list[str]:
        """Those of `codes` that records may not carry: not leaves of this tree."""
        return [code for code in codes if code not in self._leaf_set]

    def check(self, codes: Iterable[object], *, where: str = "") -> None:
        """Raise a `ClassificationError` if records may not carry one of these codes.

        Args:
            codes: Codes found in the data. None stands for the missing category.
            where: Where they were found, for the message; else the column.

        >>> from discreet.classifications import Classification
        >>> Classification.flat("month", ["01", "02"]).check(["1", "02"])
        Traceback (most recent call last):
            ...
        discreet.errors.ClassificationError: [unknown-code] month: code '1' is not in the
        classification
          Hint: did you mean '01'?
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
        """A copy with some of the codes; with a code, those above it are kept.

        Args:
            keep: One boolean per code, true for the total.
        """
        place = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep).tolist()
        codes = tuple(self.codes[at] for at in kept)
        parents = (-1, *(int(place[self.parents[at]]) for at in kept[1:]))
        listed = set(codes)
        labels = {code: texts for code, texts in self.labels.items() if code in listed}
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
        plain = {**self.fields(), "labels": labels, "titles": dict(self.titles)}
        return (_rebuild, (type(self), plain))

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.codes)} codes, {self.depth} levels>"


def _rebuild(kind: type[CodeTree], fields: dict[str, object]) -> CodeTree:
    return kind(**fields)  # type: ignore[arg-type]
