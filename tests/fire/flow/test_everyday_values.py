"""Values in forms of every day: followed to where they are shown, and to nowhere else."""

from __future__ import annotations

import pytest

from discreet_fire.rewriting.do_files import rewrite
from tests.helpers.everyday import REFUSED, rewritten, said
from tests.helpers.rows import for_all_rows


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


@for_all_rows(
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


@pytest.mark.parametrize(
    "line", ["sort `cat'", "su `z'", "keep `a' $b", "append using `\"`new'\"'"]
)
def test_macros_are_no_words_that_may_be_scalars(line: str) -> None:
    head = "program q\nlocal res \"`1'\"\nmatrix `res'[1,2] = x[3]\n"
    done = rewritten(f"{head}{line}\nend\n")
    assert "shown" not in [rule for _, rule in said(done)]


def test_only_whole_macros_are_taken_for_names() -> None:
    text = rewritten("local b x\ndi `m_`a'`b''\ndi `b'\n").text
    assert text == f"local b x\ndi `m_`a'`b''\n{REFUSED}: di 'b'\n"


PROGRAM = """program p, rclass
return scalar diff = {value}
return scalar p50 = 1
end
"""


@for_all_rows(
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


@for_all_rows(
    ("line", "outcome"),
    [
        ("`nd' r(max)", "refused"),
        ("`nd' in ye r(mean)", None),
        ("`nd' y x if z > 3", None),
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


@for_all_rows(
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


@for_all_rows(
    ("line", "refused"),
    [
        ("twoway (lfit y x), title(Line of fit)", False),
        ("twoway (lfit y x), by(area) legend(label(1 scatter))", False),
        ("twoway (kdensity y if (line == 1))", False),
        ("twoway (lfit y x) (scatter y x)", True),
        ("twoway lfit y x || scatter y x, msize(1)", True),
        ("twoway lfit y x, addplot(scatter y x)", True),
        ("twoway lfitci y x, ciplot (rline)", True),
        ("twoway `opt' scatter y x", True),
        ("tw (lfit y x) sc y x", True),
        ("twoway (lfit y x) if z > 1, title(sc y x)", False),
        ("graph tw (lfit y x)(scatter y x)", True),
    ],
)
def test_only_kinds_of_plots_are_taken_for_plots(line: str, refused: bool) -> None:
    assert rewritten(line).text.startswith(REFUSED) is refused
