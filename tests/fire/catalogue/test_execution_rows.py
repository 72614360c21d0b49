"""Rows of commands that the runner knows: nothing may be left out, and nothing fails open."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from discreet_fire import statistics
from discreet_fire.catalogue.command_names import canonical
from discreet_fire.catalogue.execution import execution_rows, facts_of, read_rows
from discreet_fire.runners.builtin.disclosure.hidden_branches import _PossibleEffects
from discreet_fire.runners.builtin.registry import command, commands
from tests.helpers.run_data import Run

DOCUMENT: dict[str, Any] = tomllib.loads(
    files("discreet_fire.catalogue").joinpath("execution.toml").read_text("utf-8")
)


def one_row(row: dict[str, Any]) -> dict[str, Any]:
    """A document of one row and its kind."""
    kind = row.get("kind")
    kinds = {kind: copy.deepcopy(DOCUMENT["kind"][kind])} if kind else {}
    return {"kind": kinds, "command": [copy.deepcopy(row)]}


def fields(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each field of a document's row, of its kind, and of their parts."""
    for part in (*document["kind"].values(), *document["command"]):
        for key in part:
            yield part, key
            if isinstance(part[key], dict):
                yield from ((part[key], each) for each in part[key])


def test_a_row_without_one_of_its_fields_or_with_a_wrong_one_is_an_error() -> None:
    texts = ("summary", "weights", "unstored", "statistic", "names", "options", "layout", "idle")
    for row in DOCUMENT["command"]:
        whole = one_row(row)
        assert read_rows(whole)
        for part, key in list(fields(whole)):
            value = part.pop(key)
            with pytest.raises(ValueError):
                read_rows(whole)
            if key not in texts:
                part[key] = "so so"
                with pytest.raises(ValueError):
                    read_rows(whole)
            part[key] = value
        assert read_rows(whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unseen": ["nothing"]}, "stands in its kind"),
        ({"kind": "no such kind"}, "no kind"),
        ({"effect": "none"}, "not known"),
        ({"names": ""}, "without names"),
        ({"names": "merge merge"}, "two rows"),
        ({"options": "Of(x)"}, "not an option"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(change: dict[str, Any], message: str) -> None:
    whole = one_row(next(one for one in DOCUMENT["command"] if one["names"] == "merge"))
    whole["command"][0] |= change
    with pytest.raises(ValueError, match=message):
        read_rows(whole)


def test_each_command_of_the_runner_has_its_row() -> None:
    run = {name for name, row in execution_rows().items() if not row.takes.of_language}
    assert {one.name for one in commands()} == run


def test_a_function_without_a_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no row"):
        command("nosuchcommand")(lambda session, call: None)


def test_every_row_has_a_name_that_the_catalogue_knows() -> None:
    own = {name for name in execution_rows() if canonical(name) != name}
    assert own == {"beep", "note", "stripplot"}


def test_a_statistic_that_a_row_names_is_there() -> None:
    named = {row.shows.statistic for row in execution_rows().values()} - {""}
    assert named <= set(statistics.__all__)
    assert all(row.shows.statistic for row in execution_rows().values() if row.shows.remote)


@pytest.mark.parametrize("name", ["misstable", "duplicates", "contract", "merge", "reshape"])
def test_what_counts_records_by_values_is_said_to(name: str) -> None:
    facts = facts_of(name)
    assert facts is not None
    assert facts.reads.counts


def test_a_command_without_a_row_may_change_anything_where_values_decide() -> None:
    done = Run("summarize x", {"x": [1.0, 2.0, 3.0]})
    trace = done.session.trace
    _PossibleEffects(done.session).command("nosuchcommand", "x")
    assert trace.whole >= {"macros", "scalars", "r()", "e()", "shape"}
    assert done.session.macros.frame.doubted
    assert "x" in trace.variables
    assert trace.code
