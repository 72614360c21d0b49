"""Forms that researchers write every day: none is missed, and none raises a false alarm."""

import time
from pathlib import Path

import pytest

from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.rewriting.submission import rewrite_files
from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import Kind
from tests.helpers.everyday import REFUSED, rewritten, said, shown
from tests.helpers.rows import for_all_rows


@for_all_rows(
    "line",
    [
        "bootstrap _b, reps(10): reghdfe y x, a(z)",
        "mi estimate: reghdfe y x",
        "svy: ivreg2 y x",
        "bootstrap: psmatch2 t x",
        "mi estimate, cmdok: xtabond2 y x",
        "stepwise, pr(.1): relogit y x",
    ],
)
def test_a_community_model_behind_a_prefix_is_checked_once(line: str) -> None:
    done = rewritten(line)
    assert done.text == f"fdzestimate {line}"
    assert len(done.edits) == 1


def test_a_comment_of_several_lines_stays_one() -> None:
    done = rewritten('* graph twoway ///\n  scatter y x ///\n  title("a") ///\n  name(b)\nsu x\n')
    assert done.text == (
        f'* graph twoway ///\n  {REFUSED}: scatter y x ///\n  title("a") ///\n  name(b)\n'
        "fdzsummarize x\n"
    )
    kinds = [one.kind for one in parse_do(done.text).statements]
    assert kinds == [Kind.COMMENT, Kind.COMMAND]


def test_a_comment_of_commands_only_stays_one() -> None:
    done = rewritten("* su x ///\n list y ///\n list z\nsu x")
    assert done.text == (f"* su x ///\n {REFUSED}: list y ///\n {REFUSED}: list z\nfdzsummarize x")


TEXT_BLOCK = """putdocx textblock begin
list of cases, see "table 1 /*
sum of it's parts
putdocx textblock end
list x
"""


def test_the_text_of_a_document_holds_no_commands() -> None:
    done = rewritten(TEXT_BLOCK)
    assert done.text == TEXT_BLOCK.replace("list x", f"{REFUSED}: list x")
    told = [finding for finding in done.findings if finding.rule != "command"]
    # They would run if the block were not open.
    assert [(finding.line, finding.rule) for finding in told] == [
        (2, "command-in-text"),
        (3, "command-in-text"),
    ]


@for_all_rows(
    ("text", "rule"),
    [
        *((f"{prefix} putdocx textblock begin\nlist x\nputdocx textblock end\n", "")
          for prefix in ("capture", "cap noi", "if x")),
        ("putdocx textblock begin\nlist x\n", "open-block"),
        (TEXT_BLOCK.replace("cases", "<<dd_docx_display: r(max)>> cases"), "document-text"),
    ],
)  # fmt: skip
def test_a_text_that_may_not_be_open_is_read_as_commands(text: str, rule: str) -> None:
    done = rewritten(text)
    assert f"{REFUSED}: list x" in done.text
    assert not rule or ("review", rule) in said(done)


@pytest.mark.parametrize("line", ["#delimit", "# delimit", "#d"])
def test_delimit_without_a_sign_is_looked_at_and_taken_for_a_semicolon(line: str) -> None:
    done = rewritten(f"{line}\nlist\n x;\n#delimit cr\nsu x\n")
    assert said(done) == [("review", "delimit"), ("refused", "command")]
    assert "*FDZ: x" in done.text
    assert done.text.endswith("fdzsummarize x\n")


HELD = "summarize z\nscalar m = r(max)\nmatrix x = r(max)\n"


@for_all_rows(
    ("line", "outcome"),
    [
        ("save m, replace", None),
        ("use m, clear", None),
        ("rename m n", None),
        ("test x z", "review"),
        ("lincom x - z", "review"),
        ("save `=m', replace", "refused"),
        ('label variable y "`=m\'"', "refused"),
        ("graph bar y, yline(`=m')", "refused"),
        ("twoway function y = m*x", "refused"),
        ("nlcom _b[y]*m", "refused"),
        ("putexcel A1 = m", "refused"),
        ("test `=m'", "refused"),
    ],
)
def test_words_are_scalars_only_where_one_is_looked_up(line: str, outcome: str | None) -> None:
    assert shown(HELD + line, 4) == outcome


def test_old_marks_at_both_ends_of_a_file_are_blanks() -> None:
    done = rewritten("\ufefflist x\nsu y\n\x1a")
    assert done.text == f"\ufeff{REFUSED}: list x\nfdzsummarize y\n\x1a"
    assert said(done) == [("refused", "command")]


@pytest.mark.parametrize("line", ["do /* path */", "do", "run // path", "include /* a.do */ // b"])
def test_a_call_without_a_file_is_looked_at(line: str) -> None:
    done = rewritten(f"{line}\n")
    assert done.text == f"{line}\n"
    assert ("review", "path") in said(done)


def test_a_comment_before_a_path_is_no_path() -> None:
    assert rewritten("do /* the first */ a.do, nostop").text == (
        "do /* the first */ a_FiRe.do, nostop"
    )


@for_all_rows(
    ("path", "action"),
    [
        ('"${code}clean.do"', "review"),
        ('"`dir\'clean.do"', "review"),
        ("`dir'clean", "review"),
        ("`f'.do", "refused"),
        ("a`x'.do", "refused"),
        ("${code}", "refused"),
        ("a.", "refused"),
        ('(d."x")', "refused"),
    ],
)
def test_a_folder_may_stand_in_a_macro_with_its_slash(path: str, action: str) -> None:
    done = rewritten(f"do {path}\n")
    assert [call.action.value for call in done.calls] == [action]
    assert ("clean_FiRe" in done.text) is (action == "review")


def test_a_rewritten_table_still_gives_its_cells() -> None:
    done = rewritten("tabulate x, matcell(f)\nmatrix list f\ndisplay f[1,1]\n")
    told = {finding.line for finding in done.findings if finding.rule == "shown"}
    again = rewrite(done.text)
    assert {finding.line for finding in again.findings if finding.rule == "shown"} == told == {2, 3}


def test_a_string_that_goes_on_is_an_alarm_only_before_a_command() -> None:
    assert said(rewritten('global x "a b ///\n c d"')) == [("info", "continued-string")]
    assert ("review", "continued-string") in said(rewritten('global x "a ///\nlist x"'))


@pytest.mark.parametrize("line", ["qui (list x)", 'cap "list x"', "by id: (x)", "xi: 5"])
def test_what_is_no_command_behind_a_prefix_is_told(line: str) -> None:
    assert said(rewritten(line)) == [("review", "no-command")]


@for_all_rows("line", ["qui * list", "qui {\n}", "if x == 1 {\n}", "qui", "cap noi\n"])
def test_prefixes_by_themselves_raise_no_alarm(line: str) -> None:
    assert said(rewritten(line)) == []


@pytest.mark.parametrize(
    "line", ["di " + "`" * 50_000, "local a " + "`" * 50_000, "di " + "`a" * 25_000 + "'"]
)
def test_back_quotes_without_end_are_told_and_take_no_time(line: str) -> None:
    begin = time.process_time()
    done = rewrite(f"{line}\nlist x\n")
    # Where the time grows as the square this takes minutes.
    assert time.process_time() - begin < 5
    assert {("review", "open-macro"), ("refused", "command")} <= set(said(done))


@for_all_rows("line", ["di `x'", 'di "it`s"', "* `x", 'di `"a"\'', "di 1 // `x"])
def test_closed_macros_strings_and_comments_open_none(line: str) -> None:
    assert "open-macro" not in [rule for _, rule in said(rewrite(line))]


@pytest.mark.parametrize(
    ("text", "named", "found"),
    [
        ("summarize x\n", "", 1),  # the folder is the submission
        ("cd deep/er\nsummarize x\n", "a.do", 1),
        ("summarize x\n", "a.do", 0),
    ],
)
def test_safe_programs_are_looked_for_where_stata_does(
    tmp_path: Path, text: str, named: str, found: int
) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "fdzsummarize.ado").write_text("program fdzsummarize\nend\n")
    (tmp_path / "deep" / "other.ado").write_text("program other\nend\n")
    (tmp_path / "a.do").write_text(text)
    (outcome,) = rewrite_files([tmp_path / named])
    told = [finding for finding in outcome.findings if finding.rule == "ado-file"]
    assert [finding.severity.value for finding in told] == ["error"] * found
    assert (outcome.output is None) is bool(found)
