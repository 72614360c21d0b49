"""Listings of SPSS and SAS, and logs of SAS: what goes, what stays, and that no trap passes.

A trap has passed if a figure that tells about fewer than three cases is left, and nobody is asked
to look. `listings/pspp.lst` was printed by PSPP from made-up data; `sas.lst` and `sas.log` have the
form that SAS documents.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.logs import CleanedLog, CleaningRules, clean_log, clean_log_file
from discreet_fire.logs.listings import ListingKind, listing_kind
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows

LISTINGS = FIRE_DATA / "listings"


def _traps() -> dict[str, tuple[list[str], str]]:
    text = (FIRE_DATA / "listing_traps.txt").read_text(encoding="utf-8")
    found = re.findall(r"^### (.+)\n### (.+)\n((?:(?!### ).*\n)+)", text, re.MULTILINE)
    traps = {name: (secrets.split(" | "), log) for name, secrets, log in found}
    assert len(traps) == len(found) == text.count("\n###") // 2
    return traps


TRAPS = _traps()


def _left(text: str, secrets: list[str]) -> list[str]:
    return [one for one in secrets if re.search(rf"(?<![\w.,]){re.escape(one)}(?!\w)", text)]


@pytest.mark.parametrize("name", TRAPS)
def test_no_trap_passes_and_a_cleaned_one_stays(name: str) -> None:
    secrets, log = TRAPS[name]
    assert _left(log, secrets) == secrets
    done = clean_log(log)
    assert done.needs_review or _left(done.text, secrets) == []
    assert clean_log(done.text).text == done.text


def test_there_are_many_traps_and_all_figures_in_tables_go() -> None:
    spss = [name for name in TRAPS if name.startswith(("SPSS", "PSPP"))]
    assert min(len(spss), len(TRAPS) - len(spss)) >= 40
    left = {name for name, (some, log) in TRAPS.items() if _left(clean_log(log).text, some)}
    assert left == {"SPSS text of a program", "SAS log put of a text"}


def _cleaned(name: str) -> tuple[list[str], CleanedLog]:
    text = (LISTINGS / name).read_text(encoding="utf-8")
    return text.splitlines(), clean_log(text)


def _changed(before: list[str], done: CleanedLog) -> list[str]:
    after = set(done.text.splitlines())
    return [line.strip() for line in before if line not in after]


def test_a_harmless_listing_of_pspp_keeps_all_but_extremes() -> None:
    before, done = _cleaned("pspp.lst")
    assert done.listing is ListingKind.SPSS
    assert done.findings == ()
    text = done.text
    for kept in (
        "|(Constant)|2414.97|253.50|         .00|9.53|.000|1912.92|2917.02|         |",
        "|Worked 7 days       |   3.68|          2.28|120|",
        "|Pair 1 age          |120|48.95|         17.55|     1.60|",
        "Sig. (2-tailed)",
        "|Step 1 age     |  .01| .01| .27| 1|.600|  1.01|",
    ):
        assert kept in text
    # Region West has one case: it goes, with the next smallest one, wherever it stands.
    assert "|      West |        #|      #|            #|                 #|" in text
    assert "|South |3540.65| 32|        897.05|      #|      #|" in text
    assert "5417.23" not in text
    assert "1848.04" not in text
    assert len(_changed(before, done)) < len(before) / 3


def test_a_listing_of_sas_keeps_all_but_extremes_and_records() -> None:
    before, done = _cleaned("sas.lst")
    assert done.listing is ListingKind.SAS
    assert done.findings == ()
    kept = [line.strip() for line in done.text.splitlines()]
    assert "age           1       24.57000        3.28000       7.49      <.0001" in [
        re.sub(r"^age +Age", "age   ", line) for line in kept
    ]
    assert "95%                 77" in kept
    assert "100% Max             #" in kept
    days = next(line for line in kept if "Worked 7 days" in line)
    assert days.split() == [
        "days",
        "Worked",
        "7",
        "days",
        "120",
        "3.6800000",
        "2.2800000",
        "#",
        "#",
    ]
    gone = _changed(before, done)
    assert all(
        any(
            word in line
            for word in ("North", "South", "East", "West", "male", "Obs", "Missing", "Max", "Min")
        )
        or re.match(r"(age|income|days|Mode|99%|1%|\d{2} |----Lowest)", line)
        for line in gone
    ), gone
    assert "3439.06" not in done.text


def test_a_log_of_sas_loses_small_counts_records_and_values_of_macros() -> None:
    _, done = _cleaned("sas.log")
    assert done.listing is ListingKind.SAS_LOG
    text = done.text
    assert "NOTE: There were 122 observations read from the data set D.PEOPLE2010." in text
    assert "NOTE: The data set WORK.A has # observations and 7 variables." in text
    assert "NOTE: The data set WORK.B has 0 observations and 7 variables." in text
    assert "Physical Name: <path>/p17" in text
    assert "resolves to #" in text
    for secret in ("9000", "87213\n_", "Smith17", "2 at 5:10"):
        assert secret not in text
    [finding] = done.findings
    assert text.splitlines()[finding.line - 1] == "max is 87213"


@for_all_rows(
    ("text", "kind"),
    [
        (". su x\n\n    Variable |        Obs\n-------------+------\n", None),
        ("{smcl}\n{com}. count\n", None),
        ("+---+---+\n|   | N |\n+---+---+\n|age| 12|\n+---+---+\n", ListingKind.SPSS),
        ("   The SAS System\n\n", ListingKind.SAS),
        ("   Die Prozedur FREQ\n", ListingKind.SAS),
        ("1    data a;\nNOTE: The data set WORK.A has 4 observations\n", ListingKind.SAS_LOG),
        ("a letter to somebody\n", None),
    ],
)
def test_what_a_text_is_a_listing_of(text: str, kind: ListingKind | None) -> None:
    assert listing_kind(text) is kind


def test_decimal_commas_and_points_between_thousands() -> None:
    log = (
        "Bericht\n"
        "|------|----------|-----|------------------|\n"
        "|Region|Mittelwert|H    |Standardabweichung|\n"
        "|------|----------|-----|------------------|\n"
        "|Nord  |3.629,00  |1.025|540,24            |\n"
        "|Süd   |3.540,65  |1    |,                 |\n"
        "|Ost   |3.404,96  |1.062|761,17            |\n"
        "|Gesamt|3.486,96  |2.088|757,82            |\n"
        "|------|----------|-----|------------------|\n"
    ).replace("|,  ", "|.  ")
    done = clean_log(log)
    assert "|Ost   |3.404,96  |1.062|761,17            |" in done.text
    assert "|Gesamt|3.486,96  |2.088|757,82            |" in done.text
    assert "540,24" not in done.text  # the other one of two, or the total would give it back
    assert not done.findings


def test_a_table_that_nobody_knows_is_withheld_and_told_once() -> None:
    table = "Top\n|---|------|\n|   |Salary|\n|---|------|\n|A  |87213 |\n|---|------|\n\n"
    rules = CleaningRules.default()
    done = clean_log(table * 3, rules)
    [finding] = done.findings
    assert "(3 places)" in finding.what
    assert "87213" not in done.text
    assert "|A  |     #|" in done.text


def test_lines_that_the_centre_knows_are_no_findings(tmp_path: Path) -> None:
    own = tmp_path / "rules.toml"
    own.write_text("safe = ['Wave \\d{1,2}']\n", encoding="utf-8")
    log = "Wave 12\n\n|---|---|\n|   |N  |\n|---|---|\n|age|120|\n|---|---|\n"
    assert clean_log(log).needs_review
    assert not clean_log(log, CleaningRules.read(own)).needs_review


def test_pages_for_browsers_are_refused_and_listings_keep_their_suffix(tmp_path: Path) -> None:
    page = tmp_path / "out.lst"
    page.write_text("<!DOCTYPE html>\n<table><tr><td>87213</td></tr></table>\n", encoding="utf-8")
    with pytest.raises(OutputCheckError, match="page for browsers"):
        clean_log_file(page)
    listing = tmp_path / "run.lst"
    listing.write_text(TRAPS["SAS one-way table"][1], encoding="utf-8")
    done = clean_log_file(listing)
    assert done.out is not None
    assert done.out.name == "run_FiRe.lst"
    assert done.described["format"] == "sas"


_HEADS = re.compile(
    r"Minimum|Maximum|Range|Lowest|Obs\b|Case Number|Frequency|Cumulative|Percent|Mean\b|\bN\b"
    r"|Std\.? Dev\w*|Quantile|Estimate|Residual|Error\b|Count\b|Total\b"
)


def _without_a_head(name: str) -> Iterator[str]:
    """The listing with one word of a heading or a label made unknown."""
    text = (LISTINGS / name).read_text(encoding="utf-8")
    for found in _HEADS.finditer(text):
        yield text[: found.start()] + "Zz".ljust(len(found[0])) + text[found.end() :]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("pspp.lst", 171),
        ("sas.lst", 71),
        pytest.param("pspp.lst", 9, marks=pytest.mark.exhaustive),
        pytest.param("sas.lst", 5, marks=pytest.mark.exhaustive),
    ],
)
def test_a_heading_that_is_not_known_shows_nothing_more(name: str, step: int) -> None:
    shown = Counter(re.findall(r"[\d.,]+", _cleaned(name)[1].text))
    for text in list(_without_a_head(name))[::step]:
        done = clean_log(text)
        more = Counter(re.findall(r"[\d.,]+", done.text)) - shown
        assert done.needs_review or not more, more


def test_a_group_without_a_value_and_a_small_number_of_cases_is_withheld() -> None:
    log = (
        "                                      The MEANS Procedure\n\n"
        "             region     N Obs      N            Mean\n"
        "             ---------------------------------------\n"
        "             North         25     25         3629.00\n"
        "             South          1      0               .\n"
        "             ---------------------------------------\n"
    )
    done = clean_log(log)
    assert re.search(r"South +# +# +#", done.text)
    assert "3629.00" in done.text


def _one_way(counts: list[int], sas: bool) -> str:
    """A one-way table with shares and cumulated ones."""
    whole, run, rows = sum(counts), 0, []
    for at, count in enumerate(counts):
        run += count
        share, cumulated, name = 100 * count / whole, 100 * run / whole, f"g{chr(97 + at)}"
        some = f"{count:9}|{share:7.1f}|{share:13.1f}|{cumulated:18.1f}"
        if sas:
            some = f"{count:12}{share:12.2f}{run:14}{cumulated:14.2f}"
        rows.append(f"  {name}  {some}" if sas else f"|Valid {name}|{some}|")
    if sas:
        heads = [
            f"{'Cumulative':>44}{'Cumulative':>14}",
            f"{'Frequency':>18}{'Percent':>12}{'Frequency':>14}{'Percent':>14}",
            "  " + "-" * 56,
        ]
        return "\n".join(["   The FREQ Procedure", "", *heads, *rows, ""])
    rule = "+--------+---------+-------+-------------+------------------+"
    head = "|        |Frequency|Percent|Valid Percent|Cumulative Percent|"
    total = f"|Total   |{whole:9}|  100.0|             |                  |"
    return "\n".join(["g", rule, head, rule, *rows, rule, total, rule, ""])


@pytest.mark.parametrize("sas", [False, True])
def test_no_hidden_count_of_a_list_can_be_worked_out(sas: bool) -> None:
    draw = random.Random(7)
    for _ in range(25):
        counts = [draw.choice([0, 1, 2, 3, 5, 9, 40]) for _ in range(draw.randint(2, 7))]
        if sum(counts) < 3:
            continue
        text = clean_log(_one_way(counts, sas)).text
        shown: dict[int, str] = {}
        for at in range(len(counts)):
            # Where most counts are small, the names of the values go too.
            lines = [one for one in text.splitlines() if f"g{chr(97 + at)}" in one]
            line = lines[0] if lines else "#"
            shown[at] = re.sub(r".*g[a-z]\b", "", line)
        if not any(0 < count < 3 for count in counts):
            assert text == _one_way(counts, sas)
            continue
        hidden = [at for at, line in shown.items() if not re.match(r"[|\s]*\d", line)]
        few = [at for at, count in enumerate(counts) if 0 < count < 3]
        assert set(few) <= set(hidden)
        if hidden and len(hidden) < len(counts):
            positive = [counts[at] for at in hidden if counts[at]]
            others = [at for at in shown if at not in hidden and counts[at]]
            assert not others or (len(positive) >= 2 and sum(positive) >= 3)
            for at, line in shown.items():
                figures = re.findall(r"[\d.]+|#", line)
                assert figures[-1] == "#"  # no cumulated share
                assert at not in hidden or set(figures) == {"#"}
