"""Scripts that import safe commands by the path of the release before this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from discreet_fire.catalogue.script_policy import ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.do_files import Rewriting
from discreet_fire.rewriting.script_files import rewrite_python

HEAD = "import pandas as pd\ndf = pd.read_csv('a.csv')\n"
#: Ways to import safe commands today, and before.
WAYS = {
    "from discreet_fire import statistics as safe": "from discreet.output_checking import safe",
    "import discreet_fire.statistics as safe": "import discreet.output_checking.safe as safe",
    "from discreet_fire.statistics import summarize": (
        "from discreet.output_checking.safe import summarize"
    ),
}


def judged(text: str) -> list[tuple[str, Severity, int]]:
    done: Rewriting = rewrite_python(HEAD + text)
    return [(each.rule, each.severity, each.line) for each in done.findings]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "use",
    [
        "print({safe}summarize(df, ['x']))",
        "print({safe}summarize(df, ['x'], limits=1))",
        "r = {safe}summarize(df, ['x'])\nprint(r.evidence)",
        "df['m'] = df.x.max()\nprint({safe}summarize(df, ['m']))",
    ],
)
def test_the_former_path_is_judged_as_the_one_of_today(way: str, use: str) -> None:
    text = use.format(safe="" if "import summarize" in way else "safe.")
    assert judged(f"{way}\n{text}\n") == judged(f"{WAYS[way]}\n{text}\n")


def test_a_safe_command_of_the_former_path_may_be_shown() -> None:
    for way in (each for each in WAYS.values() if each.startswith("from ")):
        safe = "" if "import summarize" in way else "safe."
        done = rewrite_python(f"{HEAD}{way}\nprint({safe}summarize(df, ['x']))\n")
        assert (done.edits, done.findings) == ((), ())


def test_what_a_centre_refuses_by_the_former_path_stays_refused(tmp_path: Path) -> None:
    refused = '[commands]\n"discreet.output_checking.safe.summarize" = "refused"\n'
    (tmp_path / "own.toml").write_text(refused)
    policy = ScriptPolicy.read("python", tmp_path / "own.toml")
    for way in ("discreet_fire import statistics as safe", "discreet.output_checking import safe"):
        text = f"{HEAD}from {way}\nprint(safe.summarize(df, ['x']))\n"
        assert rewrite_python(text).findings == ()
        found = rewrite_python(text, policy).findings
        assert any(each.severity is Severity.REFUSED for each in found)


@pytest.mark.parametrize(
    "line",
    [
        "import discreet",
        "import discreet.output_checking",
        "from discreet import output_checking",
        "from discreet.output_checking import rewriting",
        "from discreet.output_checking.safe import SafeResult",
        "from discreet.output_checking.safe import SafeLimits",
        "from discreet.output_checking.safe.results import SafeResult",
        "from discreet.output_checking.scripts import runtime",
        "import discreet.output_checking.scripts.runtime as r",
        "import discreet.perturbation",
        "from discreet.output_checking.safe import *",
    ],
)
def test_everything_else_of_discreet_is_refused(line: str) -> None:
    found = rewrite_python(f"{HEAD}{line}\n").findings
    assert any(each.severity is Severity.REFUSED and each.line == 3 for each in found)


def test_the_name_of_the_safe_functions_stays_theirs() -> None:
    for path in ("discreet_fire.scripts.runtime", "discreet.output_checking.scripts.runtime"):
        found = rewrite_python(f"{HEAD}import {path} as fdz_safe\n").findings
        assert any(each.severity is Severity.ERROR for each in found)


def test_a_script_that_was_rewritten_before_still_runs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n" + "".join(f"{n * 37 % 91}.5\n" for n in range(60)))
    before = "import discreet.output_checking.scripts.runtime as fdz_safe\n"
    (tmp_path / "a_FiRe.py").write_text(f"{before}{HEAD}print(fdz_safe.describe(df))\n")
    done = subprocess.run(
        [sys.executable, "-W", "default", "a_FiRe.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "x |         60" in done.stdout
    assert "DeprecationWarning" in done.stderr
