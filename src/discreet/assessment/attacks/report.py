"""What a publication gives away: all attacks carried out, and put into words.

In: protected tables by universe, what the attacker knows, and for assessment the true tables. Out:
`AttackReport`: figures, one verdict with its limits, an `AttackOutcome` per attack – what it found,
which reader can carry it out, and whether that is open – and `AttackListing`s in English and
German, the same for texts and pages, with what would help and its price. SECRET: it tells how well
attacks work; CONFIDENTIAL with true tables. Its `rates` name no cell. An attack without a rate was
not examined; one without a limit may find nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from discreet.assessment.attacks.bounds import NoiseRange, bounded, likeliest, resolved
from discreet.assessment.attacks.figures import (
    BareFigures,
    GroupDisclosures,
    NearTwins,
    PublishedFigures,
    group_disclosures,
    near_twins,
)
from discreet.assessment.attacks.parameters import (
    AlikeNoise,
    AttackedValues,
    EstimatedCells,
    FoundParameters,
    NoiseOdds,
    SharedNoise,
    alike_noise,
    attacked_values,
    averaging_successes,
    estimated,
    filled,
    found_parameters,
    shared_noise,
)
from discreet.assessment.settings import Knows
from discreet.assessment.words import number, percent
from discreet.confidential import SecretValues
from discreet.disclosure import (
    DisclosureVerdict,
    Gap,
    Judged,
    LayerKey,
    PublishedCells,
    VerdictWord,
)
from discreet.errors import PerturbationError
from discreet.files import texts_of
from discreet.protection.noise import PerturbationTable
from discreet.tables import ProtectedTable, Table

#: Layers with fewer cells are not called the worst.
_ENOUGH = 20
#: Exposure per variance up to which 60 % of the best estimates are right.
_TOLERATED = 2.83
#: With more exposure than this, a cell follows from figures without noise.
_EXACT = 1e4
#: Counts this likely are taken as found out by one sum.
_SURE = 0.95
#: So many rows are listed at most.
_MOST = 40
_NONE = "–"


@dataclass(frozen=True, kw_only=True)
class AveragedLayer:
    """Result of averaging for the cells of a layer."""

    layer: str  # its variables and levels
    variables: tuple[str, ...]
    cells: int  # number of cells that show a count
    exposure: float  # the largest exposure of a cell; the mean stands beside it
    mean_exposure: float
    exact: int  # number of cells that figures without noise tell, whatever the noise of others
    noisy_exposure: float  # the largest exposure of the others
    #: How often the best estimate is expected to be the true count; None if the variance of the
    #: noise is not known
    expected: float | None
    found: float | None  # how often it is. CONFIDENTIAL
    #: How often the published figure itself is: the level of chance. CONFIDENTIAL
    unchanged: float | None


@dataclass(frozen=True, kw_only=True)
class BoundedCells:
    """Cells that bounds narrow down."""

    cells: int  # number of cells
    determined: int  # number of those that can be one count only
    one_or_two: int  # number of those that are surely 1 or 2
    narrow: int  # number of those with at most three counts
    contradicted: int  # number of those that fit no count: the noise is larger than assumed
    #: Number of parts of small sums that one sum makes 95 % sure; None unless the whole table is
    #: known
    likely: int | None
    right: float | None  # share of these that are as thought. CONFIDENTIAL


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackedUniverse:
    """The attacks on the tables of one universe."""

    name: str  # the universe
    layers: list[AveragedLayer]  # averaging, per layer, the most exposed first
    bounds: BoundedCells | None  # what bounds leave open; None if nothing is known of the noise
    parameters: FoundParameters  # what can be found out about the noise
    groups: list[GroupDisclosures]  # rows that tell a category
    #: Cells that two tables show with different figures, and where first
    contradictions: tuple[int, str]
    left_out: list[str]  # tables that hold no counts
    variance: float  # the variance of the noise, found or known. SECRET
    regular: bool  # whether the noise does not look drawn by record keys
    #: Per table in order, by how much it adds to the exposure of the total
    growth: list[tuple[str, float]]

    @property
    def needed(self) -> float:
        """The variance with which averaging is expected to succeed in 60 % at most. SECRET."""
        return max((layer.noisy_exposure for layer in self.layers), default=0.0) / _TOLERATED


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackReport(SecretValues, Judged):
    """Results of all attacks, in figures and in words. SECRET; CONFIDENTIAL with true tables.

    Args:
        universes: Per universe.
        twins: Sets that differ by few records.
        shared: Universes whose figures carry the same noise.
        values: What is found out of sums, per universe and figure.
        alike: Columns or periods whose noise has the same sign.
        bare: Figures that tell by themselves.
        knows: What the attacker knew.
        limits: What single attacks may find, by their rates; of all others nothing may be found.
        gaps: What attacks do not examine, since names and codes do not tell it.
    """

    universes: list[AttackedUniverse]
    twins: list[NearTwins]
    shared: list[SharedNoise]
    values: list[AttackedValues]
    alike: list[AlikeNoise]
    bare: list[BareFigures]
    knows: str
    limits: Mapping[str, float] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()

    def rates(self) -> dict[str, float | int | None]:
        """The main figures, none of a single cell.

        - average: how often averaging finds the true count in the worst layer (as expected,
          without true tables)
        - exposure: the largest exposure of a cell
        - determined: number of cells that can be one count only
        - twins: number of pairs of sets that differ by few records
        - groups: number of rows that tell a category
        - contradictions: number of cells that two tables show with different figures
        - shared: number of pairs of universes with one noise: their differences are exact
        - official: number of official sums of at most three parts, which tell their noise
        - regular: number of universes whose noise does not look drawn by record keys
        - alike: number of pairs of columns, or periods, whose noise has the same sign
        - values: how often the largest of few contributions to a sum is found within 10 %, in the
          worst column; unknown without true tables
        - whole: number of shares of everything: all records have it
        - uncounted: number of figures shown beside a hidden count
        """
        layers = [layer for one in self.universes for layer in one.layers]
        large = [layer for layer in layers if layer.cells >= _ENOUGH] or layers
        hits = [item.expected if item.found is None else item.found for item in large]
        known = [hit for hit in hits if hit is not None]
        bounds = [one.bounds for one in self.universes if one.bounds is not None]
        return {
            "average": max(known, default=None),
            "exposure": max((layer.exposure for layer in layers), default=0.0),
            "determined": sum(bound.determined for bound in bounds) if bounds else None,
            "twins": len(self.twins),
            "groups": sum(group.single for one in self.universes for group in one.groups),
            "contradictions": sum(one.contradictions[0] for one in self.universes),
            "shared": len(self.shared),
            "official": sum(one.parameters.official for one in self.universes),
            "regular": sum(one.regular for one in self.universes),
            "alike": len(self.alike),
            "values": max(
                (max(value.published or 0.0, value.averaged or 0.0) for value in self.values
                 if value.dominated is not None), default=None if self.values else 0.0,
            ),
            "whole": sum(item.whole for item in self.bare),
            "uncounted": sum(item.uncounted for item in self.bare),
        }  # fmt: skip

    def outcomes(self) -> list[AttackOutcome]:
        """The result of each attack, with the reader who can carry it out.

        The exposure of cells is no attack, but what averaging rests on: it counts if it has a
        limit.
        """
        return [
            AttackOutcome(attack=name, reader=READERS[name], rate=rate, limit=self.limits.get(name))
            for name, rate in self.rates().items()
            if name != "exposure" or name in self.limits
        ]

    @property
    def judgement(self) -> DisclosureVerdict:
        """One verdict on all attacks; what a single attack may find says `AttackOutcome`."""
        return self.judged(self.outcomes())

    def judged(self, outcomes: list[AttackOutcome]) -> DisclosureVerdict:
        """One verdict on some of the attacks; tables that they leave out are not examined."""
        unknown = [Gap("attack", o.words()[0]) for o in outcomes if o.verdict == "not examined"]
        if left_out := [name for one in self.universes for name in one.left_out]:
            unknown.append(Gap("attacked-tables", ", ".join(left_out), len(left_out)))
        opened = (one.words()[0] for one in outcomes if one.verdict == "open")
        return DisclosureVerdict.of(opened, [*unknown, *self.gaps])

    def sentence(self, outcomes: list[AttackOutcome], language: str = "en") -> str:
        """The verdict on some of the attacks in words, with their limits."""
        return verdict_sentence(self.judged(outcomes), language, outcomes)

    def gap_lines(self, language: str = "en") -> list[str]:
        """Gaps that no attack examines, with remedies, in words."""
        return DisclosureVerdict.of((), self.gaps).lines(language)

    def exceeded(self, limits: Mapping[str, float] | None = None) -> list[str]:
        """The rates above limits, in words; above its own, or not examined, if none are named.

        Raises:
            PerturbationError: There is no such rate, or it could not be worked out.
        """
        rates = self.rates()
        if limits is not None:
            return exceeded_limits(rates, limits)
        own = [(name, self.limits[name]) for name in rates if name in self.limits]
        known = {name: limit for name, limit in own if rates[name] is not None}
        unknown = [f"{name} is not examined" for name, _ in own if name not in known]
        return [*exceeded_limits(rates, known), *unknown]

    def described(self) -> dict[str, Any]:
        """Everything as plain values, for JSON. SECRET."""
        return {
            "verdict": self.verdict,
            "attacks": [one.described() for one in self.outcomes()],
            "not_examined": [gap.described() for gap in self.judgement.gaps],
            "knows": self.knows,
            "limits": dict(self.limits),
            "rates": self.rates(),
            **{
                name: [asdict(item) for item in getattr(self, name)]
                for name in ("twins", "shared", "values", "alike", "bare")
            },
            "universes": [
                {
                    "universe": one.name,
                    "layers": [asdict(layer) for layer in one.layers],
                    "bounds": None if one.bounds is None else asdict(one.bounds),
                    "parameters": {
                        name: None if isinstance(value, float) and math.isnan(value) else value
                        for name, value in asdict(one.parameters).items()
                    },
                    "groups": [asdict(group) for group in one.groups],
                    "contradictions": one.contradictions[0],
                    "left_out": one.left_out,
                }
                for one in self.universes
            ],
        }

    def text(self) -> str:
        """The verdict, each attack, and the findings in words, with what would help. SECRET."""
        outcomes = self.outcomes()
        lines = [self.sentence(outcomes), *(f"  {one.line()}" for one in outcomes)]
        lines += self.gap_lines()
        for own in attack_listings(self, "en"):
            lines += own.lines("en")
        return "\n".join(lines)


def exceeded_limits(
    rates: Mapping[str, float | int | None], limits: Mapping[str, float]
) -> list[str]:
    """The rates above their limits, in words.

    Raises:
        PerturbationError: There is no such rate, or it could not be worked out.
    """
    exceeded = []
    for name, limit in limits.items():
        rate = rates.get(name)
        if rate is None:
            message = f"unknown rate {name!r}"
            if name in rates:
                message = f"{name} cannot be computed without the noise parameters"
            hint = f"rates: {', '.join(rates)}"
            raise PerturbationError(message, code="attack", where="fail-over", hint=hint)
        if rate > limit:
            exceeded.append(f"{name} is {number(rate, 'en')}, above {number(limit, 'en')}")
    return exceeded


def attacked(
    universes: Mapping[str, Sequence[ProtectedTable]] | PublishedFigures,
    *,
    knows: Knows = "table",
    ptable: PerturbationTable | None = None,
    max_noise: int | None = None,
    truth: Mapping[str, Sequence[Table | None]] | None = None,
    limits: Mapping[str, float] | None = None,
) -> AttackReport:
    """Carry out all attacks on tables of counts.

    >>> from discreet.publication.examples import census_example
    >>> attacked({"": [census_example()]}, knows="maximum", max_noise=2).rates()["twins"]
    0
    """
    if knows not in ("table", "maximum"):
        hint = 'use knows="table" or knows="maximum"'
        raise PerturbationError(
            f"unknown prior knowledge {knows!r}", code="attack", where="knows", hint=hint
        )
    published = (
        universes
        if isinstance(universes, PublishedFigures)
        else PublishedFigures.of(universes, truth)
    )
    odds = None if ptable is None else NoiseOdds.of(ptable)
    known = None
    if ptable is not None and knows == "table":
        known = NoiseRange.of_table(ptable)
    elif odds is not None or max_noise is not None:
        own = 0 if odds is None else int(np.abs(odds.chances.noise).max())
        known = NoiseRange.of_maximum(own if max_noise is None else max_noise)
    return AttackReport(
        universes=[_universe(system, odds, known) for system in published.systems.values()],
        twins=near_twins(published),
        shared=shared_noise(published),
        values=attacked_values(published),
        alike=alike_noise(published),
        bare=list(published.bare),
        knows=knows,
        limits=limits or {},
        gaps=published.gaps,
    )


def _universe(
    system: PublishedCells, odds: NoiseOdds | None, known: NoiseRange | None
) -> AttackedUniverse:
    parameters = found_parameters(system)
    variance = parameters.variance if odds is None else odds.variance
    staying = parameters.staying if odds is None else odds.staying
    layers = [
        _layer(system, item, variance, staying)
        for item in best_estimates(system, variance).values()
    ]
    # What the layers that each table shows first add to the exposure of the total.
    growth: dict[str, float] = {}
    for published in system.layers.values():
        occupied = int(np.count_nonzero(published.value))
        if published.tables and occupied:
            growth[published.tables[0]] = growth.get(published.tables[0], 0.0) + 1 / occupied
    return AttackedUniverse(
        name=system.name,
        layers=sorted(
            (layer for layer in layers if layer.cells),
            key=lambda layer: (-layer.exposure, layer.layer),
        ),
        bounds=None if known is None else _bounds(system, known),
        parameters=parameters,
        groups=group_disclosures(system),
        contradictions=(system.contradictions, system.contradicting),
        left_out=system.left_out,
        variance=variance if np.isfinite(variance) else 0.0,
        regular=parameters.constant or parameters.unlike(variance),
        growth=list(growth.items()),
    )


def best_estimates(system: PublishedCells, variance: float) -> dict[LayerKey, EstimatedCells]:
    """The estimates of all cells; against true counts, those that find most of three ways.

    An attacker may take zeros for small counts that were changed, for true zeros, or for figures
    like all others.
    """
    cells = estimated(system, variance)
    judged = [key for key, own in cells.items() if own.layer.true is not None]
    if not judged:
        return cells
    ways = [cells, estimated(system, variance, zeros="true", leverages=False)]
    whole = filled(system)
    ways += [] if whole is None else [estimated(whole, variance, zeros="noisy", leverages=False)]
    best, most = ways[0], -1
    for way in ways:
        hits = 0
        for key in judged:
            own, layer = cells[key].noisy, cells[key].layer
            estimate = way[key].estimate[way[key].layer.at(layer.ids)]
            hits += int((np.rint(estimate) == layer.truth(layer.ids))[own].sum())
        if hits > most:  # the first of those that find as many
            best, most = way, hits
    return {
        key: replace(own, estimate=best[key].estimate[best[key].layer.at(own.layer.ids)])
        for key, own in cells.items()
    }


def _layer(
    system: PublishedCells, counts: EstimatedCells, variance: float, staying: float
) -> AveragedLayer:
    """Averaging, of an attacker who takes the published figure where that is likelier right."""
    layer, seen = counts.layer, counts.noisy
    exposure, estimate, shown = (
        np.asarray(column[seen], dtype=np.float64)
        for column in (counts.exposure, counts.estimate, layer.value)
    )
    hit = unchanged = expected = None
    if np.isfinite(variance) and seen.any():
        chances = averaging_successes(variance, exposure)
        if np.isfinite(staying):
            estimate = np.where(chances < staying, shown, estimate)
            chances = np.maximum(chances, staying)
        expected = float(chances.mean())
    if layer.true is not None and seen.any():
        true = layer.truth(layer.ids[seen])
        hit, unchanged = (float((own == true).mean()) for own in (np.rint(estimate), shown))
    return AveragedLayer(
        layer=system.title(layer.key),
        variables=tuple(dict.fromkeys(system.axes[axis].variable for axis, _ in layer.key)),
        cells=int(seen.sum()),
        exposure=float(exposure.max(initial=0.0)),
        mean_exposure=float(exposure.mean()) if seen.any() else 0.0,
        exact=int((exposure > _EXACT).sum()),
        noisy_exposure=float(exposure[exposure <= _EXACT].max(initial=0.0)),
        expected=expected, found=hit, unchanged=unchanged,
    )  # fmt: skip


def _bounds(system: PublishedCells, known: NoiseRange) -> BoundedCells:
    bounds = bounded(system, known)
    contradicted = sum(int((low > high).sum()) for low, high in bounds.values())
    bounds = bounds if contradicted else resolved(system, bounds, known)
    found = np.zeros(4, dtype=np.int64)  # all cells, those of one count, of 1 or 2, of at most 3
    for key, layer in system.layers.items():
        low, high = bounds[key]
        seen = ((layer.value != 0) | ~layer.shown) & ~layer.official & (low <= high)
        kinds = seen, low == high, (low >= 1) & (high <= 2), high - low <= 2
        found += [int((seen & kind).sum()) for kind in kinds]
    likely = right = None
    if known.chances is not None:
        likely, hits, judged = 0, 0, False
        for step in system.steps():
            if (found_counts := likeliest(step, known.chances)) is None:
                continue
            at, count, chance = found_counts
            sure = chance >= _SURE
            likely += int(sure.sum())
            if step.fine.true is not None:
                judged = True
                true = step.fine.truth(step.fine.ids[at[sure]])
                hits += int((true == count[sure]).sum())
        right = hits / likely if judged and likely else None
    cells, determined, small, narrow = found.tolist()
    return BoundedCells(
        cells=cells, determined=determined, one_or_two=small, narrow=narrow,
        contradicted=contradicted, likely=likely, right=right,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AttackListing:
    """A table of what attacks found. SECRET."""

    title: str
    columns: Sequence[str]  # names of words
    rows: list[list[Any]]
    bars: Sequence[tuple[str, float, str]] = ()  # label, size and text of what is drawn
    full: float = 0  # the size of a full bar; the largest if 0
    identifier: str = ""  # of the chart
    shown: int = 5  # so many rows stand in texts

    def lines(self, language: str) -> Iterator[str]:
        """The first rows as lines of text."""
        words = words_of_listings(language)
        if self.rows:
            yield f"{self.title}:"
        for first, *others in self.rows[: self.shown]:
            texts = [own if isinstance(own, str) else number(own, language) for own in others]
            if len(texts) > 1:
                named = zip(self.columns[1:], texts, strict=True)
                texts = [f"{words[column]}: {own}" for column, own in named if own != _NONE]
            yield f"  {first}: {'; '.join(texts)}"


def words_of_listings(language: str) -> dict[str, str]:
    """Names of attacks, readers, verdicts and columns."""
    return {**texts_of(PACKAGE, "outcomes", language), **texts_of(PACKAGE, "listings", language)}


def remedies_of(report: AttackReport, language: str) -> list[tuple[str, str, str]]:
    """Each attack that finds something, what would help against it, and the price of that."""
    rates, text = report.rates(), words_of_listings(language)
    attacks = [one.attack for one in report.outcomes() if one.attack != "exposure"]
    words = {name: number(rates[name] or 0, language, 0) for name in attacks}
    worst = max(
        report.universes, key=lambda one: one.needed / max(one.variance, 1e-9), default=None
    )
    if worst is not None:
        words["variance"] = number(worst.needed, language)
        words["exposure"] = number(_TOLERATED * worst.variance, language)
        words["times"] = number(math.sqrt(worst.needed / max(worst.variance, 1e-9)), language, 1)
    averaging = worst is not None and worst.needed > worst.variance
    return [
        (text[name], text[f"{name} helps"].format(**words), text[f"{name} price"].format(**words))
        for name in attacks
        if rates[name] and (name != "average" or averaging)
    ]


def attack_listings(report: AttackReport, language: str) -> Iterator[AttackListing]:
    """All that a report found, universe by universe, in words of a language. SECRET."""
    text = words_of_listings(language)

    def figure(value: float | None, decimals: int = 2) -> str:
        return _NONE if value is None else number(value, language, decimals)

    def share(value: float | None) -> str:
        return _NONE if value is None else percent(value, language)

    def known(value: Any) -> Any:
        return _NONE if value is None else value

    def listed(title: str, columns: Sequence[str], rows: Any, **more: Any) -> AttackListing:
        every = [list(row) for row in rows]
        return AttackListing(title=title, columns=columns, rows=every, **more)

    # Sets that differ by few records, and those whose figures carry the same noise.
    yield listed(
        text["twins"],
        ("sets", "unequal", "compared", "difference", "first cell"),
        [
            (f"{twin.first} | {twin.second}", twin.unequal, twin.compared,
             known(twin.difference), ", ".join(twin.cells) or _NONE)
            for twin in report.twins[:_MOST]
        ],
    )  # fmt: skip
    for at, one in enumerate(report.universes):
        several = f" – {one.name}" if len(report.universes) > 1 else ""
        rows: list[list[Any]] = []
        bars, worst = [], dict[str, tuple[float, float]]()
        for place, layer in enumerate(one.layers):
            if place < _MOST:
                shares = [share(own) for own in (layer.expected, layer.found, layer.unchanged)]
                exposure = figure(layer.noisy_exposure or None)
                rows.append([layer.layer, layer.cells, exposure, layer.exact or _NONE, *shares])
            hit = layer.expected if layer.found is None else layer.found
            if hit is not None:
                bars += [(layer.layer, hit, share(hit))] if place < _MOST else []
                for name in layer.variables:  # the worst layer that each is part of
                    old = worst.get(name, (0.0, 0.0))
                    worst[name] = (max(old[0], hit), max(old[1], layer.noisy_exposure))
        columns: tuple[str, ...] = (
            "layer", "cells", "exposure", "exact", "expected", "found", "unchanged"
        )  # fmt: skip
        drawn: dict[str, Any] = {"bars": bars, "full": 1, "identifier": f"layers-{at}"}
        yield listed(text["by subtable"] + several, columns, rows, **drawn)
        order = sorted(worst, key=lambda name: (-worst[name][0], name))
        drawn = {"full": 1, "identifier": f"variables-{at}"}
        yield listed(
            text["by variable"] + several,
            ("variable", "average", "exposure"),
            [(name, share(worst[name][0]), figure(worst[name][1])) for name in order],
            bars=[(name, worst[name][0], share(worst[name][0])) for name in order],
            **drawn,
        )
        # The exposure of the total as tables are added, those that add most.
        sums = accumulate(own for _, own in one.growth)
        added = [(table, own, up) for (table, own), up in zip(one.growth, sums, strict=True)]
        most = sorted(added, key=lambda item: -item[1])[:_MOST]
        chosen = [item for item in added if item in most]
        yield listed(
            text["growth"] + several,
            ("table", "adds", "together"),
            [(table, figure(own, 3), figure(up)) for table, own, up in chosen],
            bars=[(table, up, figure(up)) for table, _, up in chosen],
            identifier=f"growth-{at}",
        )
        facts = _facts(one, text, figure, share)
        yield listed(text["others"] + several, ("what", "number"), facts, shown=15)
    # What sums, shares, means and pairs of columns tell.
    columns = ("figure", "cells", "exposure", "dominated", "published found", "averaged found",
               "by chance", "within")  # fmt: skip
    yield listed(
        text["sums of values"],
        columns,
        [
            (value.figure, value.cells, figure(value.exposure), known(value.dominated),
             share(value.published), share(value.averaged), share(value.chance),
             f"{10 if value.p_percent is None else value.p_percent:g} %")
            for value in report.values[:_MOST]
        ],
    )  # fmt: skip
    pairs = ((f"{p.first} | {p.second}", p.sums, p.alike) for p in report.alike[:_MOST])
    yield listed(text["pairs alike"], ("sets", "all sums", "same direction"), pairs)
    pairs = ((f"{p.first} | {p.second}", p.sums, p.equal) for p in report.shared[:_MOST])
    yield listed(text["shared"], ("sets", "all sums", "equal noise"), pairs)
    bare = ((f"{b.table}: {b.figure}", b.whole, b.uncounted) for b in report.bare[:_MOST])
    yield listed(text["bare"], ("figure", "whole", "uncounted"), bare)
    yield listed(text["remedies"], ("attack", "helps", "price"), remedies_of(report, language))


def _facts(
    one: AttackedUniverse,
    text: Mapping[str, str],
    figure: Callable[[float], str],
    share: Callable[[float], str],
) -> Iterator[tuple[str, Any]]:
    """What bounds leave open, the parameters of the noise, and groups of one category."""
    bounds, noise = one.bounds, one.parameters
    if bounds is not None:
        for name in ("determined", "one_or_two", "narrow", "contradicted", "likely"):
            if (count := getattr(bounds, name)) is not None:
                yield text[name], count
        if bounds.right is not None:
            yield text["right"], share(bounds.right)
    if noise.sums:
        yield text["sums"], noise.sums
        yield text["largest"], noise.largest
        if math.isfinite(noise.variance):
            yield text["variance"], f"{figure(noise.variance)} ± {figure(2 * noise.error)}"
        if math.isfinite(noise.staying):
            yield text["staying"], share(noise.staying)
        if noise.never:
            yield text["never"], ", ".join(map(str, noise.never))
    if one.contradictions[0]:
        yield f"{text['contradictions']}: {one.contradictions[1]}", one.contradictions[0]
    yield from ((text["left out"], name) for name in one.left_out)
    yield from ((f"{text['groups']}: {g.layer}", g.single) for g in one.groups[:_MOST])


#: Who carries an attack out: anybody; who knows a person; who contributes; who knows one column or
#: period; who keeps earlier releases.
AttackReader = Literal["public", "acquaintance", "contributor", "owner", "keeper"]
#: So many of the best estimates of averaging may be right; of all else nothing may be found.
_TOLERATED_RATES = {"average": 0.6}
READERS: dict[str, AttackReader] = {
    "average": "public", "exposure": "public", "determined": "public", "twins": "acquaintance",
    "groups": "public", "contradictions": "keeper", "shared": "public", "official": "public",
    "regular": "public", "alike": "owner", "values": "contributor", "whole": "public",
    "uncounted": "public",
}  # fmt: skip
#: Attacks whose rates are shares of success; of all others they are numbers.
SHARES = ("average", "values")
#: Where the words of attacks stand.
PACKAGE = "discreet.assessment.attacks"


@dataclass(frozen=True, kw_only=True)
class AttackOutcome:
    """Result of one attack.

    >>> AttackOutcome(attack="twins", reader="acquaintance", rate=2).line()
    'Sets that differ by few persons (readers who know a respondent): 2 – open'
    """

    attack: str  # the name of its rate
    reader: AttackReader
    rate: float | int | None  # what it found, or how often it succeeds; None if not examined
    limit: float | None = None  # what it may find; None where nobody states a limit

    @property
    def verdict(self) -> VerdictWord:
        """Whether it finds more than it may."""
        if self.rate is None:
            return "not examined"
        most = _TOLERATED_RATES.get(self.attack, 0) if self.limit is None else self.limit
        return "open" if self.rate > most else "safe"

    def words(self, language: str = "en") -> tuple[str, str, str]:
        """The attack, its reader and its verdict in words."""
        texts = texts_of(PACKAGE, "outcomes", language)
        limited = "" if self.limit is None or self.rate is None else "-limit"
        verdict = texts[f"{self.verdict.replace(' ', '-')}{limited}"]
        return texts[self.attack], texts[self.reader], verdict

    def line(self) -> str:
        """As a line of a report."""
        attack, reader, verdict = self.words()
        figures = "" if self.rate is None else self._number(self.rate)
        if figures and self.limit is not None:
            figures += f" (limit {self._number(self.limit)})"
        return f"{attack} ({reader}): {' – '.join(filter(None, (figures, verdict)))}"

    def _number(self, rate: float) -> str:
        if self.attack in SHARES:
            return f"{100 * rate:.1f} %"
        return number(rate, "en")

    def described(self) -> dict[str, str | float | None]:
        """As plain values, for JSON."""
        return {**asdict(self), "verdict": self.verdict}


def verdict_sentence(
    verdict: DisclosureVerdict, language: str = "en", outcomes: Sequence[AttackOutcome] = ()
) -> str:
    """A verdict on attacks in words: nothing is said of readers who do something else.

    Where attacks have limits, it says whether the release keeps within them, and what is open or
    not examined beside them.
    """
    texts = texts_of(PACKAGE, "outcomes", language)
    words = {one.verdict for one in outcomes if one.limit is not None}
    if not words:
        return verdict.sentence(texts["subject"], language)
    worst = next(word for word in ("open", "not examined", "safe") if word in words)
    sentences = [texts[f"{worst.replace(' ', '-')}-limits"]]
    others = [one for one in outcomes if one.limit is None and one.verdict == "open"]
    if others:
        named = ", ".join(one.words(language)[0] for one in others)
        sentences.append(texts["open-others"].format(attacks=named))
    if verdict.gaps and worst != "not examined":
        sentences.append(texts["not-examined-others"])
    return " ".join(sentences)
