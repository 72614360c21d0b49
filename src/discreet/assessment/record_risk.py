"""Risk of records: who can be found in a file by what others know of them.

In: records, CONFIDENTIAL, and the variables that others know. Out: `RecordRisk`, CONFIDENTIAL; its
`rates` name no record and no code. What the measures are is in docs/methods/record-methods.md.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.assessment.settings import RecordRiskSettings
from discreet.assessment.words import number, percent, words_of
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, PublicationError, raise_all
from discreet.files import write_text
from discreet.microdata import check_identifiers, name_list, open_frame, require_columns
from discreet.pretabular import InputRecords, check_codes, places, record_method, suspicion
from discreet.record_batches import collected
from discreet.tables import Spanning, Table
from discreet.tabulation import Query, tabulate

#: Classes of frequencies that reports show: up to, and including.
CLASSES = (1, 2, 4, 9, 99)
#: Groups of so many records count as large; and points of an integral.
_POINTS = 32
_PAGE = files("discreet.assessment").joinpath("record_risk.html").read_text("utf-8").rstrip()


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordRisk:
    """Re-identification risk of the units in a file. CONFIDENTIAL.

    Args:
        records: One row per record, in order: `frequency` in the file, `population` (estimated, if
            there are weights), `risk`, `special_sets` and `score` (special uniques).
        keys: The variables that others know.
        rates: Indicators, by name: counts and shares only.
        classes: Number of records by how often their combination occurs: up to 1, 2, 4, 9, 99, all.
        contributions: Variable → share of the special sets of variables that it is part of.
        diversity: Sensitive variable → fewest different values, and the least entropy as a number
            of values, among records that are alike; share of records with one value only.
    """

    records: pl.DataFrame
    keys: tuple[str, ...]
    rates: Mapping[str, float]
    classes: Mapping[str, int]
    contributions: Mapping[str, float]
    diversity: Mapping[str, Mapping[str, float]]

    def levels(self) -> dict[str, dict[str, Any]]:
        """Indicators for each level of anonymity in German law, without a verdict."""
        names = {
            "formal": ("identifying_columns",),
            "factual": ("expected_found", "largest_risk", "above_limit", "unique", "special"),
            "absolute": ("unique", "below_k", "only_one_value"),
        }
        single = sum(one["only_one_value"] for one in self.diversity.values())
        rates = {**self.rates, "only_one_value": single}
        return {level: {name: rates[name] for name in own} for level, own in names.items()}

    def described(self) -> dict[str, Any]:
        """For programs: everything that names no record."""
        return {
            "keys": list(self.keys), "rates": dict(self.rates), "classes": dict(self.classes),
            "contributions": dict(self.contributions),
            "diversity": {name: dict(one) for name, one in self.diversity.items()},
            "levels": self.levels(),
        }  # fmt: skip

    def text(self, language: str = "en") -> str:
        """The report in plain words."""
        lines = self._lines(language)
        return "\n".join(f"{label}: {figure}" if figure else label for label, figure in lines)

    def write(self, path: str | os.PathLike[str], *, language: str = "en") -> Path:
        """Write the report as .html, .txt or .json, readable by its owner only."""
        place = Path(path)
        writers = {".txt": self.text, ".html": self._page}
        if place.suffix == ".json":
            content = json.dumps(self.described(), indent=1) + "\n"
        elif place.suffix in writers:
            content = writers[place.suffix](language) + "\n"
        else:
            message = "unknown suffix of the report: use .html, .txt or .json"
            raise PublicationError(message, code="format", where=str(place))
        write_text(place, content, private=True)
        return place

    def told(self, language: str = "en") -> list[tuple[str, str]]:
        """Each indicator once: what it is called, and its figure.

        Args:
            language: "en" or "de".
        """
        every = {name: value for part in self.levels().values() for name, value in part.items()}
        return [self._indicator(name, value, language) for name, value in every.items()]

    def _indicator(self, name: str, value: Any, language: str) -> tuple[str, str]:
        counted = isinstance(value, int) or name in ("expected_found",)
        figure = number(round(value, 1), language) if counted else percent(value, language)
        return words_of("records", language)[name].format(**self.rates), figure

    def _lines(self, language: str) -> list[tuple[str, str]]:
        words, rates = words_of("records", language), self.rates
        shown = [(words["title"].format(keys=", ".join(self.keys)), "")]
        shown += [(words["records"], number(int(rates["records"]), language))]
        for level, indicators in self.levels().items():
            shown.append((words[level], ""))
            for name, value in indicators.items():
                label, figure = self._indicator(name, value, language)
                shown.append((f"  {label}", figure))
        shown.append((words["classes"], ""))
        for name, count in self.classes.items():
            share = percent(count / max(rates["records"], 1), language)
            shown.append((f"  {name}", f"{number(count, language)} ({share})"))
        if self.contributions:
            shown.append((words["contributions"], ""))
            ranked = sorted(self.contributions.items(), key=lambda one: -one[1])
            shown += [(f"  {name}", percent(share, language)) for name, share in ranked]
        for name, one in self.diversity.items():
            shown.append((words["diversity"].format(name=name), ""))
            shown.append((f"  {words['fewest']}", number(int(one["fewest"]), language)))
            shown.append((f"  {words['entropy']}", number(round(one["entropy"], 2), language)))
            shown.append((f"  {words['only_one_value']}", percent(one["share"], language)))
        return [*shown, (words["end"], "")]

    def _page(self, language: str) -> str:
        """The report as a page that works without a network; bars show shares."""
        rows = []
        for label, figure in self._lines(language):
            if not figure:
                rows.append(f'<tr><th colspan="3">{escape(label)}</th></tr>')
                continue
            share, bar = figure[figure.rfind("(") + 1 :].rstrip(")"), ""
            if "%" in share:
                digits = re.sub(r"[^\d.]", "", share.replace(",", "."))
                bar = f'<i style="width:{min(float(digits or 0), 100.0)}%"></i>'
            rows.append(f"<tr><td>{escape(label)}</td><td>{escape(figure)}</td><td>{bar}</td></tr>")
        title = escape(words_of("records", language)["title"].format(keys=", ".join(self.keys)))
        return _PAGE.format(language=language, title=title, rows="\n".join(rows))

    def __repr__(self) -> str:
        return f"<RecordRisk: {self.records.height:,} records, {len(self.keys)} keys>"


@record_method(RecordRiskSettings)
def assess_records(held: InputRecords, settings: RecordRiskSettings) -> RecordRisk:
    """Assess how easily units of a file are re-identified by their key variables.

    Options are those of `RecordRiskSettings`.

    >>> people = pl.DataFrame({"sex": ["m", "m", "f", "f"], "age": [30, 30, 30, 40]})
    >>> found = assess_records(people, keys=["sex", "age"])
    >>> found, found.records["frequency"].to_list(), found.rates["unique"]
    (<RecordRisk: 4 records, 2 keys>, [2, 2, 1, 1], 0.5)
    """
    named, weight, sensitive = settings.keys, settings.weight, settings.sensitive
    used = [*named, *sensitive, *([weight] if weight else [])]
    held.columns(used)
    check_codes(held, [*named, *sensitive])
    columns = held.columns(named)

    def alike(weights: FloatArray | None = None) -> Any:
        """How many records, or how much weight, have the codes of each."""
        if settings.missing == "any":
            return _any_frequencies(columns, weights)
        at = places(columns)
        return np.bincount(at, weights)[at]

    frequency = alike().astype(np.int64)
    if weight is None:
        estimated, risk = frequency.astype(np.float64), 1.0 / np.maximum(frequency, 1)
    else:
        column = held.columns([weight]).to_series()
        wrong = not column.dtype.is_numeric() or column.null_count() > 0
        weights = column.cast(pl.Float64, strict=False).to_numpy()
        if wrong or not (np.isfinite(weights) & (weights > 0)).all():
            hint = "a weight is the number of units in the population that a record represents"
            message = "weights must be above 0"
            raise MicrodataError(message, code="weights", where=weight, hint=hint)
        estimated = np.maximum(alike(weights), frequency)
        risk = individual_risk(frequency, frequency / estimated)
    sets, score, shares = special_uniques(columns, settings.special)
    # Columns that look as if they named someone.
    known = {*used, *settings.harmless}
    others = [name for name in held.frame.collect_schema().names() if name not in known]
    suspects = [name for name in others if suspicion(held.columns([name]).to_series())]
    size = max(len(risk), 1)
    rates = {
        "records": len(risk),
        "k": settings.k,
        "limit": settings.limit,
        "identifying_columns": len(suspects),
        "unique": float((frequency == 1).sum() / size),
        "below_k": float((frequency < settings.k).sum() / size),
        "expected_found": float(risk.sum()),
        "mean_risk": float(risk.sum() / size),
        "largest_risk": float(risk.max(initial=0.0)),
        "above_limit": float((risk > settings.limit).sum() / size),
        "special": float((sets > 0).sum() / size),
    }
    classes = {}  # records by how often their combination occurs
    for low, high in pairwise((0, *CLASSES, math.inf)):
        first = int(low) + 1
        last = "" if high == first else "+" if high == math.inf else f"–{high}"
        classes[f"{first}{last}"] = int(((frequency > low) & (frequency <= high)).sum())
    records = pl.DataFrame({
        "frequency": frequency, "population": estimated, "risk": risk,
        "special_sets": sets, "score": score,
    })  # fmt: skip
    return RecordRisk(
        records=records, keys=tuple(named), classes=classes, rates=rates, contributions=shares,
        diversity={name: _diversity(columns, held.columns([name])) for name in sensitive},
    )  # fmt: skip


def _any_frequencies(columns: pl.DataFrame, weights: FloatArray | None = None) -> Any:
    """Records that agree wherever both have a value; pattern by pattern of missing values."""
    names, size = columns.columns, "\0size"
    amount = pl.len() if weights is None else pl.col(size).sum()
    gaps = pl.concat_str(pl.all().is_null().cast(pl.Int8))
    data = columns.with_columns(pl.all().cast(pl.String)).with_columns(
        columns.select(gaps.alias("\0gaps"))["\0gaps"],
        **({} if weights is None else {size: pl.Series(weights)}),
    )
    parts = {str(key[0]): part for key, part in data.with_row_index("\0row").group_by("\0gaps")}
    frequencies = np.zeros(columns.height, dtype=np.int64 if weights is None else np.float64)
    for own_gaps, part in parts.items():
        rows = part["\0row"].to_numpy()
        for other_gaps, other in parts.items():
            pairs = zip(names, own_gaps, other_gaps, strict=True)
            both = [name for name, one, two in pairs if one == two == "0"]
            if not both:
                frequencies[rows] += other.select(amount).item()
                continue
            sums = other.group_by(both).agg(amount.alias("\0sum"))
            joined = part.select(both).join(sums, on=both, how="left", maintain_order="left")
            frequencies[rows] += joined["\0sum"].fill_null(0).to_numpy()
    return frequencies


def individual_risk(frequency: IntArray, share: FloatArray) -> FloatArray:
    """E(1 / F | f) of Benedetti and Franconi: F records of the population, f of them sampled.

    >>> individual_risk(np.array([1, 1, 2]), np.array([1.0, 0.1, 0.1])).round(6).tolist()
    [1.0, 0.255843, 0.082684]
    """
    from scipy.special import hyp2f1

    pairs, back = np.unique(np.column_stack([frequency, share]), axis=0, return_inverse=True)
    count, part = pairs.T
    few = part / count * hyp2f1(1, 1, np.minimum(count, _POINTS) + 1, 1 - part)
    # For many the function is not exact: of ∫ y^(f-1) π / (π + (1-π) y) dy, with y = exp(-t / f).
    t, sizes = np.polynomial.laguerre.laggauss(_POINTS)
    of, own = count[:, np.newaxis], part[:, np.newaxis]
    many = own / (own + (1 - own) * np.exp(-t / of)) @ sizes / count
    return np.asarray(np.where(count < _POINTS, few, many)[back.reshape(-1)], dtype=np.float64)


def special_uniques(
    columns: pl.DataFrame, largest: int
) -> tuple[IntArray, FloatArray, dict[str, float]]:
    """Sets of variables that make a record unique, without any that could be left out (SUDA).

    Gives for each record their number and its score, a set of s of m variables counting (m-s)!;
    and for each variable in what share of the sets it is.
    """
    names = columns.columns
    codes = {name: places(columns.select(name)) for name in names}
    sets = np.zeros(columns.height, dtype=np.int64)
    score = np.zeros(columns.height)
    taken = dict.fromkeys(names, 0)
    below: dict[tuple[str, ...], BoolArray] = {}
    joint: dict[tuple[str, ...], IntArray] = {}
    for size in range(1, min(largest, len(names)) + 1):
        unique: dict[tuple[str, ...], BoolArray] = {}
        joined: dict[tuple[str, ...], IntArray] = {}
        for chosen in combinations(names, size):
            at = codes[chosen[0]]
            if size > 1:
                last = codes[chosen[-1]]
                both = joint[chosen[:-1]] * (int(last.max(initial=0)) + 1) + last
                at = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)
            alone = np.bincount(at)[at] == 1
            minimal = alone.copy()
            for part in combinations(chosen, size - 1) if size > 1 else ():
                minimal &= ~below[part]
            sets += minimal
            score += minimal * math.factorial(len(names) - size)
            for name in chosen:
                taken[name] += int(minimal.sum())
            unique[chosen], joined[chosen] = alone, at
        below, joint = unique, joined
    total = int(sets.sum())
    return sets, score, {name: one / total for name, one in taken.items()} if total else {}


def _diversity(keys: pl.DataFrame, values: pl.DataFrame) -> dict[str, float]:
    """How many values those alike have: fewest, least entropy, share with one value only."""
    pairs = pl.DataFrame({"at": places(keys), "value": places(values)})
    counts = pairs.group_by("at", "value").len("n")
    shares = counts.with_columns(pl.col("n").sum().over("at").alias("all"))
    share = pl.col("n") / pl.col("all")
    classes = shares.group_by("at").agg(
        pl.len().alias("values"), pl.col("all").first(), (-(share * share.log())).sum().alias("h")
    )
    one = classes.filter(pl.col("values") == 1)["all"].sum()
    return {
        "fewest": int(np.min(classes["values"].to_numpy(), initial=len(pairs))),
        "entropy": float(np.exp(classes["h"].to_numpy().min(initial=math.inf))),
        "only_one_value": int(one),
        "share": float(one / max(pairs.height, 1)),
    }


# -- a changed file beside its original ------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordChanges:
    """Changes of values and codes between two files. CONFIDENTIAL.

    Args:
        rates: For all numbers together: `linked` (share whose nearest changed record is their
            own), `within` (share that lie within the window in all numbers), `information_loss`
            (mean distance in √2 standard deviations), `eigenvalues` (mean relative change). For
            all codes together: `alone` (share of changed records whose codes nobody else has),
            `alone_right` (share of these whose codes are their own, and nobody else's before),
            `grouped` (share in groups of the same codes in which all are alike in a sensitive
            variable), `grouped_right` (share of these of whom that is true).
        numbers: Variable → mean and standard deviation before and after, share changed.
        codes: Variables, joined by × → total variation and Hellinger distance of their table;
            for one variable also `true` (share of records whose code is true) and `surest` (the
            same for the code for which it is highest).
    """

    rates: Mapping[str, float]
    numbers: Mapping[str, Mapping[str, float]]
    codes: Mapping[str, Mapping[str, float]]

    def described(self) -> dict[str, Any]:
        """For programs."""
        return {"rates": dict(self.rates), "numbers": dict(self.numbers), "codes": dict(self.codes)}

    def text(self, language: str = "en") -> str:
        """The measures in plain words."""
        words = words_of("records", language)
        lines = [f"{words[name]}: {percent(value, language)}" for name, value in self.rates.items()]
        for name, one in self.codes.items():
            far = percent(one["total_variation"], language)
            lines.append(f"{words['variation'].format(names=name)}: {far}")
            if "true" in one:
                shares = [percent(one[item], language) for item in ("true", "surest")]
                lines.append(words["true"].format(*shares, name=name))
        for name, one in self.numbers.items():
            shown = {key: number(value, language, 4) for key, value in one.items()}
            shown["changed"] = percent(one["changed"], language)
            lines.append(words["numbers"].format(name=name, **shown))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return "<RecordChanges>"


@without_values
def compare_records(
    before: Any,
    after: Any,
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    numbers: Sequence[str] = (),
    codes: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    window: float = 0.05,
    links: int = 2_000,
) -> RecordChanges:
    """Hold changed records against their originals: what linking finds, and what was lost.

    Args:
        before: The original records: a frame or a path.
        after: The changed ones.
        id: Column, or columns, that identify a record in both; who is in one only is left out of
            measures of numbers.
        numbers: Columns of numbers.
        codes: Columns of codes, whose tables, one by one and two by two, are compared; attacked is
            who is unique by all of them.
        sensitive: What nobody is to learn of those with the same codes.
        window: Half the width of the interval around an original value, in standard deviations.
        links: So many originals, evenly spread over the identifiers, are linked.

    >>> people = pl.DataFrame({"id": [1, 2, 3, 4], "pay": [10.0, 20.0, 30.0, 40.0]})
    >>> same = compare_records(people, people, id="id", numbers=["pay"])
    >>> same.rates["linked"], same.rates["information_loss"]
    (1.0, 0.0)
    """
    first, second, ids = InputRecords(before, {}), InputRecords(after, {}), name_list(id, "id")
    both = [item.columns([*ids, *numbers, *codes, *sensitive]) for item in (first, second)]
    if set(numbers) & set(codes) or not [*numbers, *codes]:
        message = "name numbers, codes or both, each column once"
        raise MicrodataError(message, code="columns", where="numbers, codes")
    for held in (first, second):
        check_codes(held, codes)
    wrong = [n for n in numbers if not all(item[n].dtype.is_numeric() for item in both)]
    raise_all(MicrodataError, [Problem("not a number", n) for n in wrong], code="column-type")
    if any(item.select(ids).is_duplicated().any() for item in both):
        message = "several records have the same identifier"
        raise MicrodataError(message, code="identifiers", where=", ".join(ids))
    rates: dict[str, float] = {}
    moments: dict[str, dict[str, float]] = {}
    if numbers:
        keyed = [item.with_columns(pl.col(ids).cast(pl.String)).sort(ids) for item in both]
        common = keyed[0].join(keyed[1].select(ids), on=ids, how="semi").drop_nulls(numbers)
        changed = keyed[1].drop_nulls(numbers)
        common = common.join(changed, on=ids, suffix="\0", how="inner").sort(ids)
        old = common.select(pl.col(numbers).cast(pl.Float64)).to_numpy()
        new = common.select(pl.col(f"{n}\0").cast(pl.Float64) for n in numbers).to_numpy()
        rates = _measured(old, new, window, links)
        moments = {
            name: {
                "mean_before": float(old[:, at].mean()),
                "mean_after": float(new[:, at].mean()),
                "sd_before": float(old[:, at].std(ddof=1)),
                "sd_after": float(new[:, at].std(ddof=1)),
                "changed": float((old[:, at] != new[:, at]).mean()),
            }
            for at, name in enumerate(numbers)
        }
    tables = [*combinations(codes, 1), *combinations(codes, 2)]
    shares = {" × ".join(names): _distances(both[0], both[1], names) for names in tables}
    if codes:
        more, true = _attacked(both, ids, codes, sensitive)
        rates |= more
        shares = {name: {**one, **true.get(name, {})} for name, one in shares.items()}
    return RecordChanges(rates=rates, numbers=moments, codes=shares)


def _attacked(
    both: Sequence[pl.DataFrame], ids: Sequence[str], codes: Sequence[str], sensitive: Sequence[str]
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """What one who takes changed codes for true ones finds: rates, and per code how sure he is."""
    # How many records have the same codes as each.
    alike = pl.len().over([pl.col(name).cast(pl.String) for name in codes])
    texts = pl.col([*ids, *codes, *sensitive]).cast(pl.String)
    before, after = (item.with_columns(texts, alike=alike) for item in both)
    joined = after.join(before, on=ids, how="inner", suffix="\0")
    if joined.is_empty():
        raise MicrodataError("the two files share no record", code="records", where="id")
    own = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}\0")) for name in codes)
    unique = joined.filter(pl.col("alike") == 1)
    rates = {"alone": unique.height / joined.height}
    if unique.height:
        rates["alone_right"] = float(unique.select((own & (pl.col("alike\0") == 1)).mean()).item())
    for name in sensitive:
        groups = after.group_by(codes).agg(pl.col(name).n_unique().alias("values"))
        frame = joined.join(groups, on=codes, nulls_equal=True).filter(pl.col("values") == 1)
        share = {"grouped": frame.height / joined.height}
        if frame.height:
            right = pl.col(name).eq_missing(pl.col(f"{name}\0"))
            share["grouped_right"] = float(frame.select(right.mean()).item())
        # Of several variables the one that is told of most.
        rates |= share if share["grouped"] >= rates.get("grouped", 0.0) else {}
    true = {}
    for name in codes:
        same = pl.col(name).eq_missing(pl.col(f"{name}\0"))
        by_code = joined.group_by(name).agg(same.mean().alias("true"))["true"]
        mean = float(joined.select(same.mean()).item())
        true[name] = {"true": mean, "surest": float(np.max(by_code.to_numpy()))}
    return rates, true


def _measured(old: FloatArray, new: FloatArray, window: float, links: int) -> dict[str, float]:
    if len(old) < 2:
        raise MicrodataError(
            "the two files share fewer than two records", code="records", where="id"
        )
    spread = old.std(axis=0, ddof=1)
    spread = np.where(spread > 0, spread, 1.0)
    far = np.abs(new - old) / spread
    chosen = np.unique(np.linspace(0, len(old) - 1, min(links, len(old))).astype(np.int64))
    linked = 0
    for at in chosen.tolist():
        distance = np.square((new - old[at]) / spread).sum(axis=1)
        linked += bool(distance[at] <= distance.min() and (distance == distance[at]).sum() == 1)
    measures = {
        "linked": linked / len(chosen),
        "within": float((far <= window).all(axis=1).mean()),
        "information_loss": float(far.mean() / math.sqrt(2)),
    }
    if old.shape[1] > 1:
        first, second = (np.linalg.eigvalsh(np.cov((item / spread).T)) for item in (old, new))
        change = np.abs(first - second) / np.maximum(np.abs(first), 1e-12)
        measures["eigenvalues"] = float(np.mean(change))
    return measures


def _distances(before: pl.DataFrame, after: pl.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """How far apart two tables of shares are: total variation and Hellinger, 0 to 1."""
    shares = [
        item.select(pl.col(names).cast(pl.String)).group_by(names).agg(
            (pl.len() / item.height).alias("share")
        )
        for item in (before, after)
    ]  # fmt: skip
    joined = shares[0].join(shares[1], on=names, how="full", nulls_equal=True, suffix="\0")
    one, other = (joined[name].fill_null(0.0).to_numpy() for name in ("share", "share\0"))
    root = math.sqrt(max(0.0, 1.0 - float(np.sqrt(one * other).sum())))
    return {"total_variation": float(np.abs(one - other).sum() / 2), "hellinger": root}


_UNIT = "discreet_unit"
_FEWEST = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class RevisedCells:
    """The cells of a table that hold other units after a revision."""

    table: str  # name of the table
    least: int  # from how many units on a difference counts as large enough
    changed: int  # number of cells that hold other units than before
    few: int  # how many of them differ by fewer than that
    #: Each changed cell by its codes, and by how many units it differs. CONFIDENTIAL
    units: pl.DataFrame

    def text(self) -> str:
        """The findings, without naming a cell."""
        if not self.changed:
            return f"{self.table}: all cells have the same units as before."
        sentence = f"{self.table}: the units of {self.changed:,} cells changed"
        return f"{sentence}; in {self.few:,} cells fewer than {self.least} units changed."

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        fields = {"table": self.table, "least": self.least}
        return {**fields, "changed": self.changed, "few": self.few}

    def __repr__(self) -> str:
        return f"<RevisedCells of {self.table}: {self.few:,} of {self.changed:,} by few units>"


def revised_cells(
    first: Any,
    revised: Any,
    by: Sequence[Spanning],
    *,
    id: str,  # noqa: A002 - the word users know
    least: int = 3,
    where: str | None = None,
    name: str = "table",
) -> RevisedCells:
    """Hold the records of a revision against those that a table was first made of.

    Args:
        first: The records as they were first published.
        revised: The corrected records.
        by: What spans the table, as for `tabulate`.
        id: The column that identifies a unit in both.
        least: By how many units a cell must differ, if it does.
        where: Which records count.
        name: Name of the table.

    >>> first = pl.DataFrame({"id": [1, 2, 3], "area": ["a", "a", "b"], "work": [1, 0, 1]})
    >>> later = first.with_columns(work=pl.Series([1, 1, 1]))
    >>> found = revised_cells(first, later, ["area", "work"], id="id")
    >>> found
    <RevisedCells of table: 4 of 4 by few units>
    """
    if isinstance(least, bool) or not isinstance(least, int) or least < _FEWEST:
        message, hint = "least must be at least 2", "least=3"
        raise MicrodataError(message, code="least", where="least", hint=hint)
    columns = [
        column for column in dict.fromkeys(Query(by=by, where=where).columns) if column != id
    ]
    sides = []
    for frame in (first, revised):
        opened = open_frame(frame)
        require_columns(opened, [id, *columns])
        check_identifiers(opened, [id])
        held = collected(opened.select(id, *columns))
        sides.append(held.select(pl.col(id).cast(pl.String).alias(_UNIT), *columns))
    old, new = sides
    problems = [
        Problem(
            f"the type changed from {old[item].dtype} to {new[item].dtype}",
            item,
            "read both files with the same options",
        )
        for item in columns
        if old[item].dtype != new[item].dtype
    ]
    raise_all(MicrodataError, problems, code="column-type")
    counts = []
    for own, other in (sides, sides[::-1]):
        changed = own.join(other, on=[_UNIT, *columns], how="anti", nulls_equal=True)
        counts.append(_cells(changed, by, where))
    there = next((count for count in counts if count is not None), None)
    if there is None:
        return RevisedCells(table=name, least=least, changed=0, few=0, units=pl.DataFrame())
    old, new = (there.clear() if count is None else count for count in counts)
    codes = [column for column in old.columns if column not in (_UNIT, "count")]
    both = old.join(new, on=[*codes, _UNIT], how="full", coalesce=True, suffix=" new")
    apart = pl.col("count").fill_null(0) != pl.col("count new").fill_null(0)
    units = both.filter(apart).group_by(codes).agg(units=pl.len()).sort(codes)
    few = units.filter(pl.col("units") < least).height
    return RevisedCells(table=name, least=least, changed=units.height, few=few, units=units)


def _cells(changed: pl.DataFrame, by: Sequence[Spanning], where: str | None) -> pl.DataFrame | None:
    """The cells that each changed unit is in; None if there is none."""
    if changed.is_empty():
        return None
    table: Table = tabulate(changed, by=[*by, _UNIT], where=where)
    total = table.dimensions[-1].codes[0]
    cells = table.to_polars().filter((pl.col("count") > 0) & (pl.col(_UNIT) != total))
    names = [dimension.name for dimension in table.dimensions]
    return cells.select(pl.col(names).cast(pl.String), "count")
