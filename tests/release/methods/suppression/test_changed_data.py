"""Releases of data that have changed since: the pattern of then is preferred, both are audited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.protection.suppression.release.hidden_cells import table_of_then
from discreet.release import audit_release, protect
from tests.helpers.attacker_apart import Attacker
from tests.helpers.firm_programmes import (
    FIRST,
    PARTS,
    TOTAL,
    firms,
    published,
    rules,
    table_of,
    write,
)

CHANGE = 0.25
NOW = FIRST.replace(
    'method = "fast"', f'method = "fast"\nearlier = ["first"]\nearlier_change = {CHANGE}'
)


def revised() -> pl.DataFrame:
    """The same firms, a tenth of them with other turnover."""
    draw = np.random.default_rng(4)
    frame = firms()
    factor = np.where(draw.random(len(frame)) < 0.1, 1.2, 1.0)
    return frame.with_columns(turnover=(frame["turnover"] * factor).ceil().cast(pl.Int64))


@pytest.fixture
def changed(hidden_copy: Path) -> Path:
    """A release, and the data changed since."""
    revised().write_parquet(hidden_copy / "firms.parquet")
    write(hidden_copy, "now.toml", NOW)
    return hidden_copy


def sums_of(period: str, cells: Any) -> list[Any]:
    found = []
    for codes in cells:
        for at, parts in enumerate(PARTS.values()):
            children = parts.get(codes[at])
            own = [(*codes[:at], child, *codes[at + 1 :]) for child in children or []]
            if own and all(child in cells for child in own):
                found.append(({(period, codes): -1, **{(period, c): 1 for c in own}}, 0.0))
    return found


def attacked(old: Any, new: Any) -> Attacker:
    """Who has both releases and thinks that no value changed by more than a quarter."""
    shown = {("old", c): v for c, v in old.items() if v is not None}
    shown |= {("new", c): v for c, v in new.items() if v is not None}
    blanks: dict[Any, tuple[float, float]] = {
        (period, codes): (0.0, 1e9)
        for period, cells in (("old", old), ("new", new))
        for codes, value in cells.items()
        if value is None
    }
    sums = [*sums_of("old", old), *sums_of("new", new)]
    for codes in set(old) & set(new):
        if old[codes] is not None and new[codes] is not None:
            continue
        known = max(old[codes] or 0.0, new[codes] or 0.0)
        if known:
            # |new − old| ≤ share · max(new, old), where one of both is known.
            own = ("new" if old[codes] is not None else "old", codes)
            blanks[own] = (known * (1 - CHANGE) - 1, known / (1 - CHANGE) + 1)
    return Attacker(shown=shown, blanks=blanks, sums=sums)


def test_a_programme_says_that_values_may_have_changed(changed: Path) -> None:
    write(changed, "strict.toml", NOW.replace(f"\nearlier_change = {CHANGE}", ""))
    with pytest.raises(DiscreetError, match="differ from the data") as caught:
        protect(changed / "strict.toml", changed / "strict")
    assert "earlier_change = 0.1" in str(caught.value)
    write(changed, "odd.toml", NOW.replace(str(CHANGE), '"much"'))
    with pytest.raises(DiscreetError, match="'any' or 'refuse'"):
        protect(changed / "odd.toml", changed / "odd")
    told = protect(changed / "now.toml", changed / "now")
    warned = [
        text
        for text in told.warnings
        if "changed: its suppression pattern is kept where cheap, and both" in text
    ]
    assert any("'turnover' in first/branches" in text for text in warned)
    assert not any("'wages'" in text for text in warned), "these have not changed"
    found = audit_release(changed / "now.toml", changed / "now")
    assert found.safe, found.judgement


def test_the_old_pattern_is_kept_where_that_is_cheap(changed: Path) -> None:
    protect(changed / "now.toml", changed / "now")
    write(changed, "alone.toml", FIRST)
    protect(changed / "alone.toml", changed / "alone")
    old = published(changed / "first" / "branches.csv")
    kept = []
    for name in ("now", "alone"):
        new = published(changed / name / "branches.csv")
        kept.append(sum(old[cell] is None for cell, value in new.items() if value is None))
    assert kept[0] >= kept[1]
    assert kept[0] >= 0.8 * sum(value is None for value in old.values())


def test_who_has_both_releases_finds_no_sensitive_cell(changed: Path) -> None:
    protect(changed / "now.toml", changed / "now")
    old = published(changed / "first" / "branches.csv") | published(changed / "first" / "sizes.csv")
    new = published(changed / "now" / "branches.csv") | published(changed / "now" / "sizes.csv")
    attacker = attacked(old, new)
    looked = 0
    for by in (["region", "branch"], ["branch", "size"]):
        table = table_of(by, "turnover", revised())
        primary = dc.primary(table, rules(), value="turnover")
        frame = primary.to_polars(table).with_columns(true=table.sums["turnover"])
        frame = frame.filter(pl.col("verdict") == "sensitive")
        columns = [pl.col(n) if n in by else pl.lit(TOTAL).alias(n) for n in PARTS]
        for *codes, true, lower, upper in frame.select(*columns, "true", "lower", "upper").rows():
            cell = tuple(codes)
            low, high = attacker.interval(("new", cell))
            assert high - low > 1, "an exact value"
            if old[cell] is None:  # who saw it before knows what he saw
                assert low <= max(true - lower, 0) + 1e-3
                assert high >= true + upper - 1e-3
            looked += 1
    assert looked > 4


def test_tables_added_to_a_programme_leave_the_others_as_they_are(hidden_copy: Path) -> None:
    """What is out stays out: the tables of the first release with one more, together."""
    both = FIRST.replace('method = "fast"', 'method = "fast"\nearlier = ["first"]')
    both += '\n[tables.regions]\nby = ["region", "size"]\nvalue = "turnover"\n'
    write(hidden_copy, "both.toml", both)
    protect(hidden_copy / "both.toml", hidden_copy / "both")
    for name in ("branches", "sizes", "firms"):
        file = f"{name}.csv"
        before, after = hidden_copy / "first" / file, hidden_copy / "both" / file
        assert before.read_bytes() == after.read_bytes()
    assert audit_release(hidden_copy / "both.toml", hidden_copy / "both").safe


def test_hidden_values_of_then_add_up_with_what_was_published() -> None:
    """Next to those of today; also where a zero was hidden; None where nothing adds up."""
    now = pl.DataFrame({"size": ["Total", "s", "m", "l", "x"], "n": [40, 3, 9, 20, 8]})
    table = dc.Table.from_cells(now, by=["size"], count="n")
    code = table.to_polars()["size"]
    found = dc.primary(table, [dc.rules.MinimumFrequency(4)])
    safe = dc.suppress(table, code.is_in(["s", "m"]).to_numpy(), method="fast", reasons="none")
    for total, wanted in ((44, 16), (29, 1), (28, 0), (27, None)):
        place = [at for at, name in enumerate(safe.dimensions[0].codes) if name == "Total"]
        value = safe.value.copy()
        value[np.isin(safe.index[0], place)] = total
        told = table_of_then(replace(safe, value=value), table, found, None, 0)
        if wanted is None:
            assert told is None
            continue
        assert told is not None
        then, changed = told
        assert changed == 1
        assert then.table.count[then.hidden].sum() == wanted
        assert (then.table.count[then.hidden] >= min(wanted, 1)).all() or wanted < 2
        assert then.primary.sensitive.sum() == 1
