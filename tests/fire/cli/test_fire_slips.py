"""Slips of officers at the command line: clear answers, and nothing passed over in silence."""

import os
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import Policy, extended_by_list
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.results import undo
from tests.helpers.command import run


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("set trace", "set trace: refused"),
        ("return l", "return list: refused"),
        ("su x, d", "summarize: wrapped by fdzsummarize"),
        ("duplicates list", "duplicates list: refused"),
    ],
)
def test_the_policy_answers_for_a_command_with_its_second_word(asked: str, told: str) -> None:
    answer = run("fire", "policy", "--command", asked)
    assert answer.exit_code == 0
    assert answer.output.startswith(told)
    assert len(answer.output.splitlines()) == 1


def test_the_rules_for_the_server_are_a_file(tmp_path: Path) -> None:
    answer = run("fire", "policy", "--out", tmp_path)
    assert answer.exit_code == 2
    assert "not a file but a folder" in answer.output
    assert list(tmp_path.iterdir()) == []


def test_an_empty_question_about_the_policy_is_a_mistake() -> None:
    answer = run("fire", "policy", "--command", "")
    assert answer.exit_code == 2
    assert "[policy] --command: this is not the name of a command" in answer.output


@pytest.mark.parametrize("place", [".", "..", os.sep, "missing_FiRe.json"])
def test_undo_of_no_manifest_is_a_clear_finding(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputCheckError, match="manifest not found"):
        undo(place)
    answer = run("fire", "undo", place)
    assert answer.exit_code == 2
    assert "manifest not found" in answer.output


@pytest.mark.parametrize("text", ['global S_ADO "x"', "gl S_ADO = 1", "global S_ADO: pwd"])
def test_the_folders_of_programs_are_not_changed_by_their_macro(text: str) -> None:
    assert rewrite(f"{text}\n").text.startswith("*FDZ:")
    assert rewrite("global S_A x\n").text == "global S_A x\n"


def test_the_list_for_logs_is_no_list_of_commands() -> None:
    known = Policy.default()
    with pytest.raises(OutputCheckError, match="not a list of commands"):
        extended_by_list(known, "\ufeff##(1 real change made)\r\n##(…)\r\n", "preFire.txt")
    headed = extended_by_list(known, "## our list\nmycmd\n", "preFire.txt")
    assert headed.commands["mycmd"].action.value == "wrapped"
