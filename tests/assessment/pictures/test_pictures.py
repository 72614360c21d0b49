"""Pictures of perturbation tables: what they show, that they keep it in, and their files."""

import json
import re
import stat
import struct
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.assessment import disclosure_risk, expected_quality
from discreet.assessment.pictures import (
    Picture,
    quality_curve,
    risk_curve,
    row_distributions,
    tableau,
    trade_off_curve,
    transition_heatmap,
)
from discreet.assessment.pictures.picture import ink_on, luminance, noise_colours
from discreet.errors import PerturbationError, PublicationError
from discreet.protection.noise import PerturbationTable
from tests.helpers.rows import for_all_rows

#: Zero stays; 1 and 2 are never published.
ROWS = {
    0: {0: 1},
    1: {-1: "0.75", 3: "0.25"},
    2: {-2: "0.5", 2: "0.5"},
    3: {-3: "0.15", 0: "0.55", 1: "0.15", 2: "0.15"},
    4: {-1: "0.25", 0: "0.5", 1: "0.25"},
}
TRADE = pl.DataFrame(
    {
        "max_noise": [2, 3, 4],
        "variance": [None, 1.5, 2.5],
        "mean_absolute_deviation": [None, 0.9, 1.2],
    }
)
QUALITY = pl.DataFrame({"count": [1, 2], "relative_error": [0.5, 0.1]})
#: Fields of the line around a row of the tableau.
FRAME = {"label", "lower", "upper"}
OF_TABLES = (tableau, transition_heatmap, row_distributions, quality_curve, risk_curve)


@pytest.fixture(scope="module")
def ptable() -> PerturbationTable:
    return PerturbationTable.from_rows(ROWS, name="office")


def records(picture: Picture) -> list[dict[str, Any]]:
    """All records that a picture draws, its footer and frames left out."""
    found: list[dict[str, Any]] = []

    def collect(part: Any) -> None:
        if isinstance(part, dict):
            values = part.get("data", {}).get("values", [])
            found.extend(each for each in values if each.keys() - FRAME)
            for inner in part.values():
                collect(inner)
        elif isinstance(part, list):
            for inner in part:
                collect(inner)

    collect(picture.description["vconcat"][0])
    return found


def texts(svg: str) -> list[str]:
    """The words of an SVG picture, in order."""
    return [str(node.text) for node in ElementTree.fromstring(svg).iter() if node.text]


# -- what they show ------------------------------------------------------------


def test_the_tableau_shows_the_intervals_as_they_lie(ptable: PerturbationTable) -> None:
    bars = [each for each in records(tableau(ptable)) if each["label"] == "3"]
    shown = [(each["noise"], each["lower"], each["upper"]) for each in bars]
    assert shown == [("−3", 0.0, 0.15), ("0", 0.15, 0.7), ("+1", 0.7, 0.85), ("+2", 0.85, 1.0)]


def test_split_and_permuted_intervals_stay_apart(reference: Path) -> None:
    """Case m05 of the R package ptable: row 1 carries −1 in three places."""
    path = reference / "ptable" / "m05_modified_ptable.csv"
    bars = records(tableau(PerturbationTable.read(path)))
    first = [each["noise"] for each in bars if each["label"] == "1"]
    assert first == ["−1", "+3", "−1", "+5", "+2", "−1", "+4"]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_bars_fill_each_row_without_gap_or_overlap(widths: list[int], random: Any) -> None:
    noise = list(range(len(widths)))
    random.shuffle(noise)
    row = {each: f"{width}e-2" for each, width in zip(noise, widths, strict=True)}
    row[-1] = f"{100 - sum(widths)}e-2" if sum(widths) < 100 else "0"
    row = {each: share for each, share in row.items() if share != "0e-2"}
    table = PerturbationTable.from_rows({0: {0: 1}, 1: row})
    bars = [each for each in records(tableau(table)) if each["label"] == "1+"]
    assert bars[0]["lower"] == 0
    assert bars[-1]["upper"] == 1
    uppers = [each["upper"] for each in bars[:-1]]
    assert uppers == [each["lower"] for each in bars[1:]]


def test_the_pointer_shows_exact_bounds(ptable: PerturbationTable) -> None:
    third = "0.333333333333333"
    rows = {0: {0: 1}, 1: {-1: third, 0: "0.666666666666667"}}
    english, german = (
        records(tableau(PerturbationTable.from_rows(rows), language=language))[1]["interval"]
        for language in ("en", "de")
    )
    assert english == f"[0, {third})"
    assert german == "[0; 0,333333333333333)"
    closed = PerturbationTable.from_rows(rows, closed="right")
    assert records(tableau(closed))[1]["interval"] == f"(0, {third}]"


def test_tables_for_few_keys_show_the_keys(reference: Path) -> None:
    table = PerturbationTable.read(reference / "ons" / "ptable_noise_D2_256.csv.gz")
    bars = [each for each in records(tableau(table, rows=[1])) if each["interval"]]
    assert bars[0]["interval"].startswith("0 … ")
    assert bars[-1]["interval"].endswith(" … 255")


def test_the_heat_map_holds_the_transition_matrix(ptable: PerturbationTable) -> None:
    matrix = ptable.transition_matrix()
    picture = transition_heatmap(ptable)
    shown = {(each["label"], each["published"]): each["value"] for each in records(picture)}
    expected = {
        (f"{count}+" if count == 4 else str(count), target): f"{100 * share:.1f}".replace(
            "100.0", "100"
        )
        for count, row in enumerate(matrix)
        for target, share in enumerate(row)
        if share
    }
    assert shown == expected
    assert "never published: 1, 2" in " ".join(picture.description["title"]["subtitle"])


def test_values_that_larger_counts_lead_to_are_not_called_never_published() -> None:
    """2 becomes 0 or 4; so 3, which uses the same row, becomes 1 or 5."""
    table = PerturbationTable.from_rows({count: ROWS[count] for count in (0, 1, 2)})
    notes = " ".join(transition_heatmap(table).description["title"]["subtitle"])
    assert notes.endswith("framed: unchanged")


def test_rare_cells_are_not_shown_as_impossible() -> None:
    rows = {0: {0: 1}, 1: {-1: "0.0001", 0: "0.9999"}}
    picture = transition_heatmap(PerturbationTable.from_rows(rows), language="de")
    values = [each["value"] for each in records(picture)]
    assert values == ["100", "<0,1", "100,0"]


def test_distributions_add_up_to_one(ptable: PerturbationTable) -> None:
    total: dict[str, float] = defaultdict(float)
    picture = row_distributions(ptable)
    for each in records(picture):
        total[each["label"]] += each["percent"]
    assert dict(total) == pytest.approx({"1": 100, "2": 100, "3": 100, "4+": 100})
    heads = [part["title"]["text"] for part in picture.description["vconcat"][0]["concat"]]
    assert heads[-1] == "original 4+:  variance 0.50,  unchanged 50.0 %"


def test_the_quality_curve_is_the_expected_quality(ptable: PerturbationTable) -> None:
    shown = {each["x"]: each["y"] for each in records(quality_curve(ptable)) if "x" in each}
    by_count = expected_quality(ptable, [1, 2, 3, 10, 100]).by_count
    for count, error in zip(by_count["count"], by_count["relative_error"], strict=True):
        assert shown[count] == pytest.approx(100 * error)


def test_quality_is_drawn_from_plain_frames_too() -> None:
    frame = pl.DataFrame({"count": [4, 1, 2], "relative_error": [0.25, 1.0, 0.0]})
    picture = quality_curve({"a": frame, "b": frame}, limit=None)
    assert [each["x"] for each in records(picture)] == [1, 2, 4, 1, 2, 4]
    assert "a" in texts(picture.svg())


def test_the_risk_curve_is_the_disclosure_risk(ptable: PerturbationTable) -> None:
    risk = disclosure_risk(ptable, knows="table")
    halves = risk_curve(risk).description["vconcat"][0]["hconcat"]
    left, right = ([(each["x"], each["y"]) for each in half["data"]["values"]] for half in halves)
    assert left == list(risk.by_count.select("count", "part").iter_rows())
    known = {at: share for at, share in right if share is not None}
    assert {at for at, share in right if share is None} == {1, 2}
    expected = dict(risk.small.drop_nulls().select("value", "from_1_or_2").iter_rows())
    assert known == pytest.approx({at: 100 * share for at, share in expected.items()})


def test_unsafe_maximum_noises_leave_a_gap() -> None:
    picture = trade_off_curve({"1 in 1,000": TRADE}, language="de")
    left, right = picture.description["vconcat"][0]["hconcat"]
    assert [each["y"] for each in left["data"]["values"]] == [None, 1.5, 2.5]
    assert [each["y"] for each in right["data"]["values"]] == [None, 0.9, 1.2]
    assert "größte sichere Varianz" in texts(picture.svg())


# -- which rows ----------------------------------------------------------------


def test_rows_left_out_are_named() -> None:
    table = PerturbationTable.from_rows({count: {0: 1} for count in range(101)})
    picture = tableau(table)
    assert len(records(picture)) == 40
    assert picture.description["title"]["subtitle"][0].startswith("rows 0–38, 100 of 0–100")
    chosen = tableau(table, rows=[5, 3, 4, 9], language="de")
    assert [each["label"] for each in records(chosen)] == ["3", "4", "5", "9"]
    assert chosen.description["title"]["subtitle"] == ["Zeilen 3–5, 9 von 0–100"]


def test_what_larger_counts_use_is_said(reference: Path) -> None:
    table = PerturbationTable.read(reference / "ons" / "ptable_noise_D2_256.csv.gz")
    notes = " ".join(tableau(table, rows=[1]).description["title"]["subtitle"])
    assert "larger counts repeat rows 501–750" in notes


# -- looks -----------------------------------------------------------------------


def grey(colour: str) -> float:
    """The grey that a printer makes of a colour."""
    red, green, blue = bytes.fromhex(colour[1:])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@for_all_rows("reach", [1, 2, 5, 10, 20])
def test_lightness_alone_orders_the_noise(reach: int) -> None:
    """So the pictures can be read in grey, and with any kind of colour vision."""
    colours = noise_colours(range(-reach, reach + 1))
    for shade in (luminance, grey):
        shades = [shade(colour) for colour in colours.values()]
        assert len(shades) == 2 * reach + 1
        assert shades == sorted(set(shades))
        below, unchanged, above = shades[reach - 1 : reach + 2]
        assert min(unchanged / below, above / unchanged) > 1.1


@for_all_rows("colour", noise_colours(range(-20, 21)).values())
def test_labels_can_be_read_on_their_colours(colour: str) -> None:
    high, low = sorted((luminance(colour), luminance(ink_on(colour))), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4


@for_all_rows(
    ("draw", "language", "word"),
    [(tableau, "de", "VERTRAULICH"), *((draw, "en", "CONFIDENTIAL") for draw in OF_TABLES)],
)
def test_every_picture_says_that_it_is_confidential(
    draw: Any, language: str, word: str, ptable: PerturbationTable
) -> None:
    picture = draw(ptable, language=language)
    shown = texts(picture.svg())
    assert any(text.startswith(word) for text in shown)
    assert picture.title in shown
    assert any("office" in text for text in shown)


# -- files -----------------------------------------------------------------------


def test_equal_tables_give_equal_bytes(tmp_path: Path) -> None:
    for suffix in (".svg", ".png"):
        first, second = (
            tableau(PerturbationTable.from_rows(ROWS)).save(tmp_path / f"{name}{suffix}")
            for name in "ab"
        )
        assert first.read_bytes() == second.read_bytes()


def test_files_are_for_their_owner_only(ptable: PerturbationTable, tmp_path: Path) -> None:
    for suffix in (".svg", ".PNG", ".html"):
        path = tableau(ptable).save(tmp_path / f"tableau{suffix}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tableau.PNG",
        "tableau.html",
        "tableau.svg",
    ]


def test_png_files_are_whole_and_fine_enough_for_print(ptable: PerturbationTable) -> None:
    data = tableau(ptable).png()
    width, height, depth, kind = struct.unpack_from(">IIBB", data, 16)
    assert width > 1500
    assert (depth, kind) == (8, 6)
    at, pixels = 8, b""
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        name, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(name + content)
        pixels += content if name == b"IDAT" else b""
        at += 12 + length
    assert len(zlib.decompress(pixels)) == height * (4 * width + 1)


def test_the_page_needs_no_network_and_sends_nothing() -> None:
    table = PerturbationTable.from_rows(ROWS, name="</script><script>alert(1)</script>")
    page = tableau(table, language="de").html()
    assert page.startswith('<!DOCTYPE html>\n<html lang="de">')
    assert "default-src 'none'" in page
    assert page.count("</script>") == 2
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r"<script|<link|<img|<iframe|\b(?:src|href)=|url\(|@import", outside) == []
    call = page[page.rindex("vegaEmbed(") :]
    options = json.loads(re.findall(r'\{"mode".*\}', call)[0])
    assert options["actions"] is False
    assert options["formatLocale"]["decimal"] == ","


def test_pictures_do_not_show_themselves(ptable: PerturbationTable) -> None:
    picture = tableau(ptable)
    assert repr(picture) == "<Picture tableau: secret>"
    assert picture._repr_html_() is None
    assert picture._repr_mimebundle_() is None


# -- bad input -------------------------------------------------------------------


def test_other_suffixes_are_refused(ptable: PerturbationTable, tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match=r"\.png, \.svg, \.html"):
        tableau(ptable).save(tmp_path / "tableau.pdf")
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    with pytest.raises(PublicationError, match="not a file but a folder"):
        tableau(ptable).save(folder)
    assert list(tmp_path.iterdir()) == [folder]


@for_all_rows("draw", OF_TABLES)
def test_other_languages_are_refused(draw: Any, ptable: PerturbationTable) -> None:
    with pytest.raises(PublicationError, match="use en or de"):
        draw(ptable, language="fr")


@pytest.mark.parametrize("draw", OF_TABLES[:3])
def test_rows_that_do_not_exist_are_all_named(draw: Any, ptable: PerturbationTable) -> None:
    with pytest.raises(PerturbationError) as caught:
        draw(ptable, rows=[-1, 2, 7])
    assert [problem.where for problem in caught.value.problems] == ["rows: -1", "rows: 7"]
    with pytest.raises(PerturbationError, match="rows is empty"):
        draw(ptable, rows=[])


NO_COUNTS = "only perturbation tables for counts can be drawn"


@for_all_rows(
    ("draw", "data", "message"),
    [
        *((draw, {0: {0: 1}}, NO_COUNTS) for draw in OF_TABLES[:3]),
        (quality_curve, pl.DataFrame({"n": [1]}), "count: column not found"),
        (quality_curve, QUALITY.with_columns(relative_error=None), "2 values are missing"),
        (quality_curve, QUALITY.with_columns(relative_error=-0.5), "2 values are"),
        (quality_curve, QUALITY.clear(), "no values to draw"),
        (quality_curve, [1, 2], "not a data frame"),
        (trade_off_curve, dict.fromkeys("abcdefg", TRADE), "too many lines for one picture: 7"),
        (risk_curve, {"frame": TRADE}, "not a perturbation table or its disclosure risk"),
    ],
)
def test_what_cannot_be_drawn(draw: Any, data: Any, message: str) -> None:
    with pytest.raises(PerturbationError, match=message):
        draw(data)


def test_a_missing_package_is_named(
    ptable: PerturbationTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    picture = tableau(ptable)
    with pytest.raises(PublicationError, match=r"pip install 'discreet\[pictures\]'"):
        picture.save(tmp_path / "tableau.svg")
    assert list(tmp_path.iterdir()) == []
