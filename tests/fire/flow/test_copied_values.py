"""What a condition has chosen, put beside all records: a finding in Python and R."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from tests.helpers.rows import for_all_rows

PYTHON = [
    "one = d[d.id == 17][['wage']]\nd = d.merge(one, how='cross')",
    "one = d.query('id == 17')\nd = pd.merge(d, one, on='region')",
    "one = d[d.id == 17]\nd = one.merge(d, on='region')",
    "d = d.merge(d[['wage']], how='cross')",
    "d['w'] = d.wage.where(d.id == 17).groupby(d.region).transform('sum')",
    "m = (d.wage * (d.id == 17)).sum()\nd['w'] = m + d.age / 1000",
    "d['w'] = (d.wage * (d.id == 17).astype(int)).sum()",
    "d['w'] = d.loc[d.id == 17, 'wage'].mean()",
    "d['w'] = d.wage.ffill()",
    "d['w'] = d.wage.fillna(method='ffill')",
    # A yes or no about one person is its value, too.
    "d['w'] = d.age + (d.wage[17] > 2000)",
    "d['w'] = d.age + (1000 < d.loc[17, 'wage'] < 2000)",
    "d['w'] = d.age + (d.wage.max() > 9000)",
    "rich = (d.id == 17) & (d.wage > 2000)\nd['w'] = d.age + rich.any()",
    "rich = (d.id == 17) & (d.wage > 2000)\nd['w'] = d.age + (rich.sum() > 0)",
]
R = [
    "d$w <- d$wage[d$id == 17]",
    "d$w <- d[d$id == 17, 'wage']",
    "d$w <- sum(d$wage * (d$id == 17))",
    "d$w <- mean(subset(d, id == 17)$wage)",
    "one <- subset(d, id == 17)\nd <- merge(d, one, by = 'region')",
    "one <- dplyr::filter(d, id == 17)\nd <- left_join(d, one, by = 'region')",
    "d <- merge(d, d, by = NULL)",
    "d <- tidyr::fill(d, wage)",
    "d$w <- d$age + (d$wage[17] > 2000)",
    "d$w <- d$age + any(d$id == 17 & d$wage > 2000)",
]
HONEST_PYTHON = [
    "d = d[d.age >= 18]\nfirms = pd.read_csv('f.csv')\nd = d.merge(firms, on='firm')",
    "d = d[d.age >= 18]\nd['w'] = d.wage - d.wage.mean()",
    "d['w'] = d.groupby('region').wage.transform('mean')",
    "d.loc[d.age < 18, 'w'] = d.loc[d.age < 18, 'wage']",
    "d['w'] = d.wage > d.wage.max() / 2",
    "d['w'] = (d.age > 17) & (d.wage > 2000)",
]
HONEST_R = [
    "d <- d[d$age >= 18, ]\nd <- merge(d, read.csv('f.csv'), by = 'firm')",
    "d$w <- d$wage - mean(d$wage)",
    "d$w[d$age < 18] <- d$wage[d$age < 18]",
    "d$w <- d$wage > max(d$wage) / 2",
]


def test_a_centre_names_functions_that_join_and_reduce(tmp_path: Path) -> None:
    centre, allowed = tmp_path / "centre.toml", '{ action = "allowed", risks = [] }\n'
    rules = f'[commands]\n".glued" = {allowed}".blended" = {allowed}'
    lines = ("d = d.glued(one, on='k')", "d['w'] = one.wage.blended()")
    for words, number in (('[words]\njoins = "glued"\nreduces = "blended"\n', 1), ("", 0)):
        centre.write_text(words + rules)
        policy = ScriptPolicy.read("python", centre)
        assert "merge" in policy.words["joins"]
        for line in lines:
            head = "import pandas as pd\nd = pd.read_csv('a.csv')\none = d[d.id == 17]\n"
            done = rewrite_python(f"{head}{line}\nprint(d.w.mean())\n", policy)
            assert sum(one.rule == "single" for one in done.findings) == number
    centre.write_text('[words]\nglues = "x"\n')
    with pytest.raises(OutputCheckError, match=r"words are texts for some of .*reduces, joins"):
        ScriptPolicy.read("python", centre)


def seen(body: str, *, python: bool) -> list[int]:
    """Lines that go to review as single values."""
    if python:
        text = f"import pandas as pd\nd = pd.read_csv('a.csv')\n{body}\nprint(d.w.mean())\n"
        done = rewrite_python(text)
    else:
        done = rewrite_r(f"d <- read.csv('a.csv')\n{body}\nprint(mean(d$w))\n")
    return [
        one.line
        for one in done.findings
        if one.rule == "single" and one.severity is Severity.REVIEW
    ]


@for_all_rows("body", PYTHON)
def test_copies_of_chosen_values_are_seen_in_python(body: str) -> None:
    assert seen(body, python=True)


@for_all_rows("body", R)
def test_copies_of_chosen_values_are_seen_in_r(body: str) -> None:
    assert seen(body, python=False)


@pytest.mark.parametrize("body", HONEST_PYTHON)
def test_usual_choices_and_merges_in_python_need_no_look(body: str) -> None:
    assert not seen(body, python=True)


@pytest.mark.parametrize("body", HONEST_R)
def test_usual_choices_and_merges_in_r_need_no_look(body: str) -> None:
    assert not seen(body, python=False)
