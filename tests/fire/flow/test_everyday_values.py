"""Values in forms of every day: followed to where they are shown, and to nowhere else."""

import pytest

from discreet_fire.rewriting.do_files import rewrite
from tests.helpers.everyday import REFUSED, rewritten, said, shown
from tests.helpers.rows import for_all_rows, grouped


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


def test_only_whole_macros_are_taken_for_names() -> None:
    text = rewritten("local b x\ndi `m_`a'`b''\ndi `b'\n").text
    assert text == f"local b x\ndi `m_`a'`b''\n{REFUSED}: di 'b'\n"


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


def test_a_loop_over_a_list_of_numbers_gives_numbers() -> None:
    text = "foreach j of numlist 2/`i' {\nlocal k = `j'-1\ndi `k'\n}\n"
    assert rewritten(text).text == text
    assert said(rewrite(text)) == []


def program(value: str) -> str:
    """A program that returns a value."""
    return f"program p, rclass\nreturn scalar diff = {value}\nreturn scalar p50 = 1\nend\n"


#: Lines behind others, and what becomes of the values that they would show.
FOLLOWED = {
    # macros in dimensions
    "levelsof g, local(levels)\nlocal top = r(max)\n": [
        ("collect layout (g[`levels']#x)", "review"),
        ('collect layout (g["a b"]#x)', None),
        ("collect layout (g[`top'])", "refused"),
    ],
    # macros that are no words, which may be scalars
    "program q\nlocal res \"`1'\"\nmatrix `res'[1,2] = x[3]\n": [
        (f"{line}\nend", None)
        for line in ("sort `cat'", "su `z'", "keep `a' $b", "append using `\"`new'\"'")
    ],
    # results of programs of the submission
    program("3"): [
        ("bootstrap r(diff): p", None),
        ("display r(diff)", None),
        ("display r(other)", "review"),
        ("display r(p50)", "review"),  # it is also a result of summarize
    ],
    program("r(max)"): [("display r(diff)", "refused")],
    # a command in a macro, which may be display
    'local nd "noisily di"\nlocal byc "by g:"\n': [
        ("`nd' r(max)", "refused"),
        ("`nd' in ye r(mean)", None),
        ("`nd' y x if z > 3", None),
        ("`byc' replace m = m[3]", "refused"),
    ],
    # what a program returned so far
    "program p, rclass\nsu x\nreturn scalar top = r(max)\nreturn scalar m = r(mean)\n": [
        ('di "`return(top)\'"\nend', "refused"),
        ("di `return(top)'\nend", "refused"),
        ("di return(top)\nend", "refused"),
        ("local a = return(top)\ndi `a'\nend", "refused"),
        ("di return(m)\nend", None),
        ("di `return(m)'\nend", None),
        ("di sreturn(top)\nend", None),
    ],
}


@for_all_rows(("head", "line", "outcome"), grouped(FOLLOWED))
def test_values_are_followed(head: str, line: str, outcome: str | None) -> None:
    assert shown(f"{head}{line}\n") == outcome


@for_all_rows(
    ("line", "refused"),
    [
        # tables of smallest and largest values
        ('esttab, cells("mean sd min max")', True),
        ("estout, main(p99)", True),
        ("esttab . using a.tex, c(range)", True),
        ('esttab using a.tex, cells("mean(fmt(2)) sd") title(min)', False),
        ("esttab m1 m2, se", False),
        # commands that `for` puts in
        ("for any list su: X age", True),
        ("for var a b: list X", True),
        # only kinds of plots are taken for plots
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
        # dimensions of a collection are no subscripts
        ("collect style cell result[sd mean], nformat(%9.2f)", False),
        ("collect layout (colname) (model[1 2]#result[_r_b])", False),
        ("collect, tag(model[3]): summarize x", False),
        ("collect r(max), tag(model[3]): summarize x", True),
        ("collect get top=(r(max)), tags(var[x])", True),
        ("collect get a=y[17]", True),
        ("collect style cell result[r(max)]", True),
        # an unknown word may be a prefix
        ("nosuch: list x", True),
        ("reghdfe: list x", True),
        ("xi: nosuch: list x", True),
        # names of the centre, and where programs are found
        ("global S_ADO x", True),
        ("macro define S_ADO x", True),
        ("macro drop a S_ADO", True),
        ("macro drop fdz_k", True),
        ("global FDZ_k 1", True),
        ("gl fdz 1", True),
        ("macro def FDZ 1", True),
        ("mac drop a FDZ*", True),
        ("global x FDZ Berlin", False),
        ("macro drop x", False),
    ],
)
def test_a_line_is_refused_where_it_must_be(line: str, refused: bool) -> None:
    assert rewritten(line).text.startswith(REFUSED) is refused
