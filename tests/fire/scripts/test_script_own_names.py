"""What scripts may import of discreet itself: safe commands, and nothing else."""

from __future__ import annotations

from pathlib import Path

from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_python
from tests.helpers.rows import for_all_rows

HEAD = "import pandas as pd\ndf = pd.read_csv('a.csv')\n"


def test_what_a_centre_refuses_is_refused(tmp_path: Path) -> None:
    refused = '[commands]\n"discreet_fire.statistics.summarize" = "refused"\n'
    (tmp_path / "own.toml").write_text(refused)
    policy = ScriptPolicy.read("python", tmp_path / "own.toml")
    text = f"{HEAD}from discreet_fire import statistics as safe\nprint(safe.summarize(df, ['x']))\n"
    assert rewrite_python(text).findings == ()
    found = rewrite_python(text, policy).findings
    assert any(each.severity is Severity.REFUSED for each in found)


@for_all_rows(
    "line",
    [
        "import discreet",
        "import discreet.protection",
        "from discreet_fire import rewriting",
        "from discreet_fire.statistics import SafeLimits",
        "from discreet_fire.statistics.results import SafeResult",
        "from discreet_fire.scripts import runtime",
        "import discreet_fire.scripts.runtime as r",
        "from discreet_fire.statistics import *",
    ],
)
def test_everything_else_of_discreet_is_refused(line: str) -> None:
    found = rewrite_python(f"{HEAD}{line}\n").findings
    assert any(each.severity is Severity.REFUSED and each.line == 3 for each in found)


def test_the_name_of_the_safe_functions_stays_theirs() -> None:
    found = rewrite_python(f"{HEAD}import discreet_fire.scripts.runtime as fdz_safe\n").findings
    assert any(each.severity is Severity.ERROR for each in found)
