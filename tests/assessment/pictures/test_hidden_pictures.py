"""Pictures of tables, hidden cells and figures: what they show, what they keep in, their looks."""

import json
import stat
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment.pictures import (
    Picture,
    hidden_by_code,
    hidden_by_part,
    hidden_cells,
    plot,
    tableau,
)
from discreet.assessment.pictures.cell_kinds import KIND_STYLES, choose
from discreet.assessment.pictures.picture import luminance
from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.protection.suppression import SharedSuppression, Suppression, report_on
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table
from tests.helpers.drawn import columns, kinds, records
from tests.helpers.protected_tables import protected_table
from tests.helpers.rows import for_all_rows

#: No value, and no sum or difference of a few, can be mistaken for another one.
VALUES = {("m", "a"): 1_000_003, ("m", "b"): 20_000_017, ("w", "a"): 300_000_043}
VALUES |= {("w", "b"): 4_000_000_081}
TITLES = {"en": "Turnover", "de": "Umsatz"}
DRAWINGS = (hidden_cells, hidden_by_code, hidden_by_part)


def cells_of(values: dict[tuple[str, str], int]) -> pl.DataFrame:
    """All cells of a table of two variables with their totals."""
    rows = []
    for sex in ("Total", "m", "w"):
        for branch in ("Total", "a", "b"):
            inside = [
                value
                for (one, other), value in values.items()
                if sex in ("Total", one) and branch in ("Total", other)
            ]
            rows.append({"sex": sex, "branch": branch, "n": sum(inside)})
    return pl.DataFrame(rows)


def suppressed(**options: Any) -> Suppression:
    table = Table.from_cells(cells_of(VALUES), by=["sex", "branch"], count="n", name="T")
    options = {"titles": TITLES, **options}
    return Suppression.of((table, table.count == VALUES["m", "a"]), method="fast", **options)


@pytest.fixture(scope="module")
def firms() -> Suppression:
    """Three variables, one of them with a tree."""
    draw = np.random.default_rng(7)
    records = pl.DataFrame(
        {
            "region": draw.choice(["11", "12", "13", "21", "22"], 400),
            "branch": draw.choice(["a", "b", "c", "d"], 400, p=[0.5, 0.3, 0.15, 0.05]),
            "size": draw.choice(["s", "m"], 400),
            "turnover": np.ceil(draw.lognormal(4, 1.6, 400)).astype(int),
        }
    )
    codes = ["11", "12", "13", "21", "22"]
    region = dc.Classification.from_prefixes("region", codes, [1, 2])
    table = dc.tabulate(records, [region, "branch", "size"], values=["turnover"], contributions=2)
    rules = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(10)]
    return Suppression.of((table, dc.primary(table, rules, value="turnover")), method="fast")


def texts(svg: str) -> list[str]:
    return [str(node.text) for node in ElementTree.fromstring(svg).iter() if node.text]


# -- what they show ------------------------------------------------------------------


def test_hidden_cells_are_those_of_the_pattern() -> None:
    done = suppressed()
    shown = kinds(hidden_cells(done))
    assert {cell for cell, kind in shown.items() if kind == "primary"} == {("m", "a")}
    secondary = {cell for cell, kind in shown.items() if kind == "secondary"}
    assert secondary == {("m", "b"), ("w", "a"), ("w", "b")}
    assert shown["Total", "Total"] == "shown"


@for_all_rows("form", ["html", "svg"])
@for_all_rows("draw", DRAWINGS)
def test_no_hidden_value_is_in_a_picture(draw: Any, form: str) -> None:
    """Neither of the four inner cells, in any way of writing; totals are published."""
    for source in (suppressed().tables[0], suppressed(intervals=True)):
        picture = draw(source)
        content = json.dumps(picture.description) if form == "html" else picture.svg()
        bare = content.replace(",", "").replace("\u202f", "").replace(" ", "")
        assert not [value for value in VALUES.values() if str(value) in bare]
    published = json.dumps(hidden_cells(suppressed()).description)
    assert f"{sum(VALUES.values()):,}" in published


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [("rule", {"primary", "secondary"}), ("kind", {"primary", "secondary"}), ("none", {"hidden"})],
)
def test_kinds_are_public_only_if_reasons_are(reasons: Any, expected: set[str]) -> None:
    done = suppressed(reasons=reasons)
    public = hidden_cells(done.tables[0])
    assert set(kinds(public).values()) - {"shown"} == expected
    assert not public.secret
    inside = hidden_cells(done)
    assert inside.secret
    assert set(kinds(inside).values()) == {"primary", "secondary", "shown"}


@pytest.mark.parametrize("draw", DRAWINGS)
def test_hidden_values_have_no_influence(draw: Any) -> None:
    """What is moved around within the blanks leaves public pictures as they are."""
    shift = {("m", "a"): 1_000, ("m", "b"): -1_000, ("w", "a"): -1_000, ("w", "b"): 1_000}
    pictures = []
    for step in (0, 1):
        values = {cell: value + step * shift[cell] for cell, value in VALUES.items()}
        table = Table.from_cells(cells_of(values), by=["sex", "branch"], count="n", name="T")
        safe = dc.suppress(table, table.count == values["m", "a"], method="fast")
        pictures.append(draw(safe).svg())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("draw", DRAWINGS)
def test_who_is_not_told_sees_the_same_whatever_is_sensitive(draw: Any) -> None:
    """Two patterns of the same cells, another of which is sensitive in each."""
    pictures = []
    for cell in (("m", "a"), ("w", "a")):
        table = Table.from_cells(cells_of(VALUES), by=["sex", "branch"], count="n", name="T")
        mask = table.count == VALUES[cell]
        safe = dc.suppress(table, mask, method="fast", reasons="none")
        pictures.append(draw(safe).svg())
    assert pictures[0] == pictures[1]


def test_numbers_of_parts_are_those_of_the_report(firms: Suppression) -> None:
    told = columns(hidden_by_part(firms))
    names = [each["label"] for each in records(hidden_by_part(firms), "step")]
    shown = {
        name: tuple(int(told[head][at]) for head in ("● primary", "○ secondary", "of cells"))
        for at, name in enumerate(names)
    }
    report = {
        part.part: (part.primary, part.secondary, part.cells) for part in report_on(firms).parts
    }
    assert shown == report
    assert sum(first for first, _, _ in shown.values()) > 0


def test_numbers_of_codes_are_those_of_the_frame(firms: Suppression) -> None:
    frame = firms.tables[0].to_polars(complete=False)
    picture = hidden_by_code(firms.tables[0], "branch")
    labels = [each["label"] for each in records(picture, "step")]
    told = columns(picture)
    for at, code in enumerate(labels):
        own = frame.filter(branch=code)
        hidden = own.filter(status="suppressed")
        assert int(told["of cells"][at]) == len(own)
        assert int(told["○ secondary"][at]) == len(hidden.filter(reason="secondary"))
        assert int(told["● primary"][at]) == len(hidden.filter(pl.col("reason") != "secondary"))


def test_codes_can_include_all_below_them(firms: Suppression) -> None:
    own = columns(hidden_by_code(firms, "region"))["of cells"]
    whole = columns(hidden_by_code(firms, "region", below=True))["of cells"]
    tree = firms.tables[0].dimensions[0].codes
    assert tree == ("Total", "1", "11", "12", "13", "2", "21", "22")
    numbers = [int(text) for text in own]
    assert int(whole[0]) == sum(numbers)
    assert int(whole[1]) == sum(numbers[1:5])
    assert int(whole[5]) == sum(numbers[5:])
    assert int(whole[2]) == numbers[2]


def test_a_nested_tree_adds_up(firms: Suppression) -> None:
    picture = hidden_by_code(firms, "branch", nested="size")
    labels = [(each["step"], each["label"]) for each in records(picture, "step")]
    cells = [int(text) for text in columns(picture)["of cells"]]
    lines = sorted(
        zip([int(each["line"]) for each in records(picture, "step")], labels, strict=True)
    )
    assert [label for _, label in lines[:4]] == [
        (0, "Total"),
        (2, "size: Total"),
        (3, "m"),
        (3, "s"),
    ]
    for at in range(0, len(cells), 4):
        assert cells[at] == sum(cells[at + 1 : at + 4])


def test_other_variables_stand_at_their_totals_or_where_named(firms: Suppression) -> None:
    safe = firms.tables[0]
    for size in ("Total", "s"):
        picture = hidden_cells(safe, at={"size": size})
        for each in records(picture, "row"):
            value = safe.get(each["row"], each["column"], size)
            if each["kind"] == "shown":
                assert each["text"] == f"{value:,}"
            else:
                assert value is None or (value == 0 and each["text"] == "–")
        assert f"size: {size}" in picture.description["title"]["subtitle"][0]
    turned = kinds(hidden_cells(safe, rows="size", columns="region", under={"region": "2"}))
    assert {column for _, column in turned} == {"2", "21", "22"}


def test_one_figure_of_several_is_drawn() -> None:
    firms = pl.DataFrame({"branch": [*"aaabbbcc"], "sales": range(8), "staff": range(10, 18)})
    table = dc.tabulate(firms, ["branch"], values=["sales", "staff"], contributions=2)
    found = [dc.primary(table, [dc.rules.MinimumFrequency(3)], value=v) for v in ("sales", "staff")]
    safe = SharedSuppression.of([(table, found)], method="fast").tables[0]
    for name, total in (("sales", 28), ("staff", 108)):
        shown = {
            each["row"]: each["text"] for each in records(hidden_cells(safe, figure=name), "row")
        }
        assert shown["Total"] == str(total)
        assert shown["c"] == "●"
    assert columns(hidden_by_code(safe))["of cells"] == ["1"] * 4


# -- looks and files ---------------------------------------------------------------------


def test_kinds_differ_in_sign_and_in_grey() -> None:
    hidden = [KIND_STYLES[kind] for kind in ("primary", "secondary", "hidden", "shown")]
    assert len({look.sign for look in hidden}) == 4
    shades = [luminance(look.fill) + 0.05 for look in (hidden[0], hidden[1], hidden[3])]
    assert shades[1] / shades[0] > 3
    assert shades[2] / shades[1] > 1.5
    for look in KIND_STYLES.values():
        light, dark = sorted((luminance(look.fill) + 0.05, luminance(look.ink) + 0.05))[::-1]
        assert light / dark >= 4.5


@pytest.mark.parametrize(("language", "word"), [("en", "CONFIDENTIAL"), ("de", "VERTRAULICH")])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_only_pictures_of_tables_to_publish_are_public(
    draw: Any, language: str, word: str, tmp_path: Path
) -> None:
    done = suppressed()
    inside, public = draw(done, language=language), draw(done.tables[0], language=language)
    assert any(text.startswith(word) for text in texts(inside.svg()))
    assert not any(text.startswith(word) for text in texts(public.svg()))
    assert repr(inside) == f"<Picture {inside.name}: secret>"
    assert repr(public) == f"<Picture {inside.name}>"
    assert stat.S_IMODE(inside.save(tmp_path / "in.svg").stat().st_mode) == 0o600
    assert stat.S_IMODE(public.save(tmp_path / "out.svg").stat().st_mode) & 0o044
    assert TITLES[language] in " ".join(texts(public.svg()))


def test_labels_cannot_break_out_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.assessment.pictures.picture._script_library", lambda: "")
    evil = "</script><script>alert(1)</script>"
    tree = dc.Classification.flat("sex", ["m"], labels={"m": {"en": evil}})
    table = Table.from_cells(
        pl.DataFrame({"sex": ["Total", "m"], "n": [4, 4]}), by=[tree], count="n"
    )
    page = hidden_cells(dc.suppress(table, table.count < 0, method="fast")).html()
    assert page.count("</script>") == 2


# -- bad input ------------------------------------------------------------------------------


@for_all_rows(
    ("options", "message"),
    [
        ({"rows": "age"}, "'age' is not a spanning variable of the table"),
        ({"rows": "sex", "columns": "sex"}, "the same variable"),
        ({"at": {"sex": "m"}}, "'sex' is in the wrong argument"),
        ({"under": {"sex": "x"}}, "code 'x' not found"),
        ({"figure": "rent"}, "figure 'rent' not found"),
        ({"language": "fr"}, "use en or de"),
    ],
)
def test_words_that_fit_no_table(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PublicationError, match=message):
        hidden_cells(suppressed().tables[0], **options)


def test_true_tables_are_not_drawn() -> None:
    table = Table.from_cells(cells_of(VALUES), by=["sex", "branch"], count="n")
    for draw in (*DRAWINGS, plot):
        said = "a Table cannot" if draw is plot else "not a protected table or a suppression"
        with pytest.raises(PublicationError, match=said):
            draw(table)  # type: ignore[operator]


def test_one_of_several_tables_is_named() -> None:
    table = Table.from_cells(cells_of(VALUES), by=["sex", "branch"], count="n", name="T")
    other = Table.from_cells(
        pl.DataFrame({"sex": ["Total", "m", "w"], "n": [4_321_000_144, 21_000_020, 4_300_000_124]}),
        by=["sex"],
        count="n",
        name="U",
    )
    mask = table.count == VALUES["m", "a"]
    done = Suppression.of([(table, mask), (other, other.count < 0)], method="fast")
    with pytest.raises(PublicationError, match=r"name one of the tables.*\n.*T, U"):
        hidden_cells(done)
    assert len(records(hidden_cells(done, which="U"), "row")) == 3
    with pytest.raises(PublicationError, match="there is not exactly one table 'V'"):
        hidden_by_part(done, which="V")
    with pytest.raises(PublicationError, match="nested in itself"):
        hidden_by_code(done, "sex", nested="sex", which="T")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(2, 50))
def test_chosen_codes_fit_and_are_whole_levels(shape: list[int], most: int) -> None:
    codes, width = [""], 0
    for number in shape:
        codes = [code + str(digit) for code in codes for digit in range(number)][:400]
        width += 1
    lengths = list(range(1, width + 1))
    tree = dc.Classification.from_prefixes("place", codes, lengths)
    place = Dimension(classifications=(tree,))
    chosen = choose(place, most)
    assert 1 <= len(chosen.codes) <= most
    assert chosen.codes[0] == 0
    assert (chosen.note("Place", "en") == "") == (len(chosen.codes) == len(place))
    levels = place.levels[chosen.codes]
    deepest = int(levels.max())
    whole = int((place.levels <= deepest).sum())
    if whole != len(chosen.codes):  # not even the first level fits
        assert int((place.levels <= int(levels[levels > 0].min())).sum()) > most


def flat(codes: int) -> ProtectedTable:
    tree = dc.Classification.flat("code", [f"c{at:04}" for at in range(codes)])
    number = codes + 1
    return protected_table(
        [tree],
        np.arange(number) + 1,
        status=np.where(np.arange(number) % 3, 0, CellStatus.suppressed).astype(np.int8),
        method="cell-suppression",
    )


def test_thousands_of_codes_are_cut_and_it_is_said() -> None:
    picture = hidden_cells(flat(3_000), language="de")
    assert len(records(picture, "row")) == 40
    assert "40 von 3" in picture.description["title"]["subtitle"][0]
    lines = hidden_by_code(flat(3_000))
    assert len(columns(lines)["share"]) == 60
    assert "60 of 3,001 categories" in " ".join(lines.description["title"]["subtitle"])


def test_one_cell_and_nothing_but_hidden_ones() -> None:
    alone = protected_table(
        [],
        [0],
        status=[CellStatus.suppressed],
        method="cell-suppression",
        titles={"en": "All firms"},
    )
    assert [each["kind"] for each in records(hidden_cells(alone), "row")] == ["hidden"]
    assert columns(hidden_by_part(alone))["share"] == ["100 %"]
    with pytest.raises(PublicationError, match="no spanning variable"):
        hidden_by_code(alone)


def test_parts_that_are_hidden_as_a_whole_are_hidden() -> None:
    tree = dc.Classification.flat("sex", ["m", "w"])
    table = protected_table([tree], [7], suppressed_parts=frozenset({(0,)}))
    assert list(kinds(hidden_cells(table)).values()) == ["shown", "hidden", "hidden"]
    assert columns(hidden_by_part(table))["suppressed"] == ["0", "2"]


def test_margins_that_are_unknown_are_not_zero() -> None:
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [4, 5]})
    table = Table.from_cells(cells, by=["sex"], count="n")
    safe = dc.suppress(table, table.count < 0, method="fast")
    assert list(kinds(hidden_cells(safe)).values()) == ["absent", "shown", "shown"]


def told(picture: Picture) -> dict[tuple[str, str], tuple[Any, str]]:
    return {
        (each["row"], each["column"]): (each["value"], each["text"])
        for each in records(picture, "row")
    }


def with_hidden() -> tuple[dc.Table, ProtectedTable]:
    cells = pl.DataFrame(
        {
            "sex": ["Total", "Total", "Total", "m", "m", "m", "w", "w", "w"],
            "age": ["Total", "1", "2"] * 3,
            "n": [97641, 48817, 48824, 48820, 24407, 24413, 48821, 24410, 24411],
        }
    )
    table = dc.Table.from_cells(cells, by=["sex", "age"], count="n")
    return table, dc.suppress(table, table.count == 24407, method="fast")


def test_bars_have_the_published_figures_and_leave_the_total_out() -> None:
    found = told(census_example().plot("bars", rows="age", columns="sex"))
    assert found["Class 3", "female"] == (40.0, "40")
    assert len(found) == 10
    assert not any("Total" in place for place in found)
    alone = told(census_example().plot(rows="age"))
    assert alone["Class 3", ""] == (71.0, "71")
    of_men = told(census_example().plot("bars", rows="age", at={"sex": "m"}))
    assert of_men["Class 3", ""] == (32.0, "32")


def test_what_suits_the_table_is_drawn_unasked() -> None:
    assert census_example().plot().name == "heat map"
    assert census_example().plot(rows="age").name == "bars"


def test_lines_are_told_apart_by_more_than_colour() -> None:
    picture = census_example().plot("lines", rows="age", columns="sex")
    assert told(picture)["Class 3", "female"] == (40.0, "40")
    encoding = picture.description["vconcat"][0]["encoding"]
    for name in ("color", "strokeDash", "shape"):
        assert encoding[name]["scale"]["domain"] == ["male", "female"]
        assert len({str(look) for look in encoding[name]["scale"]["range"]}) == 2
    alone = census_example().plot("lines", rows="age")
    assert told(alone)["Class 3", ""] == (71.0, "71")


def test_a_pyramid_takes_the_variable_with_two_codes_and_grows_from_below() -> None:
    picture = census_example().plot("pyramid", language="de")
    assert told(picture)["Klasse 5", "weiblich"] == (60.0, "60")
    left, right = picture.description["vconcat"][0]["hconcat"]
    assert (left["title"]["text"], right["title"]["text"]) == ("männlich", "weiblich")
    assert left["encoding"]["y"]["sort"][0] == "Klasse 5"
    assert left["layer"][0]["encoding"]["x"]["scale"]["domain"] == [60.0, 0]


def test_a_hierarchy_is_drawn_at_its_finest_level_that_fits() -> None:
    codes = [f"{a}{b:02}" for a in "12" for b in range(50)]
    place = Classification.from_prefixes("place", codes, [1, 3])
    table = protected_table([place], np.arange(len(place)) + 1)
    assert [row for row, _ in told(table.plot())] == ["1", "2"]


@pytest.mark.parametrize("kind", ["bars", "lines", "heat map", "pyramid"])
def test_hidden_cells_have_a_sign_and_no_number_anywhere(kind: str) -> None:
    _, safe = with_hidden()
    picture = safe.plot(kind, columns="sex")
    text = json.dumps(picture.description)
    assert safe.get("m", "1") is None
    for number in ("24407", "24,407"):
        assert number not in text
    assert told(picture)["1", "m"] == (None, "■")
    assert "■ suppressed" in json.dumps(picture.description["title"], ensure_ascii=False)


def test_brackets_zeros_and_figures_without_a_value_are_told() -> None:
    place = Classification.flat("place", ["a", "b", "c", "d"])
    status = [CellStatus.published, CellStatus.bracketed, CellStatus.published, CellStatus.official]
    table = protected_table([place], [9, 1234, 0, 7], status=status)
    found = told(table.plot(language="de"))
    assert [found[code, ""][1] for code in "abcd"] == ["(1 234)", "–", "7", "–"]


@for_all_rows(
    ("options", "said"),
    [
        ({"kind": "pie"}, "unknown kind of picture 'pie'"),
        ({"rows": "region"}, "'region' is not a spanning variable of the table"),
        ({"kind": "pyramid", "columns": "age"}, "a pyramid needs a variable with two categories"),
        ({"kind": "heat map", "rows": "age", "columns": "age"}, "the same variable"),
        ({"rows": "age", "at": {"age": "1"}}, "'age' is drawn"),
        ({"kind": "bars", "rows": "age", "at": {"sex": "x"}}, "code 'x' not found"),
    ],
)
def test_what_cannot_be_drawn_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PublicationError, match=said) as caught:
        census_example().plot(**options)
    assert caught.value.hint


def test_notebooks_get_the_drawing_of_what_may_be_published_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = census_example().plot()._repr_mimebundle_()
    assert found is not None
    assert found["image/svg+xml"].startswith("<svg")
    assert "v5" in found["application/vnd.vegalite.v5+json"]["$schema"]
    ptable = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    assert tableau(ptable)._repr_mimebundle_() is None
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    plain = census_example().plot()._repr_mimebundle_()
    assert plain is not None
    assert sorted(plain) == ["application/vnd.vegalite.v5+json", "text/plain"]
