"""Logs of Stata made safe: kinds of output, messages, wraps, SMCL."""

import re
import time
import tomllib
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.logs import CleanedLog, CleaningRules, clean_log, lines
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows

LOGS = FIRE_DATA / "logs"


def cleaned(name: str) -> CleanedLog:
    return clean_log((LOGS / name).read_text(encoding="utf-8"))


def lines_after(text: str, echo: str, count: int) -> list[str]:
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if echo in line) + 1
    return lines[start : start + count]


@for_all_rows(
    ("message", "expected"),
    [
        ("(2 real changes made)", "(# real changes made)"),
        ("(0 real changes made)", None),
        ("(3 real changes made)", None),
        ("(12 real changes made, 2 to missing)", "(12 real changes made, # to missing)"),
        ("(1,204 missing values generated)", None),
        ("(2 missing values generated)", "(# missing values generated)"),
        ("note: 3.b omitted and 1 obs not used.", "note: 3.b omitted and # obs not used."),
        ("(recode: 2 changes made)", "(recode: # changes made)"),
        ("(2 changes made to beruf)", "(# changes made to beruf)"),
        ("2 contradictions in 20 observations", "# contradictions in 20 observations"),
        ("(obs=2)", "(obs=#)"),
        ("(5 vars, 2 obs)", "(5 vars, # obs)"),
        ("note: observation 17 dropped", "note: observation # dropped"),
        ("(bin=12, start=1234, width=55.5)", "(bin=12, start=#, width=#)"),
        ("lohn: 1 missing value generated", "lohn: # missing values generated"),
        ("1 group (2 obs) dropped because of all positive outcomes", "# groups (# obs) dropped "
         "because of all positive outcomes"),
        ("(dropped 2 singleton observations)", "(dropped # singleton observations)"),
        ("critical(15) is used", "critical(#) is used"),
    ],
)  # fmt: skip
def test_messages(message: str, expected: str | None) -> None:
    done = clean_log(f". do something\n{message}\n")
    assert done.text.splitlines()[1] == (expected or message)


def test_a_message_across_a_wrap_and_across_markup() -> None:
    wrapped = ". replace x = 1\n" + "note: " + "z" * 58 + " (1 real chang\n> e made)\n"
    assert clean_log(wrapped).text.endswith(" (# real changes made)\n> \n")
    smcl = "{smcl}\n{com}. replace x = 1\n{txt}({res}1{txt} real change made)\n"
    assert "{txt}({res}# real changes{txt} made)" in clean_log(smcl).text


def test_summarize() -> None:
    text = cleaned("panel.log").text
    rows = lines_after(text, ". summarize umsatz lumsatz gross", 9)
    assert rows[3] == "      umsatz |     25,454    871203.4     5210034          #          #"
    # one establishment among 2,000: the mean of a dummy gives the count back
    assert rows[5].split() == ["gross", "|", "#", "#", "#", "#", "#"]
    assert rows[6].split() == ["leer", "|", "0"]
    assert rows[7].split() == ["wenig", "|", "#", "#", "#", "#", "#"]
    assert rows[8].split() == ["gleich", "|", "#", "#", "#", "#", "#"]


def test_percentiles_at_299_and_300_cases() -> None:
    log = (LOGS / "panel.log").read_text(encoding="utf-8")
    echo = ". summarize umsatz if jahr == 2019, detail"
    few = lines_after(clean_log(log).text, echo, 15)
    assert few[4].split() == ["1%", "#", "#"]
    assert few[5].split() == ["5%", "3748.25", "#"]
    assert few[14].split() == ["99%", "#", "#", "Kurtosis", "4.819188"]
    enough = lines_after(clean_log(log.replace("  299\n", "  300\n")).text, echo, 14)
    assert enough[4].split() == ["1%", "-3.5", "#"]


def test_a_total_does_not_give_a_withheld_count_back() -> None:
    rows = lines_after(cleaned("panel.log").text, ". tabulate branche", 10)
    table = {row.split("|")[0].strip(): row.split("|")[1].split() for row in rows if " |" in row}
    assert table["Bergbau"] == ["#", "#", "#"]
    hidden = [name for name, figures in table.items() if figures[0] == "#"]
    assert len(hidden) == 2
    assert table["Total"] == ["213", "100.00"]
    assert all(figures[2] == "#" for name, figures in table.items() if len(figures) == 3 and
               name != "Branche")  # fmt: skip


def test_two_way_tables_hide_their_inside_with_shares_and_statistics() -> None:
    text = cleaned("panel.log").text
    rows = lines_after(text, ". tabulate branche gross, row", 24)
    assert not any(figure in " ".join(rows) for figure in ("51", "98.08", "1.92", "23.7264"))
    assert rows[11].endswith("|        52 ")
    whole = lines_after(text, ". tabulate branche jahr", 10)
    assert whole[4].split("|")[1].split() == ["25", "27"]


def test_models_with_too_few_degrees_of_freedom() -> None:
    text = cleaned("panel.log").text
    good = lines_after(text, ">  == 2019 & umsatz", 18)
    assert "6320339.67" in good[3 + 1]
    bad = lines_after(text, ". regress lumsatz gross branche if jahr == 1999", 16)
    assert not any(figure in " ".join(bad) for figure in ("286.3", "0.5843", "7.746", "  5\n"))
    smcl = cleaned("models.smcl").text
    assert "{res} .0741515" not in smcl.partition("logit")[2]
    assert "-5.0040242" not in smcl  # the likelihood of a model that is withheld
    assert ".0741515" in smcl


def test_panels() -> None:
    text = cleaned("panel.log").text
    described = lines_after(text, ". xtdescribe", 16)
    assert not any(name in " ".join(described) for name in ("10000017", "99999917", ".........1"))
    assert described[8].split() == ["#", "1", "3", "5", "9", "10", "#"]
    summed = lines_after(text, ". xtsum umsatz", 7)
    assert [row.split("|")[1].split()[-2:] for row in summed[3:6]] == [["#", "#"]] * 3


def test_merge_count_assert_and_labels() -> None:
    text = cleaned("panel.log").text
    merged = lines_after(text, ". merge 1:1", 9)
    assert [row.split()[-2] for row in merged[4:6]] == ["#", "#"]
    assert merged[3].split()[-1] == "16"
    assert lines_after(text, ". count if umsatz", 1) == ["  #"]
    assert lines_after(text, ". count if jahr == 2018", 1) == ["  2,846"]
    assert lines_after(text, ". use ", 1) == ["(#)"]


def test_codebook_and_tabstat() -> None:
    text = cleaned("panel.log").text
    block = "\n".join(lines_after(text, ". codebook umsatz", 18))
    assert "[#,#]" in block
    assert "24917" not in block
    assert "#/25,454" in block
    rows = lines_after(text, ". tabstat umsatz, by", 12)
    assert rows[6].split("|")[1].split() == ["#"] * 6
    assert rows[7].split("|")[1].split() == ["#"] * 6  # with the total it would give the other
    assert rows[8].split("|")[1].split() == ["82", "6384.682", "2621.915", "#", "#", "5759"]
    assert rows[10].split("|")[1].split()[:3] == ["136", "6165.257", "2949.496"]


def figures(line: str) -> list[str]:
    return line.split("|")[1].split()


def test_further_statistics() -> None:
    text = cleaned("statistics.log").text
    groups = lines_after(text, ". ttest price", 12)
    # two cases in one group: the other one, both together and the difference give it back
    assert not any(character.isdigit() for row in groups[4:10] for character in row)
    pairs = lines_after(text, ". pwcorr price mpg, obs", 9)
    assert figures(pairs[3]) == ["1.0000"]
    assert [figures(row) for row in pairs[6:8]] == [["#", "1.0000"], ["#", "74"]]
    alone = lines_after(text, ". correlate price mpg", 6)
    assert alone[0] == "(obs=#)"
    assert [figures(row) for row in alone[4:6]] == [["#"], ["#", "#"]]
    centiles = lines_after(text, ". centile price", 7)
    assert figures(centiles[4]) == ["74", "1", "#", "#", "#"]
    assert figures(centiles[5]) == ["50", "5006.5", "4593.566", "5717.9"]
    down = lines_after(text, ". tabstat price mpg, s(mean min p1 n)", 7)
    assert [figures(row) for row in down[3:7]] == [
        ["6165.257", "21.2973"],
        ["#", "#"],
        ["#", "#"],
        ["74", "74"],
    ]
    grouped = lines_after(text, ". tabstat price mpg, s(mean sd n) by", 18)
    assert [figures(row)[0] for row in grouped[6:9] + grouped[10:13]] == ["#"] * 6
    assert [figures(row)[1] for row in grouped[6:9]] == ["19.82692", "4.743297", "52"]
    assert figures(grouped[14]) == ["6165.257", "21.2973"]
    means = lines_after(text, ". tab foreign, sum(price)", 9)
    assert [figures(row) for row in means[4:6]] == [["#"] * 3] * 2


def test_panel_models_and_groups_stay_except_extremes() -> None:
    text = cleaned("statistics.log").text
    original = (LOGS / "statistics.log").read_text(encoding="utf-8")
    model = lines_after(text, ". xtreg", 29)
    expected = lines_after(original, ". xtreg", 29)
    changed = [at for at, row in enumerate(model) if row != expected[at]]
    assert changed == [5, 7]
    assert [model[at].split()[-1] for at in changed] == ["#", "#"]
    groups = lines_after(text, ". bysort foreign: su price", 14)
    assert [groups[at].split("|")[1].split()[:3] for at in (6, 13)] == [
        ["52", "6072.423", "3097.104"],
        ["22", "6384.682", "2621.915"],
    ]


def test_totals_of_a_two_way_table_follow_the_rule_too() -> None:
    rows = lines_after(cleaned("statistics.log").text, ". tab rep78 foreign", 10)
    assert [row.split("|")[2].split() for row in rows[5:8]] == [["#"], ["#"], ["30"]]
    assert rows[9].split("|")[1].split() == ["37", "3"]


def test_lists_and_results_of_records_are_withheld_as_a_whole() -> None:
    text = cleaned("panel.log").text
    assert lines_after(text, ". list idnum umsatz", 3) == ["", "(output withheld)", ""]
    assert lines_after(text, ". display r(max)", 1) == ["(output withheld)"]
    loop = cleaned("models.smcl").text.partition("r(max)")[2]
    assert loop.split("\n")[2] == "{txt}(output withheld)"


def test_what_nobody_knows_is_for_review_and_never_passes_silently() -> None:
    done = clean_log(". mycommand x\nsomething 42 here\n\n. summarize y\nnot a table 7\n")
    assert [(finding.rule, finding.line) for finding in done.findings] == [
        ("unknown-output", 2),
        ("unknown-output", 5),
    ]
    assert done.text.startswith(". mycommand x\nsomething 42 here\n")
    assert "42" not in done.findings[0].what


def test_figures_below_the_words_min_and_max_go_from_unknown_tables() -> None:
    log = (
        ". univar v1\n"
        "Variable       n     Mean     S.D.      Min      .25      Mdn      .75      Max\n"
        "-------------------------------------------------------------------------------\n"
        "      v1      61    14.75     5.61     1.23    11.00    15.00    19.00    27.77\n"
    )
    done = clean_log(log)
    assert "1.23" not in done.text
    assert "27.77" not in done.text
    assert "14.75" not in done.text
    assert done.needs_review


def test_smcl_that_hides_figures_is_found() -> None:
    done = cleaned("models.smcl")
    hidden = [finding for finding in done.findings if finding.rule == "hidden-text"]
    assert [len(finding.lines) for finding in hidden] == [2]


def test_the_width_of_a_figure_is_not_told_by_what_stands_there() -> None:
    def log(value: str) -> str:
        return (
            "{smcl}\n{com}. su x\n\n"
            "{txt}    Variable {c |}        Obs        Mean    Std. dev.       Min        Max\n"
            "{hline 13}{c +}{hline 57}\n"
            f"{{space 11}}x {{c |}}{{res}}         70    6165.257    2949.496"
            f"{{space {11 - len(value)}}}{value}      15906\n"
        )

    assert clean_log(log("1")).text == clean_log(log("1234567")).text


def test_the_report_of_changes_tells_no_length_and_no_text() -> None:
    small, large = (
        clean_log(f". display r(max)\n{value}\n") for value in ("7", "1234567890\n12\n13")
    )
    assert small.text == large.text
    told = [[one.to_dict() for one in done.corrections] for done in (small, large)]
    assert told[0] == told[1]
    assert "1234567890" not in repr(large)


def seconds(text: str) -> float:
    start = time.process_time()
    clean_log(text)
    return time.process_time() - start


@pytest.mark.parametrize("name", ["panel.log", "models.smcl"])
def test_time_grows_with_the_length(name: str) -> None:
    log = (LOGS / name).read_text(encoding="utf-8")
    few, many = (min(seconds(log * size) for _ in range(2)) for size in (2, 8))
    assert many < 9 * few  # four times the text; 16 times the time would be quadratic


@for_all_rows(
    "text",
    ["1" * 10**5, " " * 10**6, "{" * 10**6, "1," * 50_000, "(" * 10**5, "/home/" * 20_000],
    ids=["digits", "blanks", "braces", "commas", "brackets", "paths"],
)
def test_lines_of_very_many_characters(text: str) -> None:
    start = time.process_time()
    done = clean_log(f". su x\n{text}\n")
    assert time.process_time() - start < 20
    assert done.text.startswith(". su x\n")


def test_wrong_rules_are_clear_errors(tmp_path: Path) -> None:
    for content, words in (
        ("[limits]\nminimum = 0\n", "must be at least 1"),
        ("[limits]\nmost = 3\n", "unknown key"),
        ("nonsense = 1\n", "unknown key"),
        ("[[message]]\nname = 'x'\n", "message.0.find: is missing"),
        ("[[message]]\nname = 'x'\nfind = '('\nput = 'y'\n", "pattern is wrong"),
        ("[[message]]\nname = 'x'\nfind = 'a'\nput = '{n}'\n", "does not have"),
        ("= 1", "not a TOML file"),
        ("withheld = 'list'\n", "must be a list"),
    ):
        path = tmp_path / "rules.toml"
        path.write_text(content)
        with pytest.raises(OutputCheckError, match=words):
            CleaningRules.read(path)


def test_a_centre_changes_limits_and_adds_messages(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        "withheld = ['mylist']\n[limits]\nminimum = 10\n"
        "[[message]]\nname = 'spells'\nfind = '<n> spells'\nput = '{n} spells'\n"
    )
    rules = CleaningRules.read(path)
    log = ". drop if x\n(9 observations deleted)\n8 spells\n. mylist x\nrow 55\n"
    assert clean_log(log, rules).text == (
        ". drop if x\n(# observations deleted)\n# spells\n. mylist x\n(output withheld)\n"
    )


@pytest.mark.parametrize("room", ["logs", "flow", "scripts", "stata"])
def test_each_form_is_read_somewhere(room: str) -> None:
    folder = Path(lines.__file__).parents[1] / room
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    text = (folder / "forms.toml").read_text(encoding="utf-8")
    for part, forms in tomllib.loads(text).items():
        for name in forms if part not in ("lists", "number", "python") else ():
            assert re.search(rf"\.{name}\b", source) or f"<{name}>" in text, name


@pytest.mark.parametrize(
    "log",
    [
        ". count\n  1,000\n. count if kind == 1\n  500\n. count if kind == 2\n  460\n",
        ". count if kind == 1\n  500\n. count if kind == 2\n  501\n",
        ". foreach v in a b {\n  2. count if missing(`v')\n  3. }\n  120\n  340\n",
        ". forvalues k = 1/1 {\n  2. count if kind == `k'\n  3. }\n  120\n",
    ],
)
def test_counts_of_which_no_difference_is_small_stay(log: str) -> None:
    assert clean_log(log).text == log


SUMMARY = (
    "    Variable |        Obs        Mean    Std. dev.\n"
    "-------------+-----------------------------------\n"
    "        wage |        {n}    2313.333     182.845\n"
)
ONE_WAY = (
    "       kind |      Freq.     Percent        Cum.\n"
    "------------+-----------------------------------\n"
    "          1 |        200       50.00       50.00\n"
    "          2 |        200       50.00      100.00\n"
    "------------+-----------------------------------\n"
    "      Total |        400      100.00\n"
)


@for_all_rows(
    ("other", "count", "stays"),
    [
        (f". summarize wage if pid != 17\n{SUMMARY.format(n=399)}", 400, False),
        (f". summarize wage if pid != 17\n{SUMMARY.format(n=301)}", 400, True),
        (f". summarize wage if kind == 1\n{SUMMARY.format(n=199)}", 200, True),
        (f". tabulate kind if pid != 17\n{ONE_WAY}", 401, False),
        (f". tabulate kind if pid != 17\n{ONE_WAY}", 400, True),
    ],
)
@for_all_rows("first", [True, False])
def test_counts_are_held_against_the_numbers_of_cases_of_other_output(
    other: str, count: int, stays: bool, first: bool
) -> None:
    condition = " if kind == 2" if "kind == 1" in other else ""
    counted = f". count{condition}\n  {count}\n"
    log = clean_log(f"{counted}{other}" if first else f"{other}{counted}").text
    assert (f"\n  {count}\n" in log) is stays
