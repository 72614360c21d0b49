"""`discreet suppress` straight from records: rules in words, a table to publish out."""

import json
import re
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.protection.suppression import audit_published
from discreet.release.record_tables import rules_from
from discreet_argus import read_jj
from tests.helpers.command import everything, run

FAST = ("--method", "fast")


@pytest.fixture(autouse=True)
def firms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """150 firms in groups, some without a branch or a turnover, with large odd values."""
    draw, size = np.random.default_rng(3), 150
    frame = pl.DataFrame(
        {
            "region": draw.choice(["011", "012", "013", "021", "022"], size).tolist(),
            "branch": [[*"aaaabbbccd", None][at] for at in draw.integers(0, 11, size)],
            "turnover": [int(v) if v % 9 else None for v in draw.lognormal(11, 1.6, size) // 1],
            "staff": draw.integers(1, 90, size),
            "group": [f"g{at}" for at in draw.integers(0, 25, size)],
            "weight": draw.integers(1, 4, size) + 0.5,
        }
    )
    whole = pl.when(pl.col("region") == "021").then(pl.lit("big")).otherwise("group")
    frame = frame.with_columns(group=whole)
    frame.write_csv(tmp_path / "firms.csv")
    monkeypatch.chdir(tmp_path)
    return frame


def test_words_do_what_the_package_does(firms: pl.DataFrame, tmp_path: Path) -> None:
    words = ("--by", "region,branch", "--value", "turnover", "--prefixes", "region=2,3")
    rules = ("--rule", "p=10", "--rule", "n=3", "--holding", "group")
    done = run("suppress", "firms.csv", *words, *rules, *FAST, "--out", "safe.csv")
    assert done.exit_code == 0, done.output
    codes = sorted(set(firms["region"].to_list()))
    region = dc.Classification.from_prefixes("region", codes, [2, 3]).replace(found="all")
    by = [region, "branch"]
    table = dc.tabulate(firms, by, values=["turnover"], contributions=2, name="firms")
    holdings = dc.rules.count_holdings(
        firms, by, holding="group", values=["turnover"], contributions=2
    )
    listed = [dc.rules.MinimumFrequency(3), dc.rules.MinimumFrequency(3, per="holding")]
    listed += [dc.rules.PPercent(10), dc.rules.PPercent(10, per="holding")]
    found = dc.primary(table, listed, value="turnover", holdings=holdings)
    safe = dc.suppress(table, found, method="fast")
    assert safe.write("api.csv").read_bytes() == (tmp_path / "safe.csv").read_bytes()
    assert f"turnover: {int(found.sensitive.sum())} sensitive and " in done.stdout


def test_groups_hide_more_than_their_firms() -> None:
    words = ("suppress", "firms.csv", "--by", "region,branch", "--value", "turnover", "--rule")
    told = [
        json.loads(run(*words, "p=10", *more, "--check", "--json").stdout)
        for more in ((), ("--holding", "group"))
    ]
    firm, group = (each["values"]["turnover"]["sensitive"] for each in told)
    assert 0 < firm < group


@pytest.mark.parametrize("suffix", ["parquet", "xlsx", "px"])
def test_every_writer_is_chosen_by_its_suffix(tmp_path: Path, suffix: str) -> None:
    words = ("--by", "region", "--by", "branch", "--rule", "n=3", "--out", f"safe.{suffix}")
    done = run("suppress", "firms.csv", *words, *FAST, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["values"]["count"]["unprotected"] == 0
    assert (tmp_path / f"safe.{suffix}").stat().st_size > 100


def test_values_share_a_pattern_that_anyone_may_audit(tmp_path: Path) -> None:
    words = ("--by", "region,branch", "--value", "turnover,staff", "--rule", "nk=2,85")
    done = run("suppress", "firms.csv", *words, *FAST, "--out", "safe.csv", "--internal", "in.txt")
    assert done.exit_code == 0, done.output
    published = pl.read_csv("safe.csv")
    hidden = published.filter(pl.col("value").is_null())
    assert hidden.height > 0
    assert set(hidden["figure"]) == {"turnover", "staff"}
    by_figure = hidden.group_by("region", "branch").len()["len"]
    assert by_figure.unique().to_list() == [2]
    for figure in ("turnover", "staff"):
        own = published.filter(figure=figure).select("region", "branch", "value")
        assert audit_published(own, ["region", "branch"]).exact.sum() == 0
    report = tmp_path / "in.txt"
    assert "Cost" in report.read_text()
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_nothing_that_is_printed_is_a_value_of_a_hidden_cell(firms: pl.DataFrame) -> None:
    """A cost of one secondary would be its value."""
    words = ("--by", "region,branch", "--value", "turnover", "--rule", "p=10", "--rule", "n=3")
    true = dc.tabulate(firms, ["region", "branch"], values=["turnover"]).to_polars()
    for more in ((), ("--json",)):
        done = run("suppress", "firms.csv", *words, *FAST, "--out", "safe.parquet", *more)
        published = pl.read_parquet("safe.parquet")
        published = published.with_columns(pl.col("region", "branch").cast(pl.String))
        both = true.join(published, on=["region", "branch"]).filter(pl.col("value").is_null())
        values = both["turnover"].to_list()
        assert values
        hidden = {f"{int(value)}" for value in values} | {f"{int(value):,}" for value in values}
        hidden |= {f"{int(sum(values))}", f"{int(sum(values)):,}"}
        assert not [text for text in hidden if len(text) > 3 and text in done.output]
        assert not {"bound", "proof"} & set(done.output.lower().replace('"', " ").split())
        assert not re.search(r"cost\W+\d", done.output.lower())


def test_weights_shadows_and_missing_categories() -> None:
    words = ("--by", "region,branch", "--value", "turnover", "--rule", "n=3", *FAST)
    weighted = ("--weight", "weight", "--shadow", "staff", "--decimals", "1")
    done = run("suppress", "firms.csv", *words, *weighted, "--out", "safe.csv")
    assert done.exit_code == 0, done.output
    kept = run("suppress", "firms.csv", *words, "--where", "staff < 30", "--check", "--json")
    free = run(
        *("suppress", "firms.csv", *words, "--where", "staff < 30", "--check", "--json"),
        "--missing-safe",
    )
    less, more = (
        json.loads(each.stdout)["values"]["turnover"]["sensitive"] for each in (free, kept)
    )
    assert less < more


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    before = everything(tmp_path)
    words = ("--by", "region,branch", "--value", "turnover", "--rule", "n=3", "--out", "safe.csv")
    done = run("suppress", "firms.csv", *words, "--check")
    assert done.exit_code == 0, done.output
    assert "firms is valid" in done.stdout
    assert everything(tmp_path) == before


def test_a_pattern_of_records_is_private(tmp_path: Path) -> None:
    words = ("--by", "region,branch", "--value", "turnover", "--rule", "n=3", "--out", "safe.jj")
    assert run("suppress", "firms.csv", *words, *FAST).exit_code == 0
    assert stat.S_IMODE((tmp_path / "safe.jj").stat().st_mode) == 0o600
    assert int((read_jj(tmp_path / "safe.jj").state == 1).sum()) > 0


def test_rules_come_from_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(
        "minimum_frequency = 3\nrequest = { percent = 20, where = \"group == 'g1'\" }\n"
    )
    words = ("suppress", "firms.csv", "--by", "region", "--value", "turnover", "--check", "--json")
    told = json.loads(run(*words, "--rules", "rules.toml", "--rule", "p=90").stdout)
    assert "p-percent" in told["values"]["turnover"]["reasons"] or told["valid"]
    assert rules_from(["n=3", "n=5,per=holding"]).holdings
    asked = rules_from(["request,percent=30,where=group == 'g1'", "minimum-frequency=3"])
    assert asked.filters == ["group == 'g1'"]
    with pytest.raises(dc.DiscreetError, match="one number less"):
        rules_from(["n=3,77"])
    for wrong in ("", "=", "n", "n=", ",", "p==3", "é=3"):
        with pytest.raises(dc.DiscreetError):
            rules_from([wrong])


@pytest.mark.parametrize(
    "words",
    [
        ("--by", "region,brnch", "--value", "turnover", "--rule", "n=3", "--out", "x.csv"),
        ("--by", "region", "--value", "branch", "--rule", "p=10", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3"),
        ("--by", "region", "--value", "turnover", "--rule", "m=3", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "p=-77", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "p=many", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "p", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3,of=77", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3,77", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3,per=holding", "--out", "x.csv"),
        ("--by", "region", "--rule", "p=10", "--out", "x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3", "--out", "firms.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3", "--out", "no/x.csv"),
        ("--by", "region", "--value", "turnover", "--rule", "n=3", "--out", "x.foo"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--internal", "x.csv"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--metadata", "firms.csv"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--repair"),
        ("--by", "region", "--rule", "n=3", "--check", "--internal", "x.txt"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--where", "region =="),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--prefixes", "branch=1"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--prefixes", "region=2;3"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--holding", "no"),
        ("--by", "region", "--value", "turnover,staff", "--rule", "n=3", "--out", "x.jj"),
        ("--rule", "n=3", "--out", "x.csv"),
        ("--by", "region", "--rule", "n=3", "--out", "x.csv", "--decimals", "2"),
        ("--rules", "none.toml", "--by", "region", "--out", "x.csv"),
        *[
            ("--by", "region", "--value", "turnover", "--rule", "n=3", "--out", "x.csv", *more)
            for more in (("--weight", "weight", "--holding", "group"), ("--time-limit", "0"))
        ],
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    before = everything(tmp_path)
    done = run("suppress", "firms.csv", *words, "--json")
    assert done.exit_code == 2, done.output
    assert json.loads(done.stdout)["error"]["what"]
    assert "77" not in done.output
    assert everything(tmp_path) == before


def test_consent_of_groups_is_that_of_all_their_firms(firms: pl.DataFrame, tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    said = [["yes", "yes", "yes", "no", None][at] for at in draw.integers(0, 5, firms.height)]
    firms = firms.with_columns(consent=pl.Series(said))
    firms.write_csv("firms.csv")
    words = ("--by", "region,branch", "--value", "turnover", "--rule", "p=20", "--holding", "group")
    waived = ("--waivers", "consent == 'yes'", *FAST, "--out", "safe.csv", "--internal", "in.txt")
    done = run("suppress", "firms.csv", *words, *waived)
    assert done.exit_code == 0, done.output
    how = {"values": ["turnover"], "contributions": 2}
    table = dc.tabulate(firms, ["region", "branch"], **how)
    holdings = dc.rules.count_holdings(firms, ["region", "branch"], holding="group", **how)
    waivers = dc.rules.count_waivers(
        firms, ["region", "branch"], consent="consent == 'yes'", holding="group", **how
    )
    listed = [dc.rules.PPercent(20), dc.rules.PPercent(20, per="holding")]
    found = dc.primary(table, listed, value="turnover", holdings=holdings, waivers=waivers)
    assert f"turnover: {int(found.sensitive.sum())} sensitive and " in done.stdout
    number = int(found.waived.sum())
    assert number > 0
    assert f"; {number} are not sensitive because of waivers." in done.stdout
    assert f"because of waivers: {number} cells" in (tmp_path / "in.txt").read_text()


def test_rules_that_others_can_read_are_worth_a_warning(tmp_path: Path) -> None:
    place = tmp_path / "rules.toml"
    place.write_text("minimum_frequency = 3\n")
    words = ("suppress", "firms.csv", "--by", "region", "--rules", "rules.toml", "--check")
    place.chmod(0o644)
    assert "chmod 600 rules.toml" in run(*words).stderr
    place.chmod(0o600)
    assert "chmod" not in run(*words).stderr


def test_thresholds_of_codes_are_for_holdings_too(tmp_path: Path) -> None:
    place = tmp_path / "rules.toml"
    words = ("suppress", "firms.csv", "--by", "region,branch", "--rules", "rules.toml", "--check")
    told = []
    for text in ("", "[[codes]]\ncells = { region = '011' }\nminimum_frequency = 4\n"):
        place.write_text(f"minimum_frequency = 1\n{text}")
        place.chmod(0o600)
        for more in ((), ("--holding", "group")):
            done = run(*words, *more, "--json")
            assert done.exit_code == 0, done.output
            told.append(json.loads(done.stdout)["values"]["count"]["sensitive"])
    assert told[:2] == [0, 0]
    assert 0 < told[2] <= told[3]
