"""The code tree of one variable: codes, labels, levels and a total.

In: codes with their parents. Out: an immutable `Classification`. Nothing here
is confidential: a classification describes what could be counted, not what was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from discreet.classifications.checks import check_tree

__all__ = ["MISSING", "TOTAL", "Classification", "Labels"]

Labels = Mapping[str, Mapping[str, str]]

TOTAL = "Total"
MISSING = "Missing"

_MISSING_LABELS = {"en": "Missing", "de": "Ohne Angabe"}
_TOTAL_LABELS = {"en": "Total", "de": "Insgesamt"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Classification:
    """The code tree of one variable.

    The first code is the total; every other code has a parent that stands
    before it (tree order, children of one parent in the order given). Records
    carry leaf codes.

    Args:
        name: Name of the variable.
        codes: All codes in tree order; the first is the total.
        parents: Position of each code's parent; -1 for the total.
        labels: code → language → label.
        column: Column of the data that holds the leaf codes; the name if None.
        bounds: For intervals of a number: leaf k covers bounds[k] ≤ x < bounds[k+1].
        missing: Code of the category that records without a value get.
        titles: language → name of the variable as printed.
        level_names: Names of the levels below the total, coarsest first.

    >>> region = Classification(name="region", codes=("Total", "N", "N1", "N2", "S"),
    ...                         parents=(-1, 0, 1, 1, 0))
    >>> region.leaves
    ('N1', 'N2', 'S')
    >>> region.children("N")
    ('N1', 'N2')
    >>> region
    <Classification region: 5 codes, 2 levels>
    """

    name: str
    codes: tuple[str, ...]
    parents: tuple[int, ...]
    labels: Labels = field(default_factory=dict, hash=False)
    column: str | None = None
    bounds: tuple[float, ...] | None = None
    missing: str = MISSING
    titles: Mapping[str, str] = field(default_factory=dict, hash=False)
    level_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_tree(self.name, self.codes, self.parents)
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
        """The column of the data that holds the leaf codes."""
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
        for at, parent in enumerate(self.parents[1:], 1):
            level[at] = level[parent] + 1
        return level

    @property
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

    def children(self, code: str) -> tuple[str, ...]:
        """The codes directly below `code`."""
        at = self.index[code]
        return tuple(self.codes[k] for k in np.flatnonzero(self.parent_index == at))

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

    # -- making others from it ---------------------------------------------

    def replace(self, **changes: object) -> Classification:
        """A copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Classification(**{**fields, **changes})  # type: ignore[arg-type]

    def with_missing(self) -> Classification:
        """A copy with the category of missing values as last child of the total."""
        if self.missing in self.index:
            return self
        return self.replace(codes=(*self.codes, self.missing), parents=(*self.parents, 0))

    def unknown(self, codes: Iterable[str]) -> list[str]:
        """Those of `codes` that records may not carry: not leaves of this tree."""
        known = set(self.leaves)
        return [code for code in codes if code not in known]

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<Classification {self.name}: {len(self.codes)} codes, {self.depth} levels>"


def flat(name: str, codes: Sequence[str], *, total: str = TOTAL, **fields: object) -> Classification:
    """A classification of one level below the total, in the order given.

    >>> flat("sex", ["m", "w"]).codes
    ('Total', 'm', 'w')
    """
    return Classification(
        name=name,
        codes=(total, *codes),
        parents=(-1, *(0 for _ in codes)),
        **fields,  # type: ignore[arg-type]
    )
