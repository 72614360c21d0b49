"""Names of commands: what may be shortened, and how far.

The shortest forms are those that the syntax diagrams of the Stata manuals underline.
"""

from __future__ import annotations

from discreet_fire.catalogue.policy import (
    canonical,
    is_community,
    meanings,
    prefix_kind,
    values_of,
)
from tests.helpers.rows import for_all_rows

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
    names = {name for name, _ in meanings().values()}
    assert len(names) > 700
    assert set(values_of("prefix")) <= names
    assert prefix_kind("list") is None
