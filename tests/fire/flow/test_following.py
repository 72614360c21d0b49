"""Stored results and single values: followed to where they are shown, and stopped there."""

import pytest

from discreet_fire.catalogue.rules import Action
from discreet_fire.findings import Severity
from discreet_fire.logs import clean_log
from discreet_fire.rewriting.do_files import rewrite
from tests.helpers.rows import for_all_rows

#: What is shown at the end, and must not be.
STOPPED = [
    "di r(max)",
    "di `r(max)'",
    'di "largest: `r(max)\'"',
    "di x[17]",
    "di x[`i']",
    "di income",
    "di log(income)",
    "di _result(5)",
    "local m = r(max)\ndi `m'",
    "local m `r(max)'\ndi \"`m'\"",
    "di `m'\nlocal m = r(max)",
    'global m = r(min)\ndi "${m}"',
    "scalar s = r(max)\ndi scalar(s)",
    "tempname s\nscalar `s' = r(max)\ndi `s'",
    "mat A = (1, r(max))\nmat B = A\nmat l B",
    "mkmat income, matrix(A)\nmat list A",
    'local m : display %9.2f r(max)\ndi "`m\'"',
    'local m : di x[3]\ndi "`m\'"',
    "local max_1 = r(max)\nlocal i 1\ndi `max_`i''",
    "foreach v of varlist a b {\ndi `v'\n}",
    "local v income\ndi `v'",
    'label var x "up to `r(max)\'"',
    'label define L 1 "`r(min)\'"',
    "note: highest is `r(max)'",
    'graph bar x, title("max `r(max)\'")',
    'regress y x, title("`r(max)\'")',
    'local t "from `r(min)\'"\nhistogram x, note("`t\'")',
    "rename x x`r(max)'",
    "tokenize `r(max)'\ndi `1'",
    'local m = r(max)\ngettoken a b : m\ndi "`a\'"',
    "bootstrap r(max), reps(10): su x",
    "bootstrap top=r(max): summarize x",
    "program p, rclass\nreturn scalar top = r(max)\nend\np\ndi r(top)",
    "program p, eclass\nereturn scalar top = r(max)\nend\np\ndi e(top)",
    "forvalues i = 1/3 {\nif x {\nquietly di r(max)\n}\n}",
    "`qui' di r(max)",
    "`show' r(max)",
    'di "`=income\'"',
    'di "`: di income\'"',
    "local w `=income'\ndi \"`w'\"",
    "set obs `r(max)'",
    'graph bar x, title("`=income\'")',
    'local v "income"\ndi `v\'',
    "ds inc*\ndi `r(varlist)'",
    "mac def _m `r(max)'\ndi \"`m'\"",
    'local m = r(max)\nlocal n : list uniq m\ndi "`n\'"',
    'global m = r(max)\nlocal n : copy global m\ndi "`n\'"',
    'local m = r(max)\nlocal n : subinstr local m "." ","\ndi "`n\'"',
    'local m = r(max)\ndi "`:list uniq m\'"',
    "local m = r(max)\ndi `:copy local m'",
    'numlist "`r(max)\'"\ndi r(numlist)',
    "matrix A = r(max)\nereturn post A\ndi _b[c1]",
    "tempname b\nmatrix `b' = r(max)\nereturn post `b'\nmatrix list e(b)",
]

#: What only uses such values, or shows what is safe.
LEFT = [
    "forvalues i = `r(min)'/`r(max)' {\ngen d`i' = x==`i'\n}",
    "su x\nlocal top = r(max)\nforeach v of numlist 1/`top' {\nreplace y = 0 if x==`v'\n}",
    "gen z = (x - r(min)) / (r(max) - r(min))",
    "gen lag = x[_n-1]",
    "by id: gen first = x[1]",
    "di r(mean)",
    'di r(N) " cases"',
    "di %9.3f 2*ttail(e(df_r), abs(_b[x]/_se[x]))",
    'local b = _b[x]\ndi "`b\'"',
    'foreach v of varlist a b {\ndi "`v\'"\n}',
    'di c(current_date) " " "$S"',
    "levelsof g, local(levels)\nforeach l of local levels {\nreplace y = 1 if g==`l'\n}",
    "local k : word count `levels'\ndi `k'",
    "`est' y x if z < r(max)",
    "forvalues i = 1/`=_N' {\nreplace y = 0 in `i'\n}",
    'di "`=2+3\' `=strpos("a", "b")\'"',
    "replace wage = r(p99) if wage > r(p99)\nsu wage",
    "su wage\ncollapse (max) wage, by(g)",
    "collapse (mean) wage (max) top=wage, by(g)\nsu wage",
    "levelsof g, local(l)\nforeach i of local l {\nest store r`i'\n}",
    "scalar m = r(mean)\nlocal m = m\nlocal text : display %6.2f `m'\ndi `text'",
    "matrix R = J(3, 2, .)\nmatrix R[1, 2] = r(mean)\nmatrix list R",
    'post h (1) ("x") (_b[x]) (e(r2))',
    "tempvar t\ngen `t' = x\nlabel var `t' \"a variable\"",
    'local x "as text"\nlocal f "%9.2f"\ndi `x\' "mean " `f\' r(mean)',
    'local v "income"\ndi "`v\'"',
    "foreach v in a b {\ndi _b[`v'] / _se[`v']\n}",
    "local years 2001 2002\nforeach y of local years {\ndi `y'\nlocal z = `y' + 1\ndi `z'\n}",
    "di \"`e(depvar)' by `r(varlist)'\"",
    'macro define M text\ndi "$M"',
    'local a b c b\nlocal d : list uniq a\ndi "`d\'"',
    "levelsof g, local(l)\nlocal n : list sizeof l\ndi `n'",
    'numlist "1/3"\ndi r(numlist)',
    "matrix b = e(b)\nmatrix V = e(V)\nereturn post b V\nereturn display\ndi _b[x]",
]

#: What may show such a value: an officer looks.
REVIEWED = [
    "while `i' <= r(max) {\nlocal ++i\n}",
    "if r(max) > 3 {\ndrop x\n}",
    "foreach s in mean sd {\ndi r(`s')\n}",
    'levelsof g, local(levels)\nforeach l of local levels {\ndi "`l\'"\n}',
    "forvalues i = `r(min)'/`r(max)' {\ndi \"year `i'\"\n}",
    "di r(p50)",
    "di r(`stat')",
    "di r(something)",
    'if r(max) > 100 {\ndi "large"\n}',
    'if r(max) > 100 di "large"',
    "histogram x, xline(`r(max)')",
    "program p\ndi \"`1'\"\nend\np `r(max)'",
    "matrix list Z",
    "gen top = r(max)\nsu top",
    "collapse (max) top=x, by(g)\nsu top",
    "statsby top=r(max), by(g): su x\ntabstat top",
    "local a = income\ndi `a'",
    "local x `r(max)'\nmystery `x'",
    'levelsof g, local(l)\nlocal k : list uniq l\ndi "`k\'"',
    'local w : display income\ndi "`w\'"',
    "di A[1,2]",
    'scalar k = 3\ndi "`=k\'"',
]


#: What `display` shows of them, a log does not say; what it shows is looked at there.
IN_LOGS = [
    "tempvar t\ngen `t' = x\ndi `t'",
    'local v `"income"\'\nlocal w "`v\'"\ndi as text `w\'',
    "global v income\ndi $v",
    'global v "income"\nlocal w $v\ndi ${v}',
    'foreach v in "income" "wage" {\ndi `v\'\n}',
    'local a "r("\nlocal b "max)"\ndi `a\'`b\'',
    "syntax varname\ndi `varlist'",
    "syntax, by(varname) [Over(varlist)]\ndi `over'",
    "regress y x\nlocal v `e(depvar)'\ndi `v'",
    "local v \"income\"\nlocal k = `v'\ndi `k'",
    "global v income\nscalar s = $v\ndi s",
]


def refused(text: str) -> list[str]:
    return [edit.before for edit in rewrite(text).edits if edit.action is Action.REFUSED]


def flagged(text: str) -> list[str]:
    return [
        finding.what
        for finding in rewrite(text).findings
        if finding.rule == "shown" and finding.severity is Severity.REVIEW
    ]


@for_all_rows("text", STOPPED)
def test_a_value_is_stopped_where_it_is_shown(text: str) -> None:
    done = rewrite(text)
    assert [edit.rule for edit in done.edits if edit.action is Action.REFUSED] == ["shown"]
    assert rewrite(done.text).edits == ()


@for_all_rows("text", IN_LOGS)
def test_what_display_shows_by_the_name_of_a_variable_is_looked_at_in_the_log(text: str) -> None:
    lines = [f". {line}" for line in text.splitlines()]
    assert clean_log("\n".join([*lines, "81250.5", "", ". end", ""])).needs_review


@for_all_rows("text", LEFT)
def test_what_only_uses_a_value_stays(text: str) -> None:
    assert refused(text) == []
    assert flagged(text) == []


@for_all_rows("text", REVIEWED)
def test_a_doubt_goes_to_review(text: str) -> None:
    assert refused(text) == []
    assert flagged(text)


def test_a_program_that_loops_up_to_the_maximum_still_loops() -> None:
    text = "qui su year\nforvalues y = `r(min)'/`r(max)' {\n reg wage educ if year==`y'\n}\n"
    assert rewrite(text).text == text.replace("su", "fdzsummarize").replace("reg", "fdzregress")


def test_a_name_meant_as_a_scalar_is_made_to_be_one() -> None:
    """Stata takes a variable first; `display income` would show the first person's."""
    text = 'scalar gap = r(mean) - 5\ndi "gap: " gap\ndi 2*gap + scalar(gap)\n'
    assert rewrite(text).text == (
        'scalar gap = r(mean) - 5\ndi "gap: " scalar(gap)\ndi 2*scalar(gap) + scalar(gap)\n'
    )


SMUGGLED = {
    # a figure under a name that ends in a macro
    "forv q=1/3 {\nsca mx`q' = r(max)\n}\ndi mx1": "di mx1",
    "forv q=1/3 {\nsca mx`q' = r(max)\n}\nforv j=1/3 {\ndi mx`j'\n}": "di mx`j'",
    "forv q=1/3 {\nsca mx`q' = r(max)\n}\nscalar list": "scalar list",
    "forv q=1/3 {\nmat M`q' = r(max)\n}\nmat li M2": "mat li M2",
    "sca a1 = r(max)\nloc i 1\ndi a`i'": "di a`i'",
    # commands that repeat a figure in what they test or estimate
    "test age = wage[17]": "test age = wage[17]",
    "lincom age + wage[17]": "lincom age + wage[17]",
    "nlcom _b[age] + `=wage[17]'": "nlcom _b[age] + `=wage[17]'",
    "constraint 1 age = `=wage[17]'": "constraint 1 age = `=wage[17]'",
    # records in a matrix that goes by the name of the variable
    "mkmat wage\nmat B = wage'\nmat li B": "mat li B",
    "ritest x r(max), reps(1): su wage": "ritest x r(max), reps(1): su wage",
}


@for_all_rows("text", SMUGGLED)
def test_figures_are_stopped_on_further_ways(text: str) -> None:
    assert SMUGGLED[text] in [edit.before for edit in rewrite(text).edits]


@for_all_rows(
    "text",
    [
        "forv q=1/3 {\nsca m`q' = r(mean)\ndi m`q'\n}",
        "forv q=1/3 {\nsca m`q' = r(mean)\n}\ndi m1 + m2",
        "forv q=1/3 {\nmat b`q' = e(b)\n}\nforv j=1/3 {\nmat li b`j'\n}\nmat li b2",
        'char _dta[about] "text"',
        "char define wage[note] text",
        "qui timer list 1\ndi r(t1)",
    ],
)
def test_names_with_macros_are_no_false_alarm(text: str) -> None:
    done = rewrite(text)
    assert not [edit for edit in done.edits if edit.action is Action.REFUSED]
    assert not done.needs_review


@pytest.mark.parametrize(
    "program",
    [
        'postfile h wage using "out.dta"\npost h (wage[1])\npostclose h',
        "tempname p\npostfile `p' str20 n using x\npost `p' (name[1])\npostclose `p'",
        'encode name, generate(c)\nlabel save c using "out.do"',
        'encode name, generate(c)\nlabel sa c using "out.do"',
    ],
)
def test_what_writes_values_of_cases_into_a_file_is_held(program: str) -> None:
    """Values posted to a file, and texts that became value labels, reach an officer."""
    assert rewrite(program + "\n").findings


def test_a_line_is_judged_anew_where_more_is_known() -> None:
    """The same line before and behind the place from which on a variable holds a figure."""
    done = rewrite("tab top\ngen top = r(max)\ntab top\n")
    assert [finding.line for finding in done.findings if finding.rule == "shown"] == [3]


def test_a_condition_is_told_of_where_it_stands() -> None:
    done = rewrite("di 1\nif r(max) > 5 {\ndi 1\n}\ndi 1\n")
    assert [finding.line for finding in done.findings if finding.rule == "shown"] == [2]
