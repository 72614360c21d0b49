"""Many short leaks in each language, and honest scripts that must stay usable.

A leak counts as seen if it is refused, or goes to review, by more than the name of a module.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from discreet_fire.catalogue.rules import Action
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from discreet_fire.scripts.r_syntax import parse_r
from tests.helpers.hostile import HOSTILE, blocks_of, is_seen, rewritten, whole
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows

FOLDER = FIRE_DATA / "scripts"
HONEST = sorted((FOLDER / "honest").glob("*/*"))
#: How many places of an honest script go to review; none where it is not named.
REVIEWS: dict[str, int] = {}


#: Of how many the values are looked at only where they run: `test_hostile_scripts` runs them.
RUN = {
    "base.R.txt": 63, "following.R.txt": 68, "following.py.txt": 88, "implicit.R.txt": 22,
    "implicit.py.txt": 107, "language.py.txt": 39, "libraries.py.txt": 59, "modules.py.txt": 5,
    "outputs.R.txt": 3,
}  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
def test_no_leak_passes_in_silence_but_what_is_withheld_where_it_runs(path: Path) -> None:
    blocks = blocks_of(path)
    assert len(blocks) > 50
    assert len([block for block in blocks if not is_seen(path.name, block)]) <= RUN[path.name]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
def test_what_is_written_is_a_program_and_can_be_taken_back(path: Path) -> None:
    written = 0
    for block in path.read_text("utf-8").split("#---\n"):
        text = whole(path.name, block)
        done = rewritten(path.name, text)
        if done.refused:
            continue
        written += 1
        (ast.parse if ".py" in path.name else parse_r)(done.text)
        back = done.text
        for edit in done.edits:
            start = edit.start
            assert back[start : start + len(edit.after)] == edit.after, block
            back = back[:start] + edit.before + back[start + len(edit.after) :]
        assert back == text, block
    assert written


def test_there_are_ten_honest_scripts_of_each() -> None:
    assert [sum(path.suffix == end for path in HONEST) for end in (".txt", ".R")] == [10, 10]


@for_all_rows("path", HONEST, ids=lambda path: path.name)
def test_honest_scripts_run_with_safe_functions_and_few_findings(path: Path) -> None:
    text = path.read_text("utf-8")
    done = rewritten(path.name, text)
    grave = [each for each in done.findings if each.severity.rank > Severity.REVIEW.rank]
    assert not grave, [str(each) for each in grave]
    reviews = [str(each) for each in done.findings if each.severity is Severity.REVIEW]
    assert len(reviews) == REVIEWS.get(path.name, 0), reviews
    assert all(edit.action is Action.WRAPPED for edit in done.edits)
    assert done.edits or "from discreet_fire import" in text


#: Names of columns that are no values: constants, other names; what chooses records is no name.
NAMED_BY_HAND = {
    "a.py": """
for name in df.columns:
    df[name + "_log"] = df[name]
for name in ["a", "b"]:
    df[f"z_{name}"] = df[name]
chosen = df.x > 3
chosen = chosen & ~df.y.isna()
df[chosen] = 0
df.loc[chosen, "k"] = 1
df["l"] = df.loc[chosen, "k"] / df.shape[0]
df["first"] = df.name.str[0]
df["per"] = df.x - df.groupby("k").x.transform("mean")
wide = df.pivot_table(columns="year", values="x")
df["y"] = wide["2020"]
table = pd.crosstab(df.a, df.b)
print(df.describe(), wide["2020"].mean(), table)
""",
    "a.R": """
for (name in names(d)) d[[paste0(name, "_log")]] <- d[[name]]
for (name in c("a", "b")) d[[paste0("z_", name)]] <- d[[name]]
chosen <- d$x > 3 & !is.na(d$y)
d[chosen, "k"] <- 1
d$z[is.na(d$x)] <- 1
for (i in seq_along(d$x)) d$z[i] <- i
d$per <- d$x - ave(d$x, d$k, FUN = mean)
d$short <- sapply(d$text, function(v) substr(v, 1, 1))
for (name in names(d)) d <- mutate(d, !!paste0(name, "_b") := .data[[name]])
wide <- spread(d, year, x)
summary(d)
mean(wide[["2020"]])
""",
}


@pytest.mark.parametrize("name", NAMED_BY_HAND)
def test_names_of_columns_that_are_no_values_are_no_labels(name: str) -> None:
    found = rewritten(name, whole(name, NAMED_BY_HAND[name])).findings
    assert not [str(each) for each in found if each.severity is not Severity.INFO]


#: What runs without a call and shows nothing, or shows it whatever the data are.
QUIET = """
import contextlib, functools, time
from dataclasses import dataclass

class Step:
    def __init__(self):
        self._size = 1

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self._size = 0

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value

    @functools.cached_property
    def twice(self):
        return 2 * self._size

    def report(self):
        return "done"

@dataclass
class Pair:
    first: int = 0

def numbers():
    for at in range(3):
        yield at

for at in ("one", "two"):
    step = Step()
    print("done")
    step.report()
with Step() as step:
    step.size = 4
    print(df.describe())
for at in df.columns:
    df[at + "_b"] = step.size + Pair().first + step.twice
for at in numbers():
    rest = at
rest = sum(at for at in numbers())
if df.x.mean() > 3 > rest > 1:
    df["k"] = step.size
"""


def test_what_runs_without_a_call_and_shows_nothing_is_no_finding() -> None:
    found = rewritten("a.py", whole("a.py", QUIET)).findings
    assert [str(each) for each in found if each.severity is not Severity.INFO] == []


def test_the_safe_functions_are_loaded_before_a_decorator() -> None:
    text = "@wraps\ndef f():\n    pass\nimport pandas as pd\nprint(pd.read_csv('a').describe())\n"
    lines = rewrite_python(text).text.splitlines()
    assert lines[1:3] == ["@wraps", "def f():"]


@for_all_rows(
    "line",
    [
        "rm(list = ls())",
        "d$s <- str_pad(str_replace_all(d$s, 'a', 'b'), 3)",
        "d$s <- fct_relevel(d$s, 'b')",
        "d <- mutate_at(d, vars(a, b), as.numeric)",
        "label(d$x) <- 'Wage'",
        "l <- geom_hline(yintercept = 0)",
    ],
)
def test_everyday_functions_of_r_need_no_look(line: str) -> None:
    done = rewrite_r(f"d <- read.csv('a')\n{line}\n")
    assert [str(one) for one in done.findings if one.severity is not Severity.INFO] == []
