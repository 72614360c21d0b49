"""Wishes: what a perturbation table is to be like, as fields of a form say it. SECRET: whoever
knows a wish that came into use can narrow down true counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

import numpy as np

from discreet.assessment import (
    DisclosureRisk,
    NoiseOdds,
    Quality,
    disclosure_risk,
    evaluate,
    expected_quality,
)
from discreet.errors import Problem
from discreet.protection.noise import PerturbationTable, design_perturbation, permuted
from discreet.tables import CellStatus, ProtectedTable

#: Counts that quality is told of in one figure: each equally often, as the documentation does.
COUNTS: Sequence[int] = tuple(range(1, 101))
#: Counts at which curves have their points.
CURVE_COUNTS: Sequence[int] = (
    *range(1, 13),
    *(14, 17, 20, 25, 30, 40, 50, 70, 100, 140, 200, 300, 500, 700, 1000),
)
#: Averaging that succeeds no more often is borne.
BORNE = 0.6
_KEPT = 64
_SHOWN = (CellStatus.published, CellStatus.zero_or_changed_to_zero)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AssessedDesign:
    """A design with what the library says of it. SECRET."""

    table: PerturbationTable  # The perturbation table
    wish: DesignWish | None = None  # What it is to be like; None if it was made elsewhere

    @property
    def is_example(self) -> bool:
        """Whether its order is one to look at, which is drawn anew when it is saved."""
        return self.wish is not None and self.wish.order != "plain"

    @cached_property
    def quality(self) -> Quality:
        """Effect on counts from 1 to 100, each equally often."""
        return expected_quality(self.table, COUNTS)

    @cached_property
    def curve(self) -> Quality:
        """Values at the places of a curve."""
        return expected_quality(self.table, CURVE_COUNTS)

    @cached_property
    def risk(self) -> DisclosureRisk:
        """Risk from a sum with its two parts for someone who knows the largest noise."""
        return disclosure_risk(self.table)

    @cached_property
    def odds(self) -> NoiseOdds:
        """Success of attacks by averaging."""
        return NoiseOdds.of(self.table)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Figures of each row, by original count."""
        return evaluate(self.table).to_dicts()

    def averaged(self, exposures: Sequence[float]) -> list[tuple[float, float]]:
        """Success of averaging in per cent, by exposure."""
        return [(exposure, 100 * self.odds.averaged(exposure)) for exposure in exposures]

    def origins(self) -> list[tuple[float, float]]:
        """Published value, and how likely it was a 1 or a 2, in per cent."""
        told = self.risk.small.drop_nulls("from_1_or_2")
        return [(float(value), 100 * share)
                for value, share in told.select("value", "from_1_or_2").iter_rows()]  # fmt: skip

    def found(self) -> list[tuple[float, float]]:
        """Original count of a part, and how likely a sum determines it; where it can."""
        counts = self.risk.by_count.select("count", "part").iter_rows()
        return [(float(count), share) for count, share in counts if share > 0]

    def errors(self) -> list[tuple[float, float]]:
        """Original count, and the expected relative error in per cent."""
        iter_rows = self.curve.by_count.select("count", "relative_error").iter_rows()
        return [(float(count), 100 * error) for count, error in iter_rows]

    def key_figures(self) -> Mapping[str, float]:
        """The main figures by name; shares between 0 and 1."""
        last, quality, risk = self.rows[-1], self.quality, self.risk
        return {
            "variance": last["variance"],
            "stay": last["stay"],
            "deviation": quality.mean_absolute_deviation,
            "at_most_1": quality.at_most_1,
            "at_least_3": quality.at_least_3,
            "at_least_4": quality.at_least_4,
            "any_original": risk.any_original,
            "large": risk.large,
            "origin": max((share for _, share in self.origins()), default=math.nan) / 100,
            "borne": self.odds.tolerated(BORNE),
        }

    def __repr__(self) -> str:
        return "<AssessedDesign: secret>"


@lru_cache(maxsize=_KEPT)
def assessed(wish: DesignWish) -> AssessedDesign:
    """A design with its figures; an error says why there is none.

    >>> from decimal import Decimal
    >>> assessed(DesignWish(max_noise=1, variance=Decimal("0.5"))).key_figures()["variance"]
    0.5
    """
    return AssessedDesign(wish=wish, table=wish.table())


#: Cell keys on which two tables are compared, evenly spread over the key grid.
_COMPARED_KEYS = np.linspace(0, 10**15 - 1, 2_000, dtype=np.int64)


def published_counts(table: ProtectedTable) -> dict[int, int]:
    """The published counts of a table, without zeros and suppressed cells: count → cells."""
    if table.figures or table.value.dtype.kind != "i":
        return {}
    values = table.value[np.isin(table.status, _SHOWN) & (table.value > 0)]
    counts, cells = np.unique(values, return_counts=True)
    return dict(zip(counts.tolist(), cells.tolist(), strict=True))


def changed_share(
    before: PerturbationTable, after: PerturbationTable, counts: Mapping[int, int]
) -> float:
    """The expected share of cells that another table gives another value, with the same keys.

    >>> one, other = (DesignWish(max_noise=1, variance=Decimal(v)).table() for v in ("0.5", "0.4"))
    >>> changed_share(one, one, {3: 10}), 0 < changed_share(one, other, {3: 10}) < 0.3
    (0.0, True)
    """
    changed = 0.0
    for count, cells in counts.items():
        same = np.full(len(_COMPARED_KEYS), count)
        differs = before.lookup(same, _COMPARED_KEYS) != after.lookup(same, _COMPARED_KEYS)
        changed += cells * float(differs.mean())
    return changed / sum(counts.values())


#: What the sliders reach; the library itself goes further.
LARGEST_NOISE, LARGEST_NEVER, MOST_NEVER = 12, 10, 8
#: How intervals lie along the cell key.
ORDERS = ("plain", "permuted", "split")
#: An order to look at. The one that is saved is drawn anew, and nobody sees it.
_EXAMPLE = b"the order of an example, no secret"
_WIDTH = Decimal("0.05")
_NUMBER = re.compile(r"[0-9]{1,6}([.,][0-9]{1,6})?")
_LEAST = re.compile(r"variance of at least ([0-9]+(?:\.[0-9]+)?)")

Order = Literal["plain", "permuted", "split"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DesignWish:
    """Requested properties of a perturbation table. SECRET.

    >>> DesignWish(max_noise=5, variance=Decimal(3), forbidden=(1, 2)).table().n_max
    8
    """

    max_noise: int  # Largest noise
    variance: Decimal  # Largest variance
    forbidden: tuple[int, ...] = ()  # Figures that are never published
    stay: Decimal | None = None  # Share of counts that stay as they are; None leaves it free
    order: Order = "plain"  # How intervals lie along the cell key

    def table(self, seed: bytes = _EXAMPLE) -> PerturbationTable:
        """The table that the library designs. SECRET."""
        stay = None if self.stay is None else float(self.stay)
        made = design_perturbation(self.max_noise, float(self.variance), self.forbidden, stay=stay)
        if self.order == "plain":
            return made
        return permuted(made, seed, _WIDTH if self.order == "split" else None)

    def command(self) -> str:
        """The equal command.

        >>> DesignWish(max_noise=2, variance=Decimal(1)).command()
        'discreet ptable design ptable.json --max-noise 2 --variance 1'
        """
        parts = [f"--max-noise {self.max_noise} --variance {self.variance}"]
        if self.forbidden:
            parts.append(f"--forbidden {','.join(map(str, self.forbidden))}")
        if self.stay is not None:
            parts.append(f"--stay {self.stay}")
        if self.order != "plain":
            parts.append("--seed-file seed.key")
        if self.order == "split":
            parts.append(f"--split {_WIDTH}")
        return " ".join(["discreet ptable design ptable.json", *parts])

    def __repr__(self) -> str:
        return "<DesignWish: secret>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DesignFields:
    """The fields of a design, as they were filled in. SECRET.

    >>> problems = []
    >>> DesignFields(noise="5", exact="2,5").read(problems).variance
    Decimal('2.5')
    """

    noise: str = "5"  # The slider of the largest noise
    variance: str = "3"  # The slider of the variance
    exact: str = ""  # A variance that goes before the slider; empty for none
    never: str = "1, 2"  # Figures that are never published, commas between
    fixed: bool = False  # Whether a share of counts stays as it is
    stay: str = "50"  # The slider of that share, in per cent
    order: str = "plain"

    @classmethod
    def of(cls, form: Mapping[str, str], prefix: str) -> DesignFields:
        """The fields of one of two designs; what is not sent of them is not chosen."""
        chosen = {"never": "", "fixed": "", **{name.removeprefix(prefix): text[:100]
                  for name, text in form.items() if name.startswith(prefix)}}  # fmt: skip
        texts = {one.name: chosen[one.name] for one in fields(cls) if one.name in chosen}
        return cls(**{**texts, "fixed": texts["fixed"] == "yes"})  # type: ignore[arg-type]

    def read(self, problems: list[Problem]) -> DesignWish | None:
        """The wish; None if something is wrong, which is added to the problems."""
        before = len(problems)
        noise = _number(self.noise, "noise", problems)
        variance = _number(self.exact or self.variance, "variance", problems)
        stay = _number(self.stay, "stay", problems) if self.fixed else None
        never = _whole(self.never, problems)
        if noise is not None and not (noise == int(noise) and 1 <= noise <= LARGEST_NOISE):
            message = f"the largest noise must be a whole number from 1 to {LARGEST_NOISE}"
            problems.append(Problem(message, "noise", "for more noise use: discreet ptable design"))
        if stay is not None and not 0 < stay <= 100:
            problems.append(
                Problem("the unchanged share must be above 0 and at most 100 %", "stay")
            )
        if self.order not in ORDERS:
            problems.append(Problem("unknown order", "order"))
        if len(problems) > before or noise is None or variance is None:
            return None
        return DesignWish(
            max_noise=int(noise),
            variance=variance,
            forbidden=never,
            stay=None if stay is None else (stay / 100).normalize(),
            order=cast("Order", self.order),
        )

    def __repr__(self) -> str:
        return "<DesignFields: secret>"


def offered_variance(problems: Sequence[Problem]) -> Decimal | None:
    """A variance with some room to the least one, where nothing but too small a one is wrong.

    >>> offered_variance([Problem("row 1 needs a variance of at least 2", "variance")])
    Decimal('2.5')
    """
    matches = [_LEAST.search(problem.what) for problem in problems]
    least = [Decimal(match[1]) for match in matches if match]
    if not least or len(least) != len(matches):
        return None
    return Decimal(math.ceil(max(least) * 5)) / 4


def _number(text: str, where: str, problems: list[Problem]) -> Decimal | None:
    try:
        if _NUMBER.fullmatch(text):
            return Decimal(text.replace(",", "."))
    except InvalidOperation:
        pass
    problems.append(Problem("must be a number", where))
    return None


def _whole(text: str, problems: list[Problem]) -> tuple[int, ...]:
    """Whole numbers, commas or blanks between."""
    parts = re.split(r"[\s,;]+", text.strip()) if text.strip() else []
    if not all(re.fullmatch(r"[0-9]{1,4}", part) for part in parts):
        problems.append(Problem("expected whole numbers, commas between", "never"))
        return ()
    found = tuple(sorted({int(part) for part in parts}))
    if len(found) > MOST_NEVER or not all(1 <= item <= LARGEST_NEVER for item in found):
        message = f"up to {MOST_NEVER} values from 1 to {LARGEST_NEVER} can be excluded"
        problems.append(Problem(message, "never"))
        return ()
    return found
