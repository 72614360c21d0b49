"""Output as logs of people hold it, with figures of our own."""

import pytest

from discreet_fire.logs import clean_log
from tests.helpers.rows import for_all_rows

BAR = "-------------+--------------------------------------------------------"


def cleaned(text: str) -> str:
    """The cleaned log; cleaning it again changes nothing."""
    done = clean_log(text)
    assert clean_log(done.text, smcl=done.smcl).corrections == ()
    return done.text


#: Name, command, lines of output; the figures 4711 and 9876 are the smallest and the largest.
EXTREMES = {
    "after a model": f"""
    Variable |         Mean      Std. Dev.         Min          Max
{BAR}
       price |     6165.257       2949.496        4711         9876
""",
    "a table with the statistic named": """
--------------------------------------
             |       Mean   Maximum value
-------------+------------------------
Car origin   |
  Domestic   |   6072.423        9876
  Total      |   6165.257        9876
--------------------------------------
""",
    "a table with the variable named": """
----------------------------------------------------------------
 Car type | mean(price)   min(price)   max(price)     N(price)
----------+-----------------------------------------------------
 Domestic |     6,072.4        4,711        9,876           52
----------------------------------------------------------------
""",
    "missing values": """
                                                               Obs<.
                                                +------------------------------
               |                                | Unique
      Variable |     Obs=.     Obs>.     Obs<.  | values        Min         Max
  -------------+--------------------------------+------------------------------
         rep78 |        50                 690  |    >500       4711        9876
  -----------------------------------------------------------------------------
""",
    "times at risk": """
        744  total analysis time at risk and under observation
                                     earliest observed entry t =      4711
                                          last observed exit t =      9876
""",
    "a panel": """
       panel variable:  id (unbalanced)
        time variable:  turnover, 4711 to 9876, but with gaps
                delta:  1 unit
""",
    "a panel of Stata 17": """
Panel variable: id (strongly balanced)
 Time variable: turnover, 4711 to 9876
         Delta: 1 unit
""",
    "participation": """
  idcode:  1, 2, ..., 5159                                   n =       4720
    year:  4711, 4712, ..., 9876                             T =         15
           Delta(year) = 1 unit
           Span(year)  = 5166 periods
           (idcode*year uniquely identifies each observation)
""",
}


@for_all_rows("name", EXTREMES)
def test_no_smallest_and_no_largest_value_is_left(name: str) -> None:
    text = cleaned(f". estat summarize\n{EXTREMES[name]}\n. exit\n")
    for figure in ("4711", "9876", "4,711", "9,876", "5166"):
        assert figure not in text
    assert text.count("\n") == EXTREMES[name].count("\n") + 3


def test_tables_of_models_stay() -> None:
    log = f"""
. regress y x
------------------------------------------------------------------------------
             |               Robust
           y |      Coef.   Std. Err.      t    P>|t|     [95% Conf. Interval]
{BAR}
           x |   .0181349   .0003477    52.16   0.000     .0174534    .0188164
       _cons |   1.148214   .0102579   111.93   0.000     1.128107     1.16832
------------------------------------------------------------------------------

. mfx
------------------------------------------------------------------------------
variable |      dy/dx    Std. Err.     z    P>|z|  [    95% C.I.   ]      X
---------+--------------------------------------------------------------------
       x |   .1685869      .0919    1.83   0.067  -.011568  .348742   21.2973
------------------------------------------------------------------------------
"""
    done = clean_log(log)
    assert done.text == log
    assert not done.needs_review


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "Number of observations (_N) was 0, now 81.",
            "Number of observations (_N) was 0, now 81.",
        ),
        ("number of observations (_N) was 74, now 2", "number of observations (_N) was 74, now #"),
    ],
)
def test_the_number_of_observations_is_told_if_it_is_large(before: str, after: str) -> None:
    done = clean_log(f". set obs 81\n{before}\n")
    assert done.text == f". set obs 81\n{after}\n"
    assert not done.needs_review


def test_markup_within_a_message_stays_where_it_is() -> None:
    log = "{smcl}\n{com}. recode a 1=2\n{txt}(1 changes made to {bf:split})\n{com}. exit\n"
    expected = log.replace("(1 changes", "(# changes")
    assert cleaned(log) == expected


def test_a_broken_line_does_not_tell_how_long_it_was() -> None:
    log = ". replace x = 1\n" + "note: " + "z" * 58 + " (1 real chang\n> e made)\n"
    other = ". replace x = 1\n" + "note: " + "z" * 58 + " (2 real chang\n> es made)\n"
    assert cleaned(log) == cleaned(other)


BATCH = r"""
  ___  ____  ____  ____  ____ (R)
 /__    /   ____/   /   ____/
___/   /   /___/   /   /___/   13.1   Copyright 1985-2013 StataCorp LP
  Statistics/Data Analysis            StataCorp
                                      4905 Lakeway Drive
     MP - Parallel Edition            College Station, Texas 77845 USA
                                      979-696-4601 (fax)

Single-user 8-core Stata perpetual license:
       Serial number:  401306200000
         Licensed to:  A Person
                       An Institute

Notes:
      1.  (-v# option or -set maxvar-) 5000 maximum variables

. do a.do

. set more off

.
end of do-file
"""


def test_the_heading_of_a_log_in_batch_mode_needs_no_look() -> None:
    log = BATCH.replace("                       An Institute\n", "")
    done = clean_log(log)
    assert done.text == log
    assert done.findings == ()


def test_figures_before_the_first_command_do_need_a_look() -> None:
    done = clean_log("Notes:\n  wage of the first: 4711\n. exit\n")
    assert done.needs_review


def groups(command: str, rows: str, heading: str = "Mean") -> str:
    """The output of `mean` and its like for groups."""
    return f""". {command}

{heading} estimation                             Number of obs = 69

---------------------------------------------------------------
              | {heading:>10}   Std. err.     [95% conf. interval]
--------------+------------------------------------------------
{rows}---------------------------------------------------------------
"""


LARGE = "           2  |   5967.625   1265.494      3442.372    8492.878\n"


def test_means_of_groups_of_one_case_are_withheld() -> None:
    single = "c.price@rep78 |\n           1  |       4711          .             .           .\n"
    done = clean_log(groups("mean price, over(rep78)", single + LARGE))
    assert "4711" not in done.text
    assert "5967" not in done.text
    assert clean_log(done.text).corrections == ()
    assert done.needs_review


def test_means_of_groups_need_a_look_and_those_of_all_do_not() -> None:
    section = "c.price@rep78 |\n"
    log = groups("mean price, over(rep78)", section + LARGE)
    done = clean_log(log)
    assert done.text == log
    assert [one.rule for one in done.findings] == ["doubtful-output"]
    assert clean_log(groups("mean price", LARGE)).findings == ()


@pytest.mark.parametrize(("share", "shown"), [(".0144928", False), (".2028986", True)])
def test_shares_of_too_few_cases_are_withheld(share: str, shown: bool) -> None:
    rows = f"           g |\n          1  |   {share}   .0144928      .0019864    .0979\n"
    done = clean_log(groups("proportion g", rows, "Proportion"))
    assert (share in done.text) is shown
    assert done.needs_review
