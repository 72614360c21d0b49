"""Commands of users and old ones of Stata that turn up in programs people have written."""

from discreet_fire.findings import Severity
from discreet_fire.rewriting.do_files import rewrite
from tests.helpers.everyday import REFUSED as NO
from tests.helpers.everyday import rules
from tests.helpers.rows import for_all_rows


@for_all_rows(
    ("before", "after"),
    [
        ("sw reg y x z, pr(.2)", "fdzestimate sw reg y x z, pr(.2)"),
        ("sw, pr(.2): reg y x z", "fdzestimate sw, pr(.2): reg y x z"),
        ("eststo a: sw reg y x, pr(.2)", "eststo a: fdzestimate sw reg y x, pr(.2)"),
        ("svy: sw reg y x", "fdzestimate svy: sw reg y x"),
        ("fracpoly regress y x", "fdzestimate fracpoly regress y x"),
        ("desmat: reg y x", "desmat: fdzregress y x"),
        ("mim: reg y x", "fdzestimate mim: reg y x"),
        ("qui mim, cat(fit): logit y x", "qui fdzestimate mim, cat(fit): logit y x"),
        ("xtplfc y x, z(z) u(u)", "fdzestimate xtplfc y x, z(z) u(u)"),
        ("addplot: scatter y x", f"{NO}: addplot: scatter y x"),
        ("combineplot y: kdensity @y", "combineplot y: kdensity @y"),
    ],
)
def test_models_behind_prefixes_of_users_and_of_old_are_checked(before: str, after: str) -> None:
    done = rewrite(before)
    assert done.text == after
    assert rewrite(done.text).edits == ()


@for_all_rows(
    "text",
    [
        "graph drop _all",
        'graph set window fontface "Arial"',
        'estadd local fe "Yes"',
        "estadd scalar m = r(mean)",
        "set httpproxy off",
        "set excelxlsxlargefile on",
        "set scrollbufsize 500000",
        "set odbcmgr unixodbc",
        "snapshot save, label(a)",
        "grstyle init",
        "sts gen s = s",
        "missings tag x, gen(m)",
        "flexcurv, xvar(x) generate(b_)",
        "poisgof",
        "putdocx paragraph, style(Title)",
        "collect clear",
        "collect style cell result[mean], nformat(%9.2f)",
    ],
)
def test_what_shows_nothing_raises_no_question(text: str) -> None:
    assert rewrite(text).edits == ()
    assert rewrite(text).findings == ()


@for_all_rows(
    ("text", "rule"),
    [
        ("estadd scalar m = r(max)", "shown"),
        ("marginsplot, addplot(scatter y x)", "option"),
        ("sts graph, addplot(line y x)", "option"),
        ("coefplot m, addplot(scatter y x)", "option"),
        ("stcurv, surv addplot(scatter y x)", "option"),
        ("sts list", "command"),
        ("graph7 y x", "command"),
        ("graph sc y x", "command"),
        ("putexcel set r(max)", "shown"),
        ("putdocx paragraph, font(`r(max)')", "shown"),
        ('collect title "`r(max)\'"', "shown"),
        ("file write h (r(max))", "shown"),
        ("zipuse a.zip", "command"),
    ],
)
def test_single_values_within_what_is_harmless_otherwise(text: str, rule: str) -> None:
    assert rule in rules(text, Severity.REFUSED)


@for_all_rows(
    "text",
    [
        "putexcel A1 = 3",
        'putdocx save "$out/a"',
        "collect layout (g) (result)",
        "collect export a.xlsx",
        "file write h (x)",
        "file open h using a.do, write",
        "file open h using a.txt, read",
        "sts graph",
        "stcurv, surv",
        "estadd ysumm",
        "mlogitgof",
        "ereturn list",
    ],
)
def test_what_may_hold_figures_still_goes_to_review(text: str) -> None:
    assert "command" in rules(text)
    assert "unknown-command" not in rules(text)
