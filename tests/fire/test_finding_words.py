"""Findings in German: what programs are told is known, and what can be read twice stays English."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet_fire.catalogue import policy
from discreet_fire.finding_words import known_sentences, sentence_in
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.submission import rewrite_files
from discreet_fire.statistics.disclosure_rules import REASONS
from tests.fire.rewriting.test_traps import traps
from tests.helpers.rows import for_all_rows

_SLOT = re.compile(r"\{(\w+)[*;]?\}")


def _reasons(plain: Any) -> Iterator[str]:
    """Every reason of a policy, wherever it stands."""
    for name, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if name == "reason" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _reasons(value)


def test_reasons_of_the_policies_and_of_the_rules_are_known() -> None:
    policies = Path(policy.__file__).parent.glob("*.toml")
    found = {one for path in policies for one in _reasons(tomllib.loads(path.read_text("utf-8")))}
    assert len(found) > 60
    assert sorted((found | set(REASONS.values())) - set(known_sentences())) == []


def test_what_trap_programs_are_told_is_known() -> None:
    found = [one for trap in traps()[::2] for one in rewrite(trap[3]).findings]
    told = {text for one in found for text in (one.what, one.hint) if text}
    assert len(told) > 150
    assert [one for one in sorted(told) if sentence_in(one, "de") == one] == []


@pytest.mark.exhaustive
def test_what_trap_scripts_are_told_is_known(tmp_path: Path) -> None:
    folder = Path(__file__).parent / "data" / "scripts"
    copies = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".R", ".Rmd"):
            copies.append(tmp_path / f"{len(copies)}{path.suffix}")
            copies[-1].write_bytes(path.read_bytes())
    told = {one.what for done in rewrite_files(copies) for one in done.findings}
    assert len(told) > 50
    assert [one for one in sorted(told) if sentence_in(one, "de") == one] == []


def test_names_stay_and_no_slot_is_left() -> None:
    for english, german in known_sentences().items():
        names = dict.fromkeys(_SLOT.findall(english))
        # Slots for what is said take a sentence without slots.
        filled = re.sub(r"\{\w+[*;]\}", "too few cases", english)
        filled = _SLOT.sub(lambda slot: f"<{slot[1]}>", filled)
        said = sentence_in(filled, "de")
        assert "{" not in said.replace("{prefix}", ""), english
        free = [one for one in names if f"{{{one}}}" in english]
        assert all(f"<{one}>" in said for one in free), english
        assert not free or said != filled or german == english, english


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_of_researchers_are_no_sentences(language: str) -> None:
    said = "an exception is asked for: {what*} too few cases {n}"
    assert sentence_in(said, language).endswith(": {what*} too few cases {n}")


@for_all_rows(
    ("english", "german"),
    [
        (
            "line 9, tabulate: a = 1 differs from line 8, tabulate and line 7, tabulate together "
            "by fewer units than the minimum, released as 4 and 5",
            "Zeile 9, tabulate: a = 1 unterscheidet sich von Zeile 8, tabulate und Zeile 7, "
            "tabulate zusammen um weniger Einheiten als das Minimum, freigegeben als 4 und 5",
        ),
        (
            "line 9, count and line 8, count together differ from line 7, count and line 6, count "
            "together by fewer units than the minimum",
            "Zeile 9, count und Zeile 8, count zusammen unterscheiden sich von Zeile 7, count und "
            "Zeile 6, count zusammen um weniger Einheiten als das Minimum",
        ),
        (
            "too many differences of tables to compare all of them",
            "zu viele Differenzen von Tabellen, um alle zu vergleichen",
        ),
        (
            "the withheld output 3 can be computed from outputs 5 and 2",
            "das zurückgehaltene Ergebnis 3 lässt sich aus den Ergebnissen 5 und 2 berechnen",
        ),
        (
            "output 2 shows the values of the withheld output 1",
            "Ergebnis 2 zeigt die Werte des zurückgehaltenen Ergebnisses 1",
        ),
    ],
)
def test_sentences_in_german(english: str, german: str) -> None:
    assert sentence_in(english, "de") == german
    assert sentence_in(english, "en") == english


def test_labels_that_could_be_read_in_two_ways_stay() -> None:
    odd = "a differs from b differs from c by fewer units than the minimum"
    assert sentence_in(odd, "de") == odd
