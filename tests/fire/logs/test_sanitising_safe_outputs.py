"""Logs of programs that ran with the safe commands: their output needs no second look."""

from discreet_fire.logs import clean_log
from tests.helpers.rows import for_all_rows


def _row(name: str, *cells: object, stub: int, bar: str = " |", widths: tuple[int, ...]) -> str:
    shown = zip(cells, widths, strict=True)
    return f"{name:>{stub}}{bar}" + "".join(f"{cell:>{width}}" for cell, width in shown)


def _summarize(*rows: tuple[object, ...]) -> str:
    head = "    Variable |        Obs        Mean    Std. Dev.\n" + "-" * 13 + "+" + "-" * 36
    lines = []
    for name, *cells in rows:
        widths = (11, 12, 13) if len(cells) == 3 else (23,)
        lines.append(_row(str(name), *cells, stub=12, widths=widths))
    return "\n".join([head, *lines])


def _one_way(*rows: tuple[object, ...]) -> str:
    head = " " * 20 + " |      Freq.     Percent\n" + "-" * 21 + "+" + "-" * 23
    return "\n".join([head, *(_row(str(n), *c, stub=20, widths=(11, 12)) for n, *c in rows)])


def _tabstat(*rows: tuple[object, ...]) -> str:
    return "\n".join(
        _row(str(name), *cells, stub=12, bar="", widths=(12,) * len(cells)) for name, *cells in rows
    )


XTSUM = """\
Variable         |      Mean   Std. Dev. |    Observations
-----------------+----------------------+----------------
v        overall |   .012345       1.002 |     N =      250
         between |                   .44 |     n =       50
         within  |                   .88 |
w                |         .           . |"""
XTDESCRIBE = """\
entities:        50
    Freq.   Percent | Periods
       47     94.00 | 2001 2002 2003
        3      6.00 | (other patterns)"""
TWO_WAY = "\n".join(
    [
        f"{'g':>20} |{'North':>11}{'South':>11} |      Total",
        f"{'Young':>20} |{'1,204':>11}{'17':>11} |{'1,221':>11}",
        f"{'Old':>20} |{'0':>11}{'9':>11} |{'9':>11}",
        "Totals of g",
        _one_way(("Young", "1,221", "99.27"), ("Old", 9, "0.73"), ("Total", "1,230", "100.00")),
    ]
)
_TTEST_ROWS = (12, 12, 12, 12, 12)
TTEST = "\n".join(
    [
        "Two-sample t test with equal variances",
        f"{'Group':>12} |     Obs        Mean   Std. err.   Std. dev.  [95% conf. interval]",
        "-" * 13 + "+" + "-" * 65,
        _row("men", 10, 4.5, ".45", 1.4, 3.6, 5.4, stub=12, widths=(8, *_TTEST_ROWS)),
        _row("women", 47, "-4.5", ".45", 1.4, "-5.4", "-3.6", stub=12, widths=(8, *_TTEST_ROWS)),
        _row("Combined", 57, 1.5, ".45", 1.4, ".6", 2.4, stub=12, widths=(8, *_TTEST_ROWS)),
        "        diff |                   9         .45                    8.1         9.9",
        "-" * 13 + "+" + "-" * 65,
        "    diff = mean(1) - mean(2)",
        "t =    -2.2130   degrees of freedom =        55",
        "H0: diff =         0",
        "Pr(T < t) = 0.0146   Pr(|T| > |t|) = 0.0292   Pr(T > t) = 0.9854",
    ]
)
TTEST_WITHHELD = "\n".join(
    [
        "Paired t test",
        f"{'Variable':>12} |     Obs        Mean   Std. err.   Std. dev.  [90% conf. interval]",
        "-" * 13 + "+" + "-" * 65,
        _row("(withheld)", *".....", ".", stub=12, widths=(8, *_TTEST_ROWS)),
        "FDZ: . withheld for confidentiality, or missing",
    ]
)
OUTPUTS = {
    "fdzttest x, by(g)": TTEST,
    "fdzttest x == y, level(90)": TTEST_WITHHELD,
    "fdzsummarize wage age, detail": _summarize(
        ("wage", 300, "150.5", "86.74676"), ("1%", "3.5"), ("50%", "150.5"), ("age", ".", ".", ".")
    )
    + "\nFDZ: . withheld for confidentiality, or missing",
    "fdztabulate g": _one_way(
        ("Second", 28, "28.00"), ("(withheld)", ".", "."), ("Total", 100, "100.00")
    )
    + "\nFDZ: . withheld for confidentiality",
    "fdztabulate g h": TWO_WAY,
    "fdztabulate g, plot": "FDZ: not carried out here: plot\n" + _one_way(("Total", 60, "100.00")),
    "fdztabstat x, statistics(n mean p25) by(g)": _tabstat(
        ("x", "n", "mean", "p25"), ("Shown", 47, 1036, 1012), ("Total", 59, 1030, ".")
    )
    + "\n  (withheld) .\nFDZ: statistic min is not shown",
    "fdzxtsum v": XTSUM,
    "fdzxtdescribe": XTDESCRIBE,
    "fdzutest x x2": "Extreme point:               3.14159\nTest for a U shape:       p < 0.01",
    "fdzutest x x2, fieller": "Extreme point:               3.14159\n"
    "Test for a U shape:       p = 0.0123\n95% Fieller interval:   2.512345;   3.712345",
    "fdzutest x x2, fieller level(90)": "Extreme point:               3.14159\n"
    "Test for a U shape:       not significant\n90% Fieller interval: unbounded",
    "fdzregress y z": "FDZ: withheld for confidentiality",
    "fdzinspect v": "FDZ: inspect is not permitted in remote execution",
    "fdzrun list x": "FDZ: command not permitted in remote execution",
}


@for_all_rows("command", OUTPUTS)
def test_what_safe_commands_print_is_known_and_stays(command: str) -> None:
    log = f". {command}\n\n{OUTPUTS[command]}\n\n. log close\n"
    cleaned = clean_log(log)
    assert cleaned.text == log
    assert [finding.what for finding in cleaned.findings] == []


@for_all_rows(
    ("command", "output", "gone"),
    [
        ("fdzsummarize x", _summarize(("x", 2, "7131.5", "4.5")), "7131.5"),
        ("fdzsummarize x, d", _summarize(("x", 299, "5", "2"), ("1%", "7131.5")), "7131.5"),
        ("fdztabulate g", _one_way(("Rare", 2, "7.31"), ("Total", 30, "100.00")), "7.31"),
        ("fdztabulate g h", TWO_WAY.replace(f"{'17':>11}", f"{'1':>11}"), "1,204"),
        ("fdztabstat x", _tabstat(("x", "n", "mean"), ("a", 1, "7131.5")), "7131.5"),
        ("fdztabstat x", _tabstat(("x", "n", "p99"), ("a", 99, "7131.5")), "7131.5"),
        ("fdzxtdescribe", XTDESCRIBE.replace("       47", "        2"), "94.00"),
        ("fdzttest x, by(g)", TTEST.replace("      10 ", "       2 "), "3.6         5.4"),
    ],
)
def test_what_safe_commands_never_print_goes_and_is_looked_at(
    command: str, output: str, gone: str
) -> None:
    cleaned = clean_log(f". {command}\n\n{output}\n")
    assert gone in output
    assert gone not in cleaned.text
    assert cleaned.needs_review


@for_all_rows(
    ("command", "line"),
    [
        ("fdzsummarize x", "the largest is 7131"),
        ("fdztabstat x", "Meier 7131 Schmidt"),
        ("fdztabulate g", "7131"),
        ("fdzttest x == y", "H0: x is 7131"),
        ("fdzutest x x2", "7131 7132"),
    ],
)
def test_other_lines_below_a_safe_command_are_looked_at(command: str, line: str) -> None:
    assert clean_log(f". {command}\n\n{line}\n").needs_review


def test_several_safe_commands_in_a_loop() -> None:
    loop = ". foreach v in wage age {\n  2. fdzsummarize `v'\n  3. fdztabulate g\n  4. }\n"
    shown = (_summarize(("wage", 300, "150.5", "86.7")), _one_way(("Total", 60, "100.00")))
    log = loop + "\n" + "\n\n".join(shown) + "\n"
    assert clean_log(log).text == log
    assert not clean_log(log).needs_review


def test_the_forms_hold_below_safe_commands_only() -> None:
    output = OUTPUTS["fdztabstat x, statistics(n mean p25) by(g)"]
    assert clean_log(f". mycommand x\n\n{output}\n").needs_review
