"""Programmes whose rules have thresholds of codes, waivers, and requests of holdings."""

import json
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ProgrammeError

PROGRAMME = """
[data]
source = "firms.csv"

[suppression]
method = "fast"

[rules.business]
{rules}

[tables.T1]
by = ["country", "branch"]
value = "turnover"
protect = "suppress"
rules = "business"
formats = ["csv"]
{table}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four cells a country; one firm of each country is large in branch a."""
    rows = [
        (country, branch, 900 if branch == "a" and at == 0 else 20 + 7 * at, f"{country}{at // 2}")
        for country in ("AT", "DE", "FR")
        for branch in "abcd"
        for at in range(5)
    ]
    frame = pl.DataFrame(rows, schema=["country", "branch", "turnover", "group"], orient="row")
    consent = pl.when(turnover=900, country="DE").then(pl.lit("yes"))
    consent = consent.when(turnover=900, country="FR").then(None).otherwise(pl.lit("no"))
    frame.with_columns(consent=consent).write_csv(tmp_path / "firms.csv")
    return tmp_path


def released(folder: Path, rules: str, table: str = "") -> tuple[pl.DataFrame, str]:
    path = folder / "programme.toml"
    path.write_text(PROGRAMME.format(rules=rules, table=table))
    path.chmod(0o600)
    inside = folder / "inside"
    dc.protect(path, out=folder / "release", internal=inside, resume=False)
    text = (inside / "suppression-internal.txt").read_text()
    return pl.read_csv(folder / "release" / "T1.csv"), text


def sensitive(frame: pl.DataFrame) -> set[tuple[str, str]]:
    if "reason" not in frame.columns:  # nothing is hidden
        return set()
    hit = frame.filter(~pl.col("reason").fill_null("").is_in(["", "secondary"]))
    return set(hit.select("country", "branch").rows())


def test_a_country_has_a_threshold_of_its_own(folder: Path) -> None:
    plain, _ = released(folder, "p_percent = 10")
    assert sensitive(plain) == set()
    rules = "p_percent = 10\n[[rules.business.codes]]\ncells = { country = 'AT' }\np_percent = 14"
    own, _ = released(folder, rules)
    assert sensitive(own) == {("AT", "a")}


def test_who_has_consented_is_shown_and_the_log_says_so(folder: Path) -> None:
    strict, text = released(folder, "p_percent = 14")
    assert sensitive(strict) == {("AT", "a"), ("DE", "a"), ("FR", "a")}
    assert "consented" not in text
    waived, text = released(folder, "p_percent = 14\nwaivers = { where = \"consent == 'yes'\" }")
    assert sensitive(waived) == {("AT", "a"), ("FR", "a")}  # a missing answer is no consent
    assert "because of waivers: 1 cells" in text
    assert "T1: country=DE, branch=a" in text
    told = json.loads((folder / "inside" / "suppression-internal.json").read_text())
    assert told["systems"][0]["values"]["turnover"]["waived"] == ["T1: country=DE, branch=a"]
    assert "consent" not in "".join(
        path.read_text() for path in (folder / "release").iterdir() if path.suffix == ".json"
    )


def test_a_holding_that_asks_is_looked_at_whole(folder: Path) -> None:
    """One of its firms asked; the others are as large."""
    rule = '{{ percent = 30, per = "{per}", where = "turnover == 41 and country == \'AT\'" }}'
    table = 'holdings = "group"'
    low = "minimum_frequency = {{ n = 1, per = 'holding' }}\nrequest = " + rule
    by_firm, _ = released(folder, low.format(per="record"), table)
    whole, _ = released(folder, low.format(per="holding"), table)
    assert sensitive(by_firm) == set()
    assert {("AT", "b"), ("AT", "c"), ("AT", "d")} <= sensitive(whole)


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ("p_percent = 1\nwaivers = { where = 'consnt == 1' }", "waivers"),
        ("p_percent = 1\nwaivers = { where = '' }", "waivers"),
        ("p_percent = 1\nwaivers = true", "waivers"),
        (
            "p_percent = 1\n[[rules.business.codes]]\ncells = { contry = 'AT' }\np_percent = 2",
            "codes",
        ),
        ("p_percent = 1\n[[rules.business.codes]]\ncells = { country = 'AT' }", "codes"),
        ("p_percent = 1\n[[rules.business.codes]]\np_percent = 2", "codes"),
        (
            "p_percent = 1\n[[rules.business.codes]]\ncells = { country = 'AT' }\np_percnt = 2",
            "codes",
        ),
    ],
)
def test_mistakes_are_named_with_their_keys(folder: Path, rules: str, place: str) -> None:
    with pytest.raises(ProgrammeError) as caught:
        released(folder, rules)
    assert f"rules.business.{place}" in str(caught.value)


def test_the_internal_report_ranks_what_would_hide_less(folder: Path) -> None:
    frame = pl.read_csv(folder / "firms.csv")
    few = (pl.col("branch") == "c") | (pl.col("branch") == "d")
    frame = frame.filter(~few | (pl.int_range(pl.len()).over("country", "branch") < 2))
    frame.write_csv(folder / "firms.csv")
    rules = "minimum_frequency = 3\n[suppression]\nmethod = 'fast'\nhide_less = true"
    path = folder / "programme.toml"
    text = PROGRAMME.replace('[suppression]\nmethod = "fast"\n', "")
    path.write_text(text.format(rules=rules, table=""))
    path.chmod(0o600)
    dc.protect(path, out=folder / "release", internal=folder / "inside")
    told = json.loads((folder / "inside" / "suppression-internal.json").read_text())
    first = told["systems"][0]["hide_less"]["T1"]["ranked"][0]
    assert first["codes"] == ["c", "d"]
    assert first["hidden"] == 0
    words = (folder / "inside" / "suppression-internal.txt").read_text()
    assert "Changes that suppress fewer cells of T1" in words
    assert "1. branch: merge c and d: 0 of " in words
    for file in (folder / "release").rglob("*"):
        assert not file.is_file() or b"merge c and d" not in file.read_bytes()
