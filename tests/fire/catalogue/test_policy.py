"""The policy: verdicts on commands, the centre's additions, and the older tool's list."""

from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.catalogue.policy import Policy, canonical, stata_catalogue
from discreet_fire.catalogue.rules import Action
from discreet_fire.rewriting.do_files import rewrite
from tests.helpers.rows import for_all_rows

POLICY = Policy.default()


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_command_that_stata_knows_has_a_rule() -> None:
    listed = stata_catalogue()["names"]
    names = {*listed["stata"].lower().split(), *listed["users"].split()}
    assert sorted(names - POLICY.commands.keys()) == []


def test_no_name_in_the_policy_is_an_abbreviation() -> None:
    assert [name for name in POLICY.commands if canonical(name) not in (None, name)] == []


@for_all_rows(
    ("command", "word", "action"),
    [
        ("duplicates", "list", "refused"),
        ("duplicates", "l", "refused"),
        ("duplicates", "report", "allowed"),
        ("duplicates", "surprise", "review"),
        ("set", "tr", "refused"),
        ("misstable", "sum", "refused"),
    ],
)
def test_second_words_count_with_their_abbreviations(command: str, word: str, action: str) -> None:
    assert POLICY.verdict(command, [word]).action == action


def test_one_line_adds_a_command(tmp_path: Path) -> None:
    text = """
[commands]
mypanel = "allowed"
mytab = { action = "wrapped", safe = "fdztabulate", reason = "like tabulate" }
ta = "refused"
"duplicates Report" = "refused"
"""
    policy = Policy.read(written(tmp_path, "centre.toml", text))
    assert policy.verdict("mypanel").action == "allowed"
    assert policy.verdict("mytab").replaced("mytab") == "fdztabulate"
    assert policy.verdict("tabulate").action == "refused"  # names may be abbreviated
    assert policy.verdict("duplicates", ["rep"]).action == "refused"
    assert policy.verdict("summarize") == POLICY.verdict("summarize")
    assert policy.digest != POLICY.digest
    assert Policy.default().verdict("tabulate").action == "wrapped"


def test_a_centre_may_move_stored_results_and_say_where_its_commands_are(tmp_path: Path) -> None:
    text = """
[stored.r]
refused = ["p50"]
allowed = ["max"]
[header]
adopath = "Z:/fdz/ado"
[roles]
shows = ["mylog"]
"""
    policy = Policy.read(written(tmp_path, "centre.toml", text))
    assert policy.stored("r", "p50") == "refused"
    assert policy.stored("r", "max") == "allowed"
    assert policy.stored("r", "min") == "refused"
    assert policy.adopath == "Z:/fdz/ado"
    assert policy.shows("mylog")


def test_all_mistakes_of_a_policy_are_told_at_once(tmp_path: Path) -> None:
    text = """
[command]
x = "allowed"
[commands]
a = "alowed"
"b-c" = "refused"
d = { action = "wrapped", safe = "two words" }
e = { action = "refused", safe = "fdze" }
f = { acton = "refused" }
g = 3
[header]
adopath = 'a "quoted" path'
[stored.r]
shown = ["min"]
"""
    with pytest.raises(OutputCheckError) as raised:
        Policy.read(written(tmp_path, "centre.toml", text))
    found = str(raised.value)
    for place in ("command", "commands.a", "'b-c'", "commands.d", "commands.e", "commands.f",
                  "commands.g", "header.adopath", "stored.r"):  # fmt: skip
        assert place in found
    assert "closest match: 'allowed'" in found


def test_the_list_of_the_older_tool_is_read(tmp_path: Path) -> None:
    text = "sum\nTabulate\n\n* a comment\n# another\nreg\ninspect\nlist\nmyado\nlogit\n"
    policy = Policy.read(written(tmp_path, "preFire.txt", text))
    assert policy.verdict("summarize").safe == "fdzsummarize"
    assert policy.verdict("tabulate").safe == "fdztabulate"
    assert policy.verdict("regress").safe == "fdzregress"
    assert policy.verdict("inspect").action == "refused"  # what is refused stays refused
    assert policy.verdict("list").action == "refused"
    assert policy.verdict("myado").safe == "fdzmyado"  # a program of the centre
    assert policy.verdict("fdzmyado").action == "allowed"
    assert {"myado wrapped fdzmyado", "fdzmyado allowed"} <= set(policy.run_time_lines())
    assert policy.verdict("logit").action == "wrapped"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("centre.toml", b"[commands]\nx = = 1\n", "line 2"),
        ("preFire.txt", b"sum\nsum x, d\n", r"preFire\.txt, line 2"),
        ("preFire.txt", b"a" * 30, r"preFire\.txt, line 1"),  # too long for a safe command
        ("preFire.txt", b"PK\x03\x04", "preFire"),
    ],
)
def test_what_is_no_policy_is_told_with_its_line(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(OutputCheckError, match=words):
        Policy.read(tmp_path / name)


def test_programs_of_the_submission_are_known_but_replace_no_rule() -> None:
    done = rewrite("program mine\nend\nprogram tabulate\nend\nmine\ntabulate x\n")
    assert [(one.line, one.rule) for one in done.findings] == [(3, "program-name")]
    assert done.text.splitlines()[4:] == ["mine", "fdztabulate x"]


def test_the_rules_for_the_server_name_every_command_once() -> None:
    lines = POLICY.run_time_lines()
    names = [line.split()[0] for line in lines]
    assert len(names) == len(set(names))
    assert "list refused" in lines
    assert "summarize wrapped fdzsummarize" in lines
    assert "logit wrapped fdzestimate+" in lines
    assert "duplicates|list|1 refused" in lines
    assert "generate allowed" in lines
    # What these show cannot be followed when a macro names them.
    assert {"display refused", "label refused", "matrix|list|1 refused"} <= set(lines)


@for_all_rows(
    "text",
    [
        "tab one, su(wage)",
        "oneway wage id, t",
        "signrank wage = 0 in 17",
        "margins, at((min) age)",
        "mfx, at(max)",
        "qreg wage, q(.999)",
        "tobit wage age, ll",
        "encode name, gen(n)\nlabel list n",
        "keep in 17\nexpand 100",
        "keep in 17\ndatasignature",
        "mi misstable summarize",
        "* use data/*.dta\nlist wage\n* x */",
        "novarabbrev list wage",
        "by id: varabbrev list wage",
    ],
)
def test_known_ways_round_the_safe_commands_reach_an_officer(text: str) -> None:
    done = rewrite(text)
    assert done.needs_review or done.text.startswith("*FDZ")


@for_all_rows("name", ["xi", "by", "if", "novarabbrev", "frame", "do", "run", "noisily"])
def test_no_macro_holds_a_prefix_or_a_call_that_runs_what_was_not_read(name: str) -> None:
    lines = Policy.default().run_time_lines()
    assert f"{name} refused" in lines
    assert f"{name} allowed" not in lines


def test_a_role_is_only_ever_added(tmp_path: Path) -> None:
    """A second word for a command that shows with all of them must not free the others."""
    more = written(tmp_path, "more.toml", '[roles]\nshows = ["display total", "mycmd list"]\n')
    policy = Policy.read(more)
    assert policy.shows("display", "anything")
    assert policy.shows("mycmd", "list")
    assert not policy.shows("mycmd", "drop")
    assert "FDZ" in rewrite("di r(max)\n", policy).text
    both = written(tmp_path, "both.toml", '[roles]\nshows = ["mycmd list", "mycmd"]\n')
    assert Policy.read(both).shows("mycmd", "drop")


def test_abbreviations_in_a_file_stand_for_their_commands(tmp_path: Path) -> None:
    text = (
        '[roles]\nshows = ["g"]\n[prefixes]\nbefore = ["qui"]\nshows = ["by"]\n'
        '[[option]]\ncommands = ["reg"]\noptions = ["secret"]\naction = "refused"\n'
    )
    policy = Policy.read(written(tmp_path, "short.toml", text))
    assert policy.shows("generate")
    assert "quietly" in policy.before
    assert (rule := policy.option("regress", "secret")) is not None
    assert rule.action is Action.REFUSED
