"""Take any entry out of the rules on Python or R: no leak may pass in silence for that.

A name without a rule goes to review, and a name of which no rule states what it does with values
does too, so that what was forgotten is looked at. A refusal may become a review, and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from discreet_fire.catalogue.policy import CommandRule, ScriptLanguage, ScriptPolicy
from discreet_fire.catalogue.rules import Action
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
            assert is_seen(text, policy), block
            for name in watched.asked:
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
        texts = blocks.get(name, [])
        texts = [text for text in texts if not (name in DISPATCHED and f"{name}." in text)]
        rest = {other: rule for other, rule in rules.items() if other != name}
        shorter = [rest]
        if rules[name].risks:
            shorter.append({**rules, name: replace(rules[name], risks=None)})
        for left in shorter:
            policy = ScriptPolicy(language, left, whole.words)
            yield from (f"{name}: {text}" for text in texts if not is_seen(text, policy))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_leak_passes_for_want_of_an_entry(language: ScriptLanguage) -> None:
    blocks = blocks_asking(language, FEW)
    names = sorted(blocks)[::6]
    assert len(names) > 5
    assert not list(silent_without(language, names, blocks))


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_leak_passes_for_want_of_one_of_many_entries(language: ScriptLanguage) -> None:
    names = sorted(ScriptPolicy.default(language).rules)[1::5]
    assert not list(silent_without(language, names, blocks_asking(language)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_function_that_runs_states_what_it_does_with_values(language: ScriptLanguage) -> None:
    silent = {Action.ALLOWED, Action.WRAPPED}
    rules = ScriptPolicy.default(language).rules.values()
    unstated = {rule.name for rule in rules if rule.action in silent and rule.risks is None}
    # Whole modules only, of which single functions are stated.
    assert all(name.endswith((".*", "::*")) for name in unstated)
    assert len(unstated) < 25


def test_what_no_rule_states_goes_to_review_where_it_gets_data() -> None:
    whole = ScriptPolicy.default("python")
    rules = whole.rules
    log = replace(rules["numpy.log"], risks=None)
    policy = ScriptPolicy("python", {**rules, "numpy.log": log}, whole.words)
    text = f"{HEADS['python']}import numpy as np\ny = np.log({{}})\n"
    for argument, reviews in (("3", 0), ("df.x", 1), ("'a'", 1)):
        found = rewrite_python(text.format(argument), policy).findings
        assert sum(each.severity is Severity.REVIEW for each in found) == reviews
