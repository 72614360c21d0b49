"""Tables of the runner against polars on the same data."""

from __future__ import annotations

import polars as pl
import pytest

from tests.helpers.run_panel import line_of, numbers, panel, run, shown

FRAME = panel()


def test_one_way(tmp_path) -> None:
    result = run("tabulate region\ndisplay r(N)", tmp_path)
    for (region,), part in FRAME.group_by("region"):
        count, percent, _ = numbers(line_of(shown(result), str(region)))
        assert count == part.height
        assert percent == pytest.approx(100 * part.height / FRAME.height, abs=0.006)
    assert shown(result).splitlines()[-2] == str(FRAME.height)


def test_a_small_cell_takes_another_with_it(tmp_path) -> None:
    frame = pl.DataFrame({"g": ["a"] * 9 + ["b"] * 7 + ["c"]})
    text = shown(run("tabulate g", tmp_path, frame))
    assert "17" in line_of(text, "Total")
    hidden = [g for g in "abc" if line_of(text, g).split("|")[1].split()[0] == "."]
    assert len(hidden) == 2
    assert "c" in hidden


def test_two_way_with_row_percentages(tmp_path) -> None:
    text = shown(run("tabulate region sex, row", tmp_path))
    for (region,), part in FRAME.group_by("region"):
        women = part.filter(pl.col("sex") == 1).height
        line = line_of(text, str(region)).replace("|", " ")
        assert [int(x) for x in line.split()[1:]] == [part.height - women, women, part.height]


def test_value_labels_stand_for_values_in_their_order(tmp_path) -> None:
    text = shown(
        run(
            'label define places 1 "west" 2 "south" 3 "east" 4 "north"\n'
            "label values region places\ntabulate region\ntabulate region, nolabel",
            tmp_path,
        )
    )
    order = [text.index(f" {word} |") for word in ("west", "south", "east", "north")]
    assert order == sorted(order)
    assert line_of(text.split("nolabel")[1], "1")


def test_analytic_weights_add_up_to_the_number_of_observations(tmp_path) -> None:
    text = shown(run("tabulate region [aw=weight]\ntabulate region [fw=weight]", tmp_path))
    weighted, repeated = text.split("[fw=weight]")
    assert numbers(line_of(weighted, "Total"))[0] == FRAME.height
    assert numbers(line_of(repeated, "Total"))[0] == FRAME["weight"].sum()


def test_dummies(tmp_path) -> None:
    text = shown(run("quietly tabulate region, generate(r)\nsummarize r3", tmp_path))
    share = (FRAME["region"] == 3).mean()
    assert numbers(line_of(text, "r3"))[1] == pytest.approx(share, rel=1e-6)


def test_by_groups_are_one_table(tmp_path) -> None:
    text = shown(run("bysort sex: tabulate region", tmp_path))
    assert "one table for all groups" in text
    women = FRAME.filter(pl.col("sex") == 1)
    wanted = [women.filter(pl.col("region") == r).height for r in (1, 2, 3, 4)]
    assert [int(x) for x in line_of(text, "1").replace("|", " ").split()[1:5]] == wanted


def test_means_in_tables_old_and_new_syntax(tmp_path) -> None:
    text = shown(
        run(
            "table region, contents(mean wage n wage)\n"
            "table (region), statistic(mean wage) statistic(count wage)\n"
            "tabulate region, summarize(wage)",
            tmp_path,
        )
    )
    old, new = text.split(". table (region)")
    new, summarized = new.split(". tabulate")
    for (region,), part in FRAME.group_by("region"):
        wanted = [part["wage"].mean(), part.height]
        assert numbers(line_of(old, str(region))) == pytest.approx(wanted, rel=1e-6)
        assert numbers(line_of(new, str(region))) == pytest.approx(wanted, rel=1e-6)
        assert numbers(line_of(summarized, str(region)))[0] == pytest.approx(wanted[0], rel=1e-6)


def test_tab1_and_tab2_and_proportion(tmp_path) -> None:
    result = run("tab1 sex region\ntab2 sex region\nproportion sex", tmp_path)
    assert result.error is None
    assert shown(result).count("Total") >= 4


def test_a_measurement_is_no_grouping_variable(tmp_path) -> None:
    result = run("tabulate wage\ndisplay 1", tmp_path)
    assert result.error is None
    assert "(withheld)" in shown(result)
