"""Forms that researchers write every day: none is missed, and none raises a false alarm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from discreet.output_checking.rewriting import Rewriting, rewrite
from discreet.output_checking.stata import Kind, parse_do
from discreet.output_checking.submission import rewrite_files

REFUSED = "*FDZ: command not permitted in remote execution"


def rewritten(text: str) -> Rewriting:
    """What becomes of a text; rewriting it once more changes nothing."""
    done = rewrite(text)
    assert rewrite(done.text).text == done.text
    return done


def said(done: Rewriting) -> list[tuple[str, str]]:
    return [(finding.severity.value, finding.rule) for finding in done.findings]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("line", ["nosuch: list x", "reghdfe: list x", "xi: nosuch: list x"])
def test_an_unknown_word_may_be_a_prefix(line: str) -> None:
    assert rewritten(line).text.startswith(REFUSED)


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


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("collect style cell result[sd mean], nformat(%9.2f)", False),
        ("collect layout (colname) (model[1 2]#result[_r_b])", False),
        ("collect style cell result[2], halign(left)", False),
        ("collect, tag(model[3]): summarize x", False),
        ("collect r(max), tag(model[3]): summarize x", True),
        ("collect a=y[17], tag(model[3]): summarize x", True),
        ("collect get top=(r(max)), tags(var[x])", True),
        ("collect get a=y[17]", True),
        ("collect style cell result[r(max)]", True),
    ],
)
def test_dimensions_of_a_collection_are_no_subscripts(line: str, refused: bool) -> None:
    assert rewritten(line).text.startswith(REFUSED) is refused


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


@pytest.mark.parametrize("prefix", ["capture", "cap noi", "if x"])
def test_a_text_that_may_not_be_open_is_read_as_commands(prefix: str) -> None:
    done = rewritten(f"{prefix} putdocx textblock begin\nlist x\nputdocx textblock end\n")
    assert f"{REFUSED}: list x" in done.text


def test_figures_in_the_text_of_a_document_are_told() -> None:
    done = rewritten(TEXT_BLOCK.replace("cases", "<<dd_docx_display: r(max)>> cases"))
    assert ("review", "document-text") in said(done)


def test_a_text_without_end_is_read_as_commands() -> None:
    done = rewritten("putdocx textblock begin\nlist x\n")
    assert f"{REFUSED}: list x" in done.text
    assert ("review", "open-block") in said(done)


@pytest.mark.parametrize("line", ["#delimit", "# delimit", "#d"])
def test_delimit_without_a_sign_is_looked_at_and_taken_for_a_semicolon(line: str) -> None:
    done = rewritten(f"{line}\nlist\n x;\n#delimit cr\nsu x\n")
    assert said(done) == [("review", "delimit"), ("refused", "command")]
    assert "*FDZ: x" in done.text
    assert done.text.endswith("fdzsummarize x\n")


HELD = "summarize z\nscalar m = r(max)\nmatrix x = r(max)\n"


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("save m, replace", None),
        ("use m, clear", None),
        ("graph bar m", None),
        ('label variable m "text"', None),
        ("rename m n", None),
        ("test x z", "review"),
        ("lincom x - z", "review"),
        ("save `=m', replace", "refused"),
        ('label variable y "`=m\'"', "refused"),
        ("graph bar y, yline(`=m')", "refused"),
        ("twoway function y = m*x", "refused"),
        ("display scalar(m)", "refused"),
        ("matrix list x", "refused"),
        ("nlcom _b[y]*m", "refused"),
        ("putexcel A1 = m", "refused"),
        ("test `=m'", "refused"),
    ],
)
def test_words_are_scalars_only_where_one_is_looked_up(line: str, outcome: str | None) -> None:
    done = rewritten(HELD + line)
    told = [finding for finding in done.findings if finding.line == 4]
    found = {finding.severity.value for finding in told if finding.rule == "shown"}
    assert found == ({outcome} if outcome else set())


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


@pytest.mark.parametrize(
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


def test_python_may_name_a_variable_end() -> None:
    program = "python:\nend = 5\nlist(x)\nend // done\nlist x\n"
    done = rewritten(program)
    assert done.text == program.replace("\nlist x", f"\n{REFUSED}: list x")
    assert [finding.rule for finding in done.findings] == ["command", "command"]


def test_a_string_that_goes_on_is_an_alarm_only_before_a_command() -> None:
    assert said(rewritten('global x "a b ///\n c d"')) == [("info", "continued-string")]
    assert ("review", "continued-string") in said(rewritten('global x "a ///\nlist x"'))


@pytest.mark.parametrize("line", ["qui (list x)", 'cap "list x"', "by id: (x)", "xi: 5"])
def test_what_is_no_command_behind_a_prefix_is_told(line: str) -> None:
    assert said(rewritten(line)) == [("review", "no-command")]


@pytest.mark.parametrize("line", ["qui * list", "qui {\n}", "if x == 1 {\n}", "qui", "cap noi\n"])
def test_prefixes_by_themselves_raise_no_alarm(line: str) -> None:
    assert said(rewritten(line)) == []


def test_statements_on_objects_are_looked_at() -> None:
    assert said(rewritten(".Graph.title.text = {}")) == [("review", "command")]


@pytest.mark.parametrize(
    "line", ["di " + "`" * 200_000, "local a " + "`" * 200_000, "di " + "`a" * 100_000 + "'"]
)
def test_back_quotes_without_end_are_told_and_take_no_time(line: str) -> None:
    begin = time.process_time()
    done = rewrite(f"{line}\nlist x\n")
    # Where the time grows as the square this takes minutes.
    assert time.process_time() - begin < 10
    assert {("review", "open-macro"), ("refused", "command")} <= set(said(done))


@pytest.mark.parametrize("line", ["di `x'", 'di "it`s"', "* `x", 'di `"a"\'', "di 1 // `x"])
def test_closed_macros_strings_and_comments_open_none(line: str) -> None:
    assert "open-macro" not in [rule for _, rule in said(rewrite(line))]


@pytest.mark.parametrize(
    "line", ["global S_ADO x", "macro define S_ADO x", "macro drop a S_ADO", "macro drop fdz_k"]
)
def test_where_programs_are_found_is_not_changed(line: str) -> None:
    assert rewritten(line).text.startswith(REFUSED)


def test_safe_programs_are_looked_for_in_folders_below(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "fdzsummarize.ado").write_text("program fdzsummarize\nend\n")
    (tmp_path / "deep" / "other.ado").write_text("program other\nend\n")
    program = tmp_path / "a.do"
    program.write_text("summarize x\n")
    (outcome,) = rewrite_files([program])
    told = [finding for finding in outcome.findings if finding.rule == "ado-file"]
    assert [finding.severity.value for finding in told] == ["error"]
    assert outcome.output is None


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("estpost summarize x y", "quietly estpost summarize x y"),
        ("eststo: estpost tabstat x", "eststo: quietly estpost tabstat x"),
        ("quietly estpost summarize x", "quietly estpost summarize x"),
        ("bootstrap r(mean): su x", "bootstrap r(mean): fdzsummarize x"),
    ],
)
def test_prefixes_that_take_commands_of_their_own(line: str, after: str) -> None:
    done = rewritten(line)
    assert done.text == after
    assert (("review", "prefix") in said(done)) is ("estpost" in line)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ('esttab, cells("mean sd min max")', True),
        ("estout, main(p99)", True),
        ("esttab . using a.tex, c(range)", True),
        ('esttab using a.tex, cells("mean(fmt(2)) sd") title(min)', False),
        ("esttab m1 m2, se", False),
    ],
)
def test_tables_of_smallest_and_largest_values_are_refused(line: str, refused: bool) -> None:
    assert rewritten(line).text.startswith(REFUSED) is refused


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("collect layout (g[`levels']#x)", "review"),
        ('collect layout (g["a b"]#x)', None),
        ("collect layout (g[`top'])", "refused"),
    ],
)
def test_macros_in_dimensions_are_followed(line: str, outcome: str | None) -> None:
    done = rewrite(f"levelsof g, local(levels)\nlocal top = r(max)\n{line}\n")
    found = {one.severity.value for one in done.findings if one.rule == "shown"}
    assert found == ({outcome} if outcome else set())


def test_colours_and_line_ends_are_no_names_of_scalars() -> None:
    head = "args a\nscalar `a' = x[3]\n"
    for line in ('di in red "no"', 'di _n in gr "text" _c', 'di as err "t"'):
        assert said(rewritten(head + line)) == []
    for line in ("di scalar(q)", "matlist b", "di q"):
        assert said(rewritten(head + line)) != []


def test_only_whole_macros_are_taken_for_names() -> None:
    text = rewritten("local b x\ndi `m_`a'`b''\ndi `b'\n").text
    assert text == f"local b x\ndi `m_`a'`b''\n{REFUSED}: di 'b'\n"


PROGRAM = """program p, rclass
return scalar diff = {value}
return scalar p50 = 1
end
"""


@pytest.mark.parametrize(
    ("value", "line", "outcome"),
    [
        ("3", "bootstrap r(diff): p", None),
        ("3", "display r(diff)", None),
        ("r(max)", "display r(diff)", "refused"),
        ("3", "display r(other)", "review"),
        ("3", "display r(p50)", "review"),  # it is also a result of summarize
    ],
)
def test_results_of_own_programs_are_followed(value: str, line: str, outcome: str | None) -> None:
    done = rewritten(f"{PROGRAM.format(value=value)}{line}\n")
    found = {one.severity.value for one in done.findings if one.rule == "shown"}
    assert found == ({outcome} if outcome else set())


NOTES = "this is a note: it's \"x\nend\nlist y\n/* never closed\n"


def test_notes_behind_the_end_of_a_program_matter_less() -> None:
    done = rewritten(f"su x\nexit\n{NOTES}")
    assert {severity for severity, rule in said(done) if rule != "command"} == {"info"}
    assert f"{REFUSED}: list y" in done.text
    for ends in ("if x exit", "capture exit", "{\nexit\n}", ""):
        rules = {rule for severity, rule in said(rewrite(f"{ends}\n{NOTES}")) if severity != "info"}
        assert {"unknown-command", "stray-end", "open-comment"} <= rules


def test_a_comment_without_end_is_looked_at_and_its_commands_are_stopped() -> None:
    done = rewritten("su x\n/* the rest is old\nlist x\n")
    assert done.text == f"fdzsummarize x\n/* the rest is old\n{REFUSED}: list x\n"
    assert ("review", "open-comment") in said(done)


@pytest.mark.parametrize("line", ["for any list su: X age", "for var a b: list X"])
def test_commands_that_for_puts_in_are_refused(line: str) -> None:
    assert rewritten(line).text.startswith(REFUSED)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("`nd' in ye r(min)", "refused"),
        ('`nd\' in gr "min" _col(3) %9.0g r(max)', "refused"),
        ("`nd' in f/r(max)", "review"),
        ("`nd' r(max)", "refused"),
        ("`nd' in ye r(mean)", None),
        ("`nd' y x if z > 3", None),
        ("`byc' replace m = m[_n-1]", "review"),
        ("`byc' replace m = m[3]", "refused"),
    ],
)
def test_a_command_in_a_macro_may_be_display(line: str, outcome: str | None) -> None:
    done = rewritten(f'local nd "noisily di"\nlocal byc "by g:"\n{line}\n')
    found = {one.severity.value for one in done.findings if one.rule == "shown"}
    assert found == ({outcome} if outcome else set())


def test_a_loop_over_a_list_of_numbers_gives_numbers() -> None:
    text = "foreach j of numlist 2/`i' {\nlocal k = `j'-1\ndi `k'\n}\n"
    assert rewritten(text).text == text
    assert said(rewrite(text)) == []


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ('di "`return(top)\'"', "refused"),
        ("di `return(top)'", "refused"),
        ("di return(top)", "refused"),
        ("local a = return(top)\ndi `a'", "refused"),
        ("di return(m)", None),
        ("di `return(m)'", None),
        ("di sreturn(top)", None),
    ],
)
def test_what_a_program_returned_so_far_is_followed(line: str, outcome: str | None) -> None:
    head = "program p, rclass\nsu x\nreturn scalar top = r(max)\nreturn scalar m = r(mean)\n"
    done = rewritten(f"{head}{line}\nend\n")
    found = {one.severity.value for one in done.findings if one.rule == "shown"}
    assert found == ({outcome} if outcome else set())


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("twoway (lfit y x), title(Line of fit)", False),
        ("twoway lfit y x, title(Scatter)", False),
        ("twoway (lfit y x), by(area) legend(label(1 scatter))", False),
        ("twoway (kdensity y if (line == 1))", False),
        ("graph twoway (lfit y x), xtitle(Bar of it)", False),
        ("twoway (lfit y x) (scatter y x)", True),
        ("twoway lfit y x || scatter y x, msize(1)", True),
        ("twoway lfit y x, title(a) || scatter y x", True),
        ("twoway (lfit y x || scatter y x)", True),
        ("twoway lfit y x, addplot(scatter y x)", True),
        ("twoway lfitci y x, ciplot (rline)", True),
        ("tw sc y x", True),
        ("graph tw (lfit y x)(scatter y x)", True),
    ],
)
def test_only_kinds_of_plots_are_taken_for_plots(line: str, refused: bool) -> None:
    assert rewritten(line).text.startswith(REFUSED) is refused
