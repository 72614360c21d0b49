"""Releases with hidden cells under attack, beside earlier ones, and in audits."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.release import audit_release, protect
from tests.helpers.attacker_apart import Attacker
from tests.helpers.firm_programmes import (
    FIRST,
    LATER,
    PARTS,
    TOTAL,
    content,
    firms,
    published,
    rules,
    table_of,
    write,
)

# -- the attack: linear programs on nothing but the published files ----------------------


def attack(shown: dict[tuple[str, str, str], float | None]) -> Attacker:
    """Who knows the published files, and that no hidden value is negative."""
    sums: list[Any] = []
    for codes, (variable, parts) in product(shown, enumerate(PARTS.values())):
        children = parts.get(codes[variable], [])
        own = [(*codes[:variable], child, *codes[variable + 1 :]) for child in children]
        if own and all(child in shown for child in own):  # else no table has these parts
            sums.append(({codes: -1, **dict.fromkeys(own, 1)}, 0.0))
    known = {codes: value for codes, value in shown.items() if value is not None}
    return Attacker(known, dict.fromkeys(set(shown) - set(known), (0.0, 1e8)), sums)


def merged(*paths: Path) -> dict[tuple[str, str, str], float | None]:
    """Several files side by side: a cell that one of them shows is known."""
    every: dict[tuple[str, str, str], float | None] = {}
    for path in paths:
        for codes, value in published(path).items():
            known = every.get(codes)
            every[codes] = value if known is None else known
    return every


def sensitive(by: list[str], value: str = "turnover") -> dict[tuple[str, str, str], Any]:
    """Cells that the rules mark, with what must stay possible."""
    table = table_of(by, value)
    primary = dc.primary(table, rules(), value=value)
    frame = primary.to_polars(table).with_columns(true=table.sums[value])
    wanted = frame.filter(pl.col("verdict") == "sensitive")
    columns = [pl.col(n) if n in by else pl.lit(TOTAL).alias(n) for n in PARTS]
    rows = wanted.select(*columns, "true", "lower", "upper").rows()
    return {row[:3]: (max(0.0, row[3] - row[4]), row[3] + row[5]) for row in rows}


def test_no_program_bounds_a_sensitive_cell_closer_than_its_levels(hidden: Path) -> None:
    first, later = hidden / "first", hidden / "later"
    files = [first / "branches.csv", first / "sizes.csv", later / "regions.csv"]
    every = merged(*files)
    marked: dict[tuple[str, str, str], Any] = {}
    for by in (["region", "branch"], ["branch", "size"], ["region", "size"]):
        marked |= sensitive(by)
    assert len(marked) > 4
    attacker = attack(every)
    for cell, (low, high) in marked.items():
        assert every[cell] is None
        least, most = attacker.interval(cell)
        assert least <= low + 1e-4
        assert most >= high - 1e-4


def test_the_attack_would_find_a_pattern_without_secondaries(hidden: Path) -> None:
    by = ["region", "branch"]
    table = table_of(by, "turnover")
    true = {
        (region, branch, TOTAL): value
        for region, branch, value in table.to_polars().select(*by, "turnover").rows()
    }
    marked = sensitive(by)
    shown: Any = {codes: None if codes in marked else value for codes, value in true.items()}
    attacker = attack(shown)
    spans = [attacker.interval(cell) for cell in marked]
    assert any(most - least < 1e-6 for least, most in spans)


# -- what was published before ----------------------------------------------------------------


def test_earlier_cells_stay_as_they_were_published(hidden: Path) -> None:
    first = published(hidden / "first" / "sizes.csv") | published(hidden / "first" / "branches.csv")
    later = published(hidden / "later" / "regions.csv")
    common = set(first) & set(later)
    assert len(common) >= 10
    assert all((first[cell] is None) == (later[cell] is None) for cell in common)


def test_an_earlier_release_of_other_data_is_refused(hidden_copy: Path) -> None:
    firms(seed=9).write_parquet(hidden_copy / "firms.parquet")
    before = content(hidden_copy / "later")
    with pytest.raises(DiscreetError, match="differ from the data") as caught:
        protect(hidden_copy / "later.toml", hidden_copy / "later")
    assert caught.value.code == "earlier"
    assert content(hidden_copy / "later") == before


def test_a_cell_published_before_cannot_be_hidden_now(hidden_copy: Path) -> None:
    marks = '\n[[tables.regions.marks]]\ncells = { region = "1", size = "Total" }\n'
    write(hidden_copy, "later.toml", LATER + marks + 'status = "unsafe"\n')
    with pytest.raises(DiscreetError, match="must be published and must be suppressed") as caught:
        protect(hidden_copy / "later.toml", hidden_copy / "later")
    assert "region=1" in str(caught.value)
    assert "later.toml, regions" in str(caught.value)


def test_a_damaged_earlier_release_is_never_passed_over(hidden_copy: Path) -> None:
    (hidden_copy / "first" / ".discreet" / "sizes.parquet").write_bytes(b"no")
    with pytest.raises(DiscreetError, match="damaged"):
        protect(hidden_copy / "later.toml", hidden_copy / "later")


# -- audits ----------------------------------------------------------------------------------


def test_a_finished_release_passes_its_audit_and_the_later_one_too(hidden: Path) -> None:
    for name in ("first", "later"):
        found = audit_release(hidden / f"{name}.toml", hidden / name)
        assert found.safe, found.text()
        assert not found.opened
        assert all(audit.sensitive.any() for audit in list(found.audits.values())[:1])


def test_two_releases_that_open_each_other_are_found(hidden: Path, tmp_path: Path) -> None:
    apart = LATER.replace('\nearlier = ["first"]', "") + "\n[tables.branches]\n"
    apart += 'by = ["region", "branch"]\nvalue = "turnover"\n'
    apart += '[[tables.branches.marks]]\ncells = { region = "21", branch = "d" }\ncost = 0\n'
    apart = apart.replace('method = "fast"', 'method = "optimal"\ncost = "unity"')
    shutil.copy(hidden / "firms.parquet", tmp_path)
    path = write(tmp_path, "apart.toml", apart)
    protect(path, tmp_path / "apart")
    assert audit_release(path, tmp_path / "apart").safe
    found = audit_release(path, tmp_path / "apart", beside=[hidden / "first"])
    assert not found.safe
    assert found.opened
    assert "NOT safe" in found.text()


def test_changed_files_and_other_rules_are_found(hidden_copy: Path) -> None:
    file = hidden_copy / "first" / "branches.csv"
    file.write_text(file.read_text("utf-8") + " ", encoding="utf-8")
    (hidden_copy / "first" / "sizes.de.csv").unlink()
    write(
        hidden_copy, "first.toml", FIRST.replace("minimum_frequency = 3", "minimum_frequency = 9")
    )
    found = audit_release(hidden_copy / "first.toml", hidden_copy / "first")
    assert not found.safe
    assert found.opened
    words = " ".join(found.findings)
    assert "branches.csv was changed" in words
    assert "sizes.de.csv is missing" in words
    assert "the release used other data or other rules" in words


def test_coalitions_are_asked_for(hidden: Path) -> None:
    found = audit_release(hidden / "first.toml", hidden / "first", coalition=1)
    assert all(audit.respondents is not None for audit in found.audits.values())
    assert found.described()["systems"][0]["respondents"]["most"] == 1
