"""`discreet fire pre` and `undo` on scripts, and the attacks that a corpus line cannot show."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_files, rewrite_python, rewrite_r
from tests.helpers.command import run
from tests.helpers.rows import for_all_rows

PROGRAM = """\
'''Means of wages.'''
from __future__ import annotations
import pandas as pd
df = pd.read_csv("wages.csv")
print("cases and wages")
print(df.describe())
print(df.wage.max())
"""


def test_a_script_is_rewritten_restored_and_rewritten_again(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text(PROGRAM)
    done = run("fire", "pre", script, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["files"][0]["refused"] == 1
    assert script.read_text() == PROGRAM
    before = (tmp_path / "a_FiRe.py").read_bytes()
    assert "as it was before" in run("fire", "pre", tmp_path / "a_FiRe.py").output
    assert (tmp_path / "a_FiRe.py").read_bytes() == before
    script.unlink()
    assert run("fire", "undo", tmp_path / "a_FiRe.py.json").exit_code == 0
    assert script.read_text() == PROGRAM


def test_a_refused_part_stops_the_script_without_a_figure(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nx = os.system('echo 1')\n")
    rewrite_files([tmp_path / "a.py"])
    done = subprocess.run(
        [sys.executable, "a_FiRe.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "os.system is not permitted" in done.stderr


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.py", b"x = (1\n", "not Python"),
        ("a.py", b"# coding: utf-7\nprint('+AGE-')\n", "reads this file as utf-7"),
        ("a.py", "x = 'Löhne'\n".encode("latin-1"), "reads this file as utf-8"),
        ("a.py", b"x = " + b"(" * 500 + b"1" + b")" * 500, ""),
        ("a.py", b"x = " + b"-" * 20_000 + b"1", ""),
        ("a.py", b"fdz_safe = 3\n", "belongs to the safe functions"),
        ("a.R", b"x <- c(1,\n", "cannot be parsed"),
        ("a.R", b"(" * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_not_written(
    tmp_path: Path, name: str, data: bytes, what: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (outcome,) = rewrite_files([tmp_path / name])
    assert outcome.state == "refused"
    grave = [each for each in outcome.findings if each.severity is Severity.ERROR]
    assert any(what in each.what for each in grave), [str(each) for each in grave]
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_a_file_of_the_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.R").write_text("x <- 1\n")
    (tmp_path / "a_FiRe.R").write_text("mine\n")
    assert run("fire", "pre", tmp_path / "a.R").exit_code == 2
    assert (tmp_path / "a_FiRe.R").read_text() == "mine\n"
    assert run("fire", "pre", tmp_path / "a.R", "--overwrite").exit_code == 0


def test_a_folder_gives_scripts_and_do_files(tmp_path: Path) -> None:
    (tmp_path / "a.R").write_text("x <- 1\n")
    (tmp_path / "b.do").write_text("su x\n")
    done = run("fire", "pre", tmp_path, "--json")
    assert json.loads(done.stdout)["written"] == 2
    assert json.loads(run("fire", "pre", tmp_path, "--json").stdout)["written"] == 0


def test_chunks_of_a_document_are_rewritten_and_the_text_is_not(tmp_path: Path) -> None:
    text = "Title print(d)\n\n```{r first}\nd <- read.csv('a')\nd\n```\n\nEnd `d`\n"
    (tmp_path / "a.Rmd").write_text(text)
    rewrite_files([tmp_path / "a.Rmd"])
    assert (tmp_path / "a_FiRe.Rmd").read_text() == text.replace("\nd\n`", "\ninvisible(d)\n`")
    python = "```{python}\nimport pandas as pd\ndf = pd.read_csv('a')\ndf.head()\n```\n"
    (tmp_path / "b.qmd").write_text(python)
    rewrite_files([tmp_path / "b.qmd"])
    assert "\npass  # FDZ" in (tmp_path / "b_FiRe.qmd").read_text()


def test_a_centre_adds_rules(tmp_path: Path) -> None:
    rules = tmp_path / "ours.toml"
    rules.write_text('[commands]\n"ourtools.*" = "allowed"\n".peek" = "refused"\n')
    policy = ScriptPolicy.read("python", rules)
    done = rewrite_python("import ourtools\nx = ourtools.mean(1)\nx.peek()\n", policy)
    assert [each.line for each in done.findings if each.severity >= Severity.INFO] == [3]
    assert policy.digest != ScriptPolicy.default("python").digest
    rules.write_text('[commands]\nx = "perhaps"\n[other]\n')
    with pytest.raises(OutputCheckError) as error:
        ScriptPolicy.read("r", rules)
    assert len(error.value.problems) == 2


@for_all_rows(
    "line",
    [
        "print(x := df.y.max())",
        "x: print(df) = 1",
        "class A:\n    print(df)",
        "[print(v) for v in df.x]",
        "print(*df.x)",
        "print(**{'sep': df.x.max()})",
        "match df.x.max():\n    case y: print(y)",
        "from discreet_fire import statistics as safe\nsafe = df\nprint(safe.summarize(df))",
        "from discreet_fire.statistics import table\ndef table(x): return x\nprint(table(df))",
        "def str(x): return df.x.max()\nprint(str(1))",
        "title = 'a'\ntitle = df.x.max()\nprint(title)",
        "from settings import TITLE\nprint(TITLE)",
        "ｐrint(df)",
        "df.ｔo_csv('a')",
        "import logging\nlogging.getLogger().info(df.x.max())",
        "input(df.x.max())",
        "with open('a') as f: print(f.read())",
        "async def f():\n    print(await df)",
        "print(open('data.csv').read())",
        "import numpy as np\nx = np.memmap('a', mode='w+')",
        "print('{0.x}'.format(df))",
        "print('%s' % df.x.max())",
    ],
)
def test_ways_around_in_python_are_seen(line: str) -> None:
    done = rewrite_python(f"import pandas as pd\ndf = pd.read_csv('a')\n{line}\n")
    assert any(each.severity is Severity.REFUSED for each in done.findings), done.text


@for_all_rows(
    "line",
    [
        "if (TRUE) { p <- print }; p(d)",
        "f <- function(x = print) x(d); f()",
        "list(print)[[1]](d)",
        "Reduce(function(a, b) cat(a), d$x)",
        "x <- y <- d; y",
        "d$x -> z; cat(z)",
        "l <- list(); l$top <- max(d$x); cat(l$top)",
        "names(l)[1] <- d$x; print(names(l))",
        "switch('a', a = d)",
        "repeat { print(d); break }",
        'r"(\n)"; print(d)',
        "d |> (\\(v) print(v))()",
        "`my print` <- print; `my print`(d)",
        "with(d, print(x))",
        "d |> _$x",
        "d %>% { print(.) }",
        "Sys.sleep(max(d$x))",
        "paste <- function(x) max(d$x); cat(paste(1))",
        "-d",
        "base:::print(d)",
        "function(x) x; (function() d)()",
    ],
)
def test_ways_around_in_r_are_seen(line: str) -> None:
    done = rewrite_r(f"d <- read.csv('a')\n{line}\n")
    assert any(each.severity.rank >= Severity.REFUSED.rank for each in done.findings), done.text


def test_what_is_refused_stays_out_of_safe_calls() -> None:
    head = "import os\nimport pandas as pd\ndf = pd.read_csv('a')\n"
    whole = rewrite_python(head + "print(df.pipe(lambda x: os.system('ls')).describe())\n").text
    assert whole.splitlines()[-1].startswith("pass  # FDZ")
    line = "t = df.pipe(lambda x: os.system('ls')).describe()\nprint(t)\n"
    text = rewrite_python(head + line).text
    assert "fdz_safe.describe" in text
    assert "os.system('ls')" not in text
    text = rewrite_r("d <- read.csv('a')\nsummary(lapply(d, function(x) system('ls')))\n").text
    assert "fdz_summary" in text
    assert "system('ls')" not in text


def test_places_that_tell_are_reviewed() -> None:
    assert rewrite_python("a = 'https://a/b'\n").needs_review
    done = rewrite_r("d <- read.csv('a')\ne <- read.csv(paste0('http://a/', max(d$x)))\n")
    assert {each.rule for each in done.findings} == {"address"}


def test_clean_programs_stay_as_they_are() -> None:
    text = 'names = ["a", "b"]\nfor name in names:\n    print(f"{name}: {len(name):d}")\n'
    done = rewrite_python(text)
    assert (done.text, done.findings) == (text, ())
    text = 'x <- c(1, 2)\nfor (v in x) cat("value", v, "\\n")\nx[1] + 2\npaste("a", x)\n'
    assert (rewrite_r(text).text, rewrite_r(text).findings) == (text, ())


@given(
    st.lists(
        st.sampled_from(
            ["x <- 1", "print(x)", "d", "f <- function(a) a", "if (x > 1) d else x", "d |> head()"]
        ),
        min_size=1,
        max_size=6,
    )
)
def test_rewriting_r_twice_changes_nothing_more(lines: list[str]) -> None:
    once = rewrite_r("\n".join(lines)).text
    assert rewrite_r(once).text == once


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
