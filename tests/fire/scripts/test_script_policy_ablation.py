"""Take any entry out of the rules on Python or R: no leak may pass in silence for that.

A name without a rule goes to review, so that what was forgotten is looked at. A refusal may become
a review, and no more. Where a rule on a whole module stands behind an entry, the function runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from discreet_fire.catalogue.policy import CommandRule, ScriptLanguage, ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r

HOSTILE = sorted((Path(__file__).parents[1] / "data" / "scripts" / "hostile").iterdir())
HEADS = {
    "python": "import pandas as pd\ndf = pd.read_csv('a.csv')\n",
    "r": "d <- read.csv('a.csv')\n",
}
LANGUAGES: tuple[ScriptLanguage, ...] = ("python", "r")
#: The programs of the everyday run.
FEW = "following"
#: A method of it is no leak by itself: what calls it would go to review without the entry.
DISPATCHED = ("paste",)
#: Modules with a rule on all that they hold; what runs of them shows nothing by itself.
WHOLE = ("statsmodels", "scipy", "np.", "pd.DataFrame.", "pl.DataFrame.", "sys.std")
#: Rules on all that a module holds, without which the method counts, or the import.
MODULES = frozenset(("IPython.*", "builtins.*", "os.environ.*"))


class Watched(dict[str, CommandRule]):
    """Rules that know which of them were asked for."""

    asked: set[str]

    def get(self, name: str, default: CommandRule | None = None) -> CommandRule | None:  # type: ignore[override]
        """The rule of a name."""
        if name in self:
            self.asked.add(name)
        return super().get(name, default)


@cache
def blocks_asking(language: ScriptLanguage, named: str = "") -> dict[str, list[str]]:
    """For each entry, the hostile programs that it matters for; those alone can change."""
    rules = ScriptPolicy.default(language)
    policy = ScriptPolicy(language, rules.rules, rules.words)
    watched = Watched(rules.rules)
    policy.rules = watched
    found: dict[str, list[str]] = defaultdict(list)
    for path in HOSTILE:
        if (".py" in path.name) != (language == "python") or named not in path.name:
            continue
        for block in path.read_text("utf-8").split("#---\n"):
            watched.asked = set()
            text = HEADS[language] + block
            for name in watched.asked if is_seen(text, policy) else ():
                found[name].append(text)
    return found


def is_seen(text: str, policy: ScriptPolicy) -> bool:
    rewrite = rewrite_python if policy.language == "python" else rewrite_r
    return any(
        each.severity.rank > Severity.REVIEW.rank
        or (each.severity is Severity.REVIEW and each.rule != "import")
        for each in rewrite(text, policy).findings
    )


def silent_without(
    language: ScriptLanguage, names: list[str], blocks: dict[str, list[str]]
) -> Iterator[str]:
    """Leaks that pass once an entry, or what it states of values, is taken out."""
    whole = ScriptPolicy.default(language)
    rules = whole.rules
    for name in names:
        texts = [text for text in blocks.get(name, []) if not any(one in text for one in WHOLE)]
        texts = [text for text in texts if not (name in DISPATCHED and f"{name}." in text)]
        rest = {other: rule for other, rule in rules.items() if other != name}
        policy = ScriptPolicy(language, rest, whole.words)
        if policy.rule(name).known:  # a rule on its whole module stands behind it
            continue
        yield from (f"{name}: {text}" for text in texts if not is_seen(text, policy))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_leak_passes_for_want_of_an_entry(language: ScriptLanguage) -> None:
    blocks = blocks_asking(language, FEW)
    names = sorted(blocks)[::4]
    assert len(names) > 5
    assert not list(silent_without(language, names, blocks))


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_leak_passes_for_want_of_one_of_many_entries(language: ScriptLanguage) -> None:
    names = sorted(ScriptPolicy.default(language).rules.keys() - MODULES)
    assert not list(silent_without(language, names, blocks_asking(language)))
