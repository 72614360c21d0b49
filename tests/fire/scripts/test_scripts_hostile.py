"""Many short leaks in each language, and honest scripts that must stay usable.

A leak counts as seen if it is refused, or goes to review, by more than the name of a module.
"""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from discreet_fire.catalogue.policy import ScriptLanguage, ScriptPolicy
from discreet_fire.catalogue.rules import Action, CommandRule
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from discreet_fire.scripts.tree import parse_r
from tests.helpers.hostile import HOSTILE, blocks_of, is_seen, rewritten, tells, whole
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


class Watched(dict[str, CommandRule]):
    """Rules that know which of them were asked for."""

    asked: set[str]

    def get(self, name: str, default: CommandRule | None = None) -> CommandRule | None:  # type: ignore[override]
        """The rule of a name."""
        self.asked |= {name} & self.keys()
        return super().get(name, default)


#: Modules with a rule on all that they hold; what runs of them shows nothing by itself. A method of
#: `paste` is no leak by itself.
WHOLE = ("statsmodels", "scipy", "np.", "pd.DataFrame.", "pl.DataFrame.", "sys.std", "paste.")


@pytest.mark.parametrize(
    ("language", "named", "step"),
    [
        ("python", "following", 4),
        ("r", "following", 4),
        pytest.param("python", "", 1, marks=pytest.mark.exhaustive),
        pytest.param("r", "", 1, marks=pytest.mark.exhaustive),
    ],
)
def test_no_leak_passes_for_want_of_an_entry(
    language: ScriptLanguage, named: str, step: int
) -> None:
    """A name without a rule goes to review, so that what was forgotten is looked at."""
    rewrite = rewrite_python if language == "python" else rewrite_r
    rules = ScriptPolicy.default(language)
    asking: dict[str, list[str]] = defaultdict(list)
    watching = ScriptPolicy(language, rules.rules, rules.words)
    watching.rules = watched = Watched(rules.rules)
    for path in HOSTILE:
        fits = (".py" in path.name) is (language == "python") and named in path.name
        for block in blocks_of(path) if fits else ():
            watched.asked = set()
            # What a function shows that is handed on is withheld where it runs, known or not.
            if tells(rewrite(text := whole(path.name, block), watching), "handed-on"):
                for name in watched.asked if not any(one in text for one in WHOLE) else ():
                    asking[name].append(text)
    names = sorted(asking.keys() - {"IPython.*", "builtins.*", "os.environ.*"})[::step]
    assert len(names) > 5
    for name in names:
        rest = {other: rule for other, rule in rules.rules.items() if other != name}
        policy = ScriptPolicy(language, rest, rules.words)
        # A rule on its whole module may stand behind it.
        texts = () if policy.rule(name).known else asking[name]
        assert [text for text in texts if not tells(rewrite(text, policy))] == [], name


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
