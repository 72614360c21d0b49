"""Tables of fre, table, estimates table, esttab, utest: what goes, and what stays."""

import pytest

from discreet_fire.logs import clean_log
from tests.helpers.rows import for_all_rows

FRE = """
g -- Worked 7 days
-------------------------------------------------------
              |      Freq.    Percent      Valid       Cum.
--------------+----------------------------------------
Valid   1 a   |{a:>11} {p:>10} {v:>10} {v:>10}
        2 b   |         20       5.00       5.13       5.39
        3 c   |        369      92.25      94.62     100.00
        Total |        390      97.50     100.00
Missing .     |         10       2.50
Total         |        400     100.00
-------------------------------------------------------
"""
ESTIMATES = """
----------------------------------------
    Variable |     a            b
-------------+--------------------------
           x |  1.2500123***   .4711
       1.sex |  (base)        (omitted)
       _cons |      1.25         1.5
-------------+--------------------------
           N |       740          {0:>3}
          r2 |        .4          .3
----------------------------------------
   legend: * p<0.05; ** p<0.01; *** p<0.001
"""
ESTTAB = """
--------------------------------------------
                      (1)             (2)
                    price           price
--------------------------------------------
weight              2.044***        1.747**
                   (5.42)          (2.72)

Worked 7 days                      -49.51
                                  (-0.57)

_cons              -6.707          1946.1
                  (-0.01)          (0.54)
--------------------------------------------
N                      74              {0:>2}
--------------------------------------------
t statistics in parentheses
* p<0.05, ** p<0.01, *** p<0.001
"""
TABLE = """
---------------------------
        |        sex
        |    m     f  Total
--------+------------------
group   |
  a     |   {0:>2}    31     42
  b     |   80    19     99
  Total |   91    50    141
---------------------------
"""
UTEST = """
Specification: f(x)=x^2
Extreme point:  41.2534

Test:
     H1: Inverse U shape
 vs. H0: Monotone or U shape

-------------------------------------------------
                 |   Lower bound      Upper bound
-----------------+-------------------------------
Interval         |     4711.25          9876.5
Slope            |     1.25471        -1.25987
t-value          |     3.71234        -4.01234
P>|t|            |     .000111         .000033
-------------------------------------------------

Overall test of presence of a Inverse U shape:
     t-value =      3.71
     P>|t|   =   .000111

95% Fieller interval for extreme point: [30.1; 50.2]
"""

WHOLE = {
    "fre g": FRE.format(a=21, p="5.25", v="5.38"),
    "estimates table a b, stats(N r2) star": ESTIMATES.format(200),
    "esttab a b": ESTTAB.format(74),
    "table g sex": TABLE.format(11),
}


@for_all_rows("command", WHOLE)
def test_tables_of_enough_cases_stay_with_legends_and_labels(command: str) -> None:
    log = f". {command}\n{WHOLE[command]}\n. exit\n"
    done = clean_log(log)
    assert done.text == log
    assert done.findings == ()


def rows(text: str, name: str) -> list[list[str]]:
    return [line.split()[len(name.split()) :] for line in text.splitlines() if name in line]


def cleaned(command: str, output: str) -> str:
    done = clean_log(f". {command}\n{output}\n. exit\n")
    assert done.findings == ()
    assert clean_log(done.text).corrections == ()
    return done.text


def test_shares_and_totals_follow_the_counts_of_fre() -> None:
    text = cleaned("fre g", FRE.format(a=1, p="0.25", v="0.26"))
    assert rows(text, "Valid   1 a")[0] == ["|", "#", "#", "#", "#"]
    assert rows(text, " 2 b")[0] == ["|", "#", "#", "#", "#"]
    assert rows(text, " 3 c")[0] == ["|", "369", "92.25", "94.62", "#"]
    assert rows(text, " Total |")[0][-2:] == ["97.50", "100.00"]


def test_a_missing_case_is_told_by_no_total_of_fre() -> None:
    output = FRE.format(a=11, p="2.74", v="2.75")
    output = output.replace("         20       5.00", "         20       4.99")
    output = output.replace("         10       2.50", "          1       0.25")
    output = output.replace("390      97.50", "400      99.75").replace(
        "400     100", "401     100"
    )
    text = cleaned("fre g", output)
    assert not any(number in text for number in ("99.75", "0.25", " 11 ", "94.62"))
    assert rows(text, " 3 c")[0] == ["|", "369", "92.25", "#", "#"]
    assert "401     100.00" in text


@pytest.mark.parametrize(
    ("command", "form", "cases"),
    [("estimates table a b, stats(N r2)", ESTIMATES, 11), ("esttab a b", ESTTAB, 12)],
)
def test_a_table_with_a_model_of_few_goes(command: str, form: str, cases: int) -> None:
    text = cleaned(command, form.format(cases))
    assert not any(figure in text for figure in ("1.25", "2.044", "1946", "740", "74"))
    assert "p<0.001" in text


def test_a_table_of_models_without_cases_needs_a_look() -> None:
    lines = ESTTAB.format(74).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("N "))
    output = "\n".join([*lines[: at - 1], *lines[at + 1 :]])
    done = clean_log(f". esttab a b, noobs\n{output}\n. exit\n")
    assert [one.what for one in done.findings] == ["models without their number of cases"]


def test_a_table_of_counts_goes_if_one_is_small() -> None:
    text = cleaned("table g sex", TABLE.format(2))
    assert set("".join(text.partition("sex\n")[2].split())) & set("0123456789") == set()


def test_the_interval_of_a_test_for_a_u_goes_with_its_slopes() -> None:
    text = cleaned("utest x x2", UTEST)
    for gone in ("4711.25", "9876.5", "1.25471", "3.71", ".000111"):
        assert gone not in text
    assert "Extreme point:  41.2534" in text
    assert "[30.1; 50.2]" in text


MAXIMA = """
---------------------------------------------------
                                     Min        Max
---------------------------------------------------
Worked 7 days                       4711       9876
---------------------------------------------------
* p<0.05, ** p<0.01, *** p<0.001
"""


def test_of_unknown_tables_extremes_go_and_labels_and_legends_stay() -> None:
    done = clean_log(f". mytable x\n{MAXIMA}\n. exit\n")
    assert done.needs_review
    assert "4711" not in done.text
    assert "9876" not in done.text
    assert "Worked 7 days " in done.text
    assert "* p<0.05, ** p<0.01, *** p<0.001" in done.text


@pytest.mark.parametrize("name", ["Maximum value", "Größter Wert", "Minimum", "max"])
def test_of_unknown_tables_rows_of_extremes_go(name: str) -> None:
    done = clean_log(f". table x, stat(max w)\n\n{name:<14}|      4711\nMean          |   12.5\n")
    assert "4711" not in done.text
    assert "12.5" not in done.text
    assert done.needs_review
