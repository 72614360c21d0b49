"""What the catalogue says of Stata commands: each fact once, of commands and values that exist."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from discreet_fire import statistics
from discreet_fire.catalogue.policy import (
    Policy,
    StatisticRow,
    canonical,
    commands_with,
    known_commands,
    stata_catalogue,
    statistic_rows,
    values_of,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.runners.builtin.runner import BUILTIN
from tests.helpers.rows import for_all_rows

POLICY = Policy.default()


def test_every_fact_is_of_a_command_that_exists() -> None:
    facts = stata_catalogue()["facts"]
    assert {name for fact in facts for name in values_of(fact)} <= known_commands()
    assert set(stata_catalogue()["forms"]) <= known_commands()
    assert all(name == canonical(name) for name in Policy.default().commands if canonical(name))


def test_a_value_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError):
        commands_with("data", "keeps")


def test_rows_of_safe_statistics_say_what_they_may_say_of_functions_that_exist() -> None:
    for row in statistic_rows().values():
        for field, kind in get_type_hints(StatisticRow).items():
            value = getattr(row, field)
            assert value in get_args(kind) if get_args(kind) else type(value) is kind
    assert {row.statistic for row in statistic_rows().values()} <= set(statistics.__all__)


def test_what_is_run_or_withheld_is_known() -> None:
    withheld = {canonical(name) or name for name in CleaningRules.default().withheld}
    assert statistic_rows().keys() | BUILTIN.commands.keys() | withheld <= known_commands()
    assert all(canonical(name) == name for name in BUILTIN.commands)


#: Second words that are judged more strictly than their command by itself.
STRICTER = """
char list; cluster dendrogram; creturn list; duplicates browse; duplicates examples;
duplicates list; gduplicates browse; gduplicates examples; gduplicates list; ereturn list;
estat summarize; estimates save; fp plot; frame list; frame post; global s_ado; graph line;
graph matrix; graph scatter; graph box; graph hbox; label list; label save; macro list; macro dir;
mi misstable; mi ptrace; mi varying; mi export; misstable summarize; return list; set adosize;
set tracedepth; set traceexpand; set trace; sreturn list; sts list; twoway connected; twoway line;
twoway scatter; twoway rarea; twoway rbar; twoway rcap; twoway area; twoway bar; twoway spike;
twoway dropline; twoway dot; twoway contour; twoway heatmap; twoway tsline
"""


@for_all_rows("words", [tuple(one.split()) for one in STRICTER.split(";")])
def test_second_words_that_show_more_are_judged_more_strictly(words: tuple[str, str]) -> None:
    command, word = words
    assert POLICY.verdict(command, [word]).action.rank > POLICY.verdict(command).action.rank
