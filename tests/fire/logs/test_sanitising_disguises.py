"""Logs that try something: output that looks like a command, odd figures, totals of two cases."""

import time

import pytest

from discreet_fire.logs import clean_log
from discreet_fire.logs.lines import figures, log_lines
from tests.helpers.rows import for_all_rows

PANEL = """\
. xtsum x

Variable         |      Mean   Std. Dev.       Min        Max |    Observations
-----------------+--------------------------------------------+----------------
x        overall |{values}|     N =        12
"""
CROSSED = """\
. tab a b
           |           b
         a |         1          2 |     Total
-----------+----------------------+----------
         1 |{cell}          5 |        11
         2 |         5          5 |        10
-----------+----------------------+----------
     Total |        10         10 |        21
"""
BY_GROUPS = """\
. tabstat x, by(g) stat(n mean)

       g |         N      mean
---------+--------------------
{rows}
---------+--------------------
   Total |{total:>10}      12.5
------------------------------
"""


@for_all_rows(
    "log",
    [
        '. di ". " wage\n. 4711\n',
        '. di ". " wage\n. -4711.5\n',
        '. di ". (" wage ")"\n. (4711)\n',
        '. di ". . " wage\n. . 4711\n',
        ". program drop show\n. show\n. 4711\n",
    ],
)
def test_a_figure_behind_a_prompt_is_output(log: str) -> None:
    done = clean_log(log)
    assert done.needs_review
    assert done.findings[-1].line == len(log.splitlines())


@for_all_rows(
    "log",
    [
        '. di ". " r(max)\n. 4711\n',
        '. forvalues i = 1/2 {\n  2. di "  " x[`i\']\n  3. }\n  4. 4711\n',
        ". forvalues i = 1/2 {\n  2. mean x\n  3. }\n  4. 4711\n",
        ". list wage, clean noheader\n. 4711\n",
        ". mata\n: x = st_data(., 1)\n: 4711\n: -4711\n: end\n",
    ],
)
def test_a_value_behind_a_prompt_goes(log: str) -> None:
    done = clean_log(log)
    assert "4711" not in done.text
    assert clean_log(done.text).text == done.text


@pytest.mark.parametrize(
    "log",
    [
        ". * note\n. // note\n. /* note */\n. { \n. }\n. `cmd' x\n. $cmd x\n. !dir\n. #delimit ;\n",
        ". . list x\n. .win.draw\n. \n.\n. größe x\n. 	su x\n",
        ". program show\n  1. su x\n  2. * note\n  3. end\n",
        ". mata\n: x = 5\n: end\n",
    ],
)
def test_what_starts_like_a_command_is_one(log: str) -> None:
    done = clean_log(log)
    assert done.text == log
    assert not done.findings


@pytest.mark.parametrize("values", ["         5  ", " " * 44, "         .  "])
def test_a_row_of_a_panel_without_its_columns_goes_to_review(values: str) -> None:
    done = clean_log(PANEL.format(values=values))
    assert [finding.rule for finding in done.findings] == ["unknown-output"]


@pytest.mark.parametrize("cell", ["     1e999", "    -1e400", "       5.5"])
def test_a_table_with_what_is_no_count_goes_to_review(cell: str) -> None:
    assert clean_log(CROSSED.format(cell=cell)).needs_review


def test_a_share_that_no_number_can_hold_is_no_crash() -> None:
    log = (
        ". proportion x, over(g)\n\nProportion estimation             Number of obs   =     74\n\n"
        f"{'-' * 62}\n             | Proportion   Std. Err.     [95% Conf. Interval]\n"
        f"{'-' * 13}+{'-' * 48}\nx            |\n"
        f"           1 |   1e999   .0528      .6101876    .8059254\n{'-' * 62}\n"
    )
    assert clean_log(log).needs_review


@for_all_rows(
    ("counts", "shown"),
    [
        ([1, 1, 10], []),  # the third less the total would give the sum of two cases
        ([1, 1, 10, 20], [20]),
        ([2, 2, 10], [10]),  # four cases together
        ([1, 0, 10, 20], [0, 20]),  # a group without a case hides nothing
        ([1, 10, 20], [20]),
        ([4, 10, 20], [4, 10, 20]),
    ],
)
def test_withheld_groups_beside_a_total_are_of_enough_cases(
    counts: list[int], shown: list[int]
) -> None:
    means = ["." if not count else f"{7 + at}.5" for at, count in enumerate(counts)]
    rows = [
        f"{at:>8} |{count:>10}{mean:>10}"
        for at, (count, mean) in enumerate(zip(counts, means, strict=True))
    ]
    log = BY_GROUPS.format(rows="\n".join(rows), total=sum(counts))
    done = clean_log(log)
    left = [line.split("|")[1].split()[0] for line in done.text.splitlines()[4 : 4 + len(counts)]]
    assert [int(text) for text in left if text != "#"] == shown
    assert done.text.splitlines()[-2].split()[2] == str(sum(counts))
    assert clean_log(done.text).text == done.text


def test_lines_and_figures_of_logs_are_in_no_repr() -> None:
    line = log_lines("  4711\n", smcl=False)[0]
    found = figures(line.text, 0)
    assert found
    assert "4711" not in f"{line!r} {found!r}"


@pytest.mark.parametrize(
    "tail", ["1" * 60 + "!", "1." * 40 + "!", "-1" * 900 + "!", " " * 90_000 + "!"]
)
def test_no_row_of_a_model_takes_long(tail: str) -> None:
    """Digits that could be parted anywhere, and blanks without end."""
    log = (
        f". reg y x\n{'-' * 13}+{'-' * 48}\n           y |      Coef.   Std. Err.      t    P>|t|\n"
        f"{'-' * 13}+{'-' * 48}\n           x |{tail}\n{'-' * 62}\n"
    )
    begin = time.process_time()
    assert clean_log(log).needs_review
    assert time.process_time() - begin < 5
