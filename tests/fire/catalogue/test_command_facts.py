"""What the catalogue says of Stata commands: each fact once, of commands and values that exist."""

from typing import get_args, get_type_hints

import pytest

from discreet_fire import statistics
from discreet_fire.catalogue.policy import (
    Policy,
    StatisticRow,
    canonical,
    commands_with,
    is_community,
    known_commands,
    prefix_kind,
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


SHORTEST = {
    "su": "summarize", "ta": "tabulate", "reg": "regress", "ins": "inspect", "l": "list",
    "d": "describe", "di": "display", "cou": "count", "cor": "correlate", "logi": "logit",
    "prob": "probit", "olog": "ologit", "oprob": "oprobit", "mlog": "mlogit", "hist": "histogram",
    "g": "generate", "loc": "local", "gl": "global", "qui": "quietly", "n": "noisily",
    "cap": "capture", "bys": "bysort", "br": "browse", "ed": "edit", "sca": "scalar",
    "sc": "scatter", "tw": "twoway", "gr": "graph", "la": "label", "pr": "program", "tob": "tobit",
    "forv": "forvalues", "ret": "return", "eret": "ereturn", "ma": "macro", "mat": "matrix",
    "est": "estimates", "u": "use", "sa": "save", "so": "sort", "sh": "shell", "xsh": "xshell",
    "te": "test", "on": "oneway", "an": "anova", "fac": "factor", "outs": "outsheet",
    "ou": "outfile", "xtdes": "xtdescribe", "stdes": "stdescribe", "ty": "type", "fl": "flist",
}  # fmt: skip


@for_all_rows("word", SHORTEST)
def test_every_form_from_the_shortest_to_the_full_name(word: str) -> None:
    name = SHORTEST[word]
    forms = [name[:length] for length in range(len(word), len(name) + 1)]
    taken = {"sca"} if name == "scatter" else set()
    assert {canonical(form) for form in forms if form not in taken} == {name}


@for_all_rows("word", ["s", "t", "r", "i", "c", "f", "tabula_", "summary", "lists", "SU", ""])
def test_words_that_are_no_commands(word: str) -> None:
    assert canonical(word) is None


@for_all_rows(
    "name", ["replace", "drop", "keep", "clear", "tabstat", "codebook", "xtsum", "merge", "stem"]
)
def test_commands_that_must_be_written_in_full(name: str) -> None:
    assert canonical(name) == name
    assert canonical(name[:-1]) in (None, "merge")


def test_commands_of_users_only_in_full() -> None:
    assert {canonical(name) for name in ("reghdf", "estta", "outreg", "psmatch")} <= {
        None,
        "outreg",
    }
    assert is_community("esttab") is True


def test_there_are_enough_commands_and_prefixes_are_among_them() -> None:
    listed = stata_catalogue()["names"]
    names = {*listed["stata"].lower().split(), *listed["users"].split()}
    assert len(names) > 700
    assert set(values_of("prefix")) <= names
    assert prefix_kind("list") is None
