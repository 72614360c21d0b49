"""The centre's own rules before all others, and the language of what is written and told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.errors import OutputCheckError
from discreet_fire.logs import CleaningRules, clean_log

LOG = """\
. replace x = 1
(1 real change made)
. use "/home/weber/secret/panel.dta"
. list x
4711
. mytable x
row 4711
"""


def rules(place: Path, text: str, **more: object) -> CleaningRules:
    (place / "postFire.txt").write_text(text, encoding="utf-8")
    return replace(CleaningRules.read(place / "postFire.txt"), **more)


def test_own_texts_of_a_legacy_list_come_first_unless_that_is_changed(tmp_path: Path) -> None:
    text = "##(1 real change made)\n##(…)\n##/home/weber/secret/panel.dta\n##panel data\n"
    later = clean_log(LOG, rules(tmp_path, text, own_first=False))
    first = clean_log(LOG, rules(tmp_path, text))
    (tmp_path / "last.toml").write_text("own_first = false\n")
    read = CleaningRules.read(tmp_path / "postFire.txt", tmp_path / "last.toml")
    assert clean_log(LOG, read).text == later.text
    assert later.text.splitlines()[1] != "(…)"
    assert first.text.splitlines()[1:3] == ["(…)", '. use "panel data"']
    assert first.text.splitlines()[4] == "(output withheld)"  # all other rules still hold
    assert clean_log(first.text, rules(tmp_path, text, own_first=True)).corrections == ()


def test_places_are_those_of_the_cleaned_log_when_own_texts_come_first(tmp_path: Path) -> None:
    text = "##4711\n##a figure that is not told here\n"
    done = clean_log(LOG, rules(tmp_path, text, own_first=True))
    assert done.text.splitlines()[6] == "row a figure that is not told here"
    assert [one.lines for one in done.findings] == [(7,)]
    assert {one.line for one in done.corrections if one.rule.startswith("own-list")} == {5, 7}
    first = [one for one in done.corrections if one.round == 1]
    assert all(LOG[one.start : one.end] == one.removed for one in first)


def test_own_texts_that_come_first_cannot_run_for_ever(tmp_path: Path) -> None:
    text = "##4711\n##4712\n##4712\n##4711\n"
    done = clean_log(LOG, rules(tmp_path, text, own_first=True))
    assert done.needs_review
    assert any(one.rule == "own-list" for one in done.findings)


def test_the_order_stands_in_a_file_of_rules(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('own_first = true\nlanguage = "de"\n')
    read = CleaningRules.read(path)
    assert (read.own_first, read.language) == (True, "de")
    for text, words in (("own_first = 1", "true or false"), ("language = 'fr'", "known: en, de")):
        path.write_text(text)
        with pytest.raises(OutputCheckError, match=words):
            CleaningRules.read(path)


def fire(*words: object) -> str:
    done = CliRunner().invoke(app, ["fire", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


def test_post_in_german_on_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(LOG)
    (tmp_path / "postFire.txt").write_text("##(1 real change made)\n##(…)\n", encoding="utf-8")
    told = fire(
        "post", log, "--language", "de", "--own-first", "--rules", tmp_path / "postFire.txt"
    )
    assert "3 Änderungen" in told
    assert "Zeile 7: review [unknown-output] Ausgabe, die keine Regel kennt, nach: mytable" in told
    cleaned = (tmp_path / "a_FiRe.log").read_text()
    assert "(Ausgabe zurückgehalten)" in cleaned
    assert "(…)" in cleaned
    report = json.loads((tmp_path / "a_FiRe.log.json").read_text())
    assert report["findings"][0]["hint"] == "ansehen, bevor das Log hinausgeht"
    assert "nichts zu tun" in fire("post", tmp_path / "a_FiRe.log", "--language", "de")


def test_every_text_of_findings_is_told_in_german() -> None:
    german = replace(CleaningRules.default(), language="de")
    for log in (LOG, ". mean x\n", ". correlate a b\n\n             |        a\n"):
        pairs = zip(clean_log(log).findings, clean_log(log, german).findings, strict=True)
        assert all(one.what != other.what for one, other in pairs)
