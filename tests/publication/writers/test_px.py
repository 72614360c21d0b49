"""PX: what is written is what an independent reader (pyaxis) finds, and its grammar."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyaxis import pyaxis

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import write
from discreet.publication.examples import census_example
from discreet.publication.notation import symbol
from discreet.publication.writers.px import keyword, listing, quoted, text_value
from discreet.tables import CellStatus

SIGNS = {"–": '"-"', ".": '"."', "x": '".."'}


def read(path, language: str | None = None):
    return pyaxis.parse(
        str(path), encoding="utf-8", lang=language, null_values="^$", sd_values="^$"
    )


def printed(table) -> dict[tuple[str, ...], str]:
    """Each cell as a px file has it, by the labels of its codes in German."""
    index, value, status = table.cells(True)
    labels = [dimension.labels("de") for dimension in table.dimensions]
    found = {}
    for at, (number, state) in enumerate(zip(value.tolist(), status.tolist(), strict=True)):
        places = table.figures[index[-1][at]].decimals if table.figures else table.decimals
        text = symbol(number, state, places).strip("()*")
        key = tuple(labels[k][part[at]] for k, part in enumerate(index))
        found[key] = SIGNS.get(text, text)
    return found


@pytest.mark.parametrize("name", ["census", "mixed", "rents"])
@pytest.mark.parametrize("main", ["de", "en"])
def test_a_reader_finds_every_cell(name, main, mixed, rents, tmp_path):
    table = {"census": census_example(), "mixed": mixed, "rents": rents}[name]
    found = read(write(table, tmp_path / "t.px", language=main), "de")
    titles = [dimension.title("de") for dimension in table.dimensions]
    rows = found["DATA"][[*titles, "DATA"]].to_numpy().tolist()
    assert {tuple(row[:-1]): row[-1] for row in rows} == printed(table)


def test_keywords_in_both_languages(rents, tmp_path):
    english = read(write(rents, tmp_path / "t.px"))["METADATA"]
    assert english["LANGUAGES"] == ["en", "de"]
    assert english["CODEPAGE"] == ["utf-8"]
    assert english["TITLE"] == ["Rents"]
    assert english["CREATION-DATE"] == ["20261121 00:00"]
    assert (english["DECIMALS"], english["SHOWDECIMALS"]) == ("2", "0")
    assert english["AGGREGALLOWED"] == "NO"
    assert english["STUB"] == ["Region"]
    assert english["HEADING"] == ["Figure", "Year built"]
    assert english["CONTVARIABLE"] == ["Figure"]
    assert english["CODES(Figure)"] == ["rented", "rent", "vacant", "surplus"]
    assert english["UNITS(Average rent)"] == ["EUR"]
    assert english["UNITS(Rented dwellings)"] == ["number"]
    assert english["PRECISION(Figure,Average rent)"] == "2"
    assert english["ELIMINATION(Region)"] == ["Total"]
    german = read(tmp_path / "t.px", "de")["METADATA"]
    assert german["VALUES(Baujahr)"] == ["Insgesamt", "vor 1950", "1950 und später"]
    assert german["UNITS(Mietwohnungen)"] == ["Anzahl"]


def test_signs_notes_and_marks(rents, tmp_path):
    text = write(rents, tmp_path / "t.px").read_text("utf-8")
    for line in (
        'DATASYMBOL1=".";',
        'DATASYMBOL2="x";',
        'DATASYMBOLNIL="–";',
        'VALUENOTE("Region","North")="New boundary.";',
        'VALUENOTE[de]("Kennzahl","Durchschnittsmiete")="Kalt.";',
        'CELLNOTE("=1+1 <b>&","*","1950 and later")="Few homes.";',
        'DATANOTECELL("N","rent","Total")="()";',
        'DATANOTECELL("Total","rented","Total")="*";',
    ):
        assert f"\n{line}\n" in text
    assert "#On all.#" in text.replace('"\n"', "")


def test_hierarchies_stand_where_codes_have_levels(mixed, make_table, tmp_path):
    """As PCAxis.Core reads them: one root, then parent and child in quotes with a colon."""
    text = write(mixed, tmp_path / "t.px").read_text("utf-8")
    below = text.partition('HIERARCHIES("Region")=')[2].partition(";")[0].split(",\n")
    assert below == ['"Total"', '"Total":"N"', '"N":"N1"', '"N":"N2"', '"Total":"S"']
    assert text.count("HIERARCHIES") == 1
    for codes in (["a", "b:c"], ["a", "b" * 150]):
        tree = Classification(name="v", codes=("T", *codes), parents=(-1, 0, 1))
        table = make_table([tree], {("T",): (9, CellStatus.published)})
        assert "HIERARCHIES" not in write(table, tmp_path / "u.px").read_text("utf-8")


def test_levels_are_named_where_the_hierarchy_is_regular(make_table, tmp_path):
    """PCAxis.Core wants as many names as levels, the root included, in every language."""
    whole = {"name": "v", "titles": {"en": "Place", "de": "Ort"}, "level_names": ("land", "town")}
    whole["level_titles"] = {"land": {"en": "State", "de": "Land"}}
    even = Classification(codes=("T", "a", "a1", "b", "b1"), parents=(-1, 0, 1, 0, 3), **whole)
    cells = {("a1",): (9, CellStatus.published)}
    titles = {"en": "Persons", "de": "Personen"}
    text = write(make_table([even], cells, titles=titles), tmp_path / "t.px").read_text("utf-8")
    levels = 'HIERARCHYLEVELS("Place")=3;'
    names = 'HIERARCHYNAMES("Place")="T","State","town";'
    german = 'HIERARCHYNAMES[de]("Ort")="T","Land","town";'
    assert "\n".join([levels, names, german, 'HIERARCHIES("Place")=']) in text
    assert read(tmp_path / "t.px")["METADATA"]["HIERARCHYNAMES(Place)"] == ["T", "State", "town"]
    uneven = Classification(codes=("T", "a", "a1", "b"), parents=(-1, 0, 1, 0), **whole)
    text = write(make_table([uneven], cells), tmp_path / "u.px").read_text("utf-8")
    assert ("HIERARCHYLEVELS" in text, "HIERARCHIES" in text) == (False, True)


def test_counts_say_what_they_count(mixed, mean_rents, tmp_path):
    found = read(write(mixed, tmp_path / "t.px"))["METADATA"]
    assert (found["UNITS"], found["DECIMALS"]) == (["number"], "0")
    assert found["SUBJECT-AREA"] == ["Adults"]
    found = read(write(mean_rents, tmp_path / "m.px"))["METADATA"]
    assert (found["UNITS"], found["CONTENTS"]) == (["EUR"], ["Average rent (EUR)"])
    assert "CONTVARIABLE" not in found


def test_lines_are_short_and_the_grammar_holds(make_table, tmp_path):
    codes = [f"code {k}" for k in range(300)]
    labels = {"code 1": {"en": 'a "quoted"; label\nin two lines'}, "code 2": {"en": "a"}}
    labels["code 3"] = {"en": "a"}
    tree = Classification.flat("v", codes, labels=labels, titles={"en": "V" * 100})
    other = Classification.flat("w", codes[:9], titles={"en": "V" * 100})
    cells = {("code 7", "code 1"): (123_456, CellStatus.published)}
    title = "A title of many words " * 30
    table = make_table([tree, other], cells, titles={"en": title})
    text = write(table, tmp_path / "t.px", rows=["w"]).read_bytes().decode("utf-8")
    assert text.startswith('CHARSET="ANSI";\r\nAXIS-VERSION="2013";\r\nCODEPAGE="utf-8";\r\n')
    assert text.endswith("\r\n;\r\n")
    assert max(map(len, text.split("\r\n"))) <= 256
    assert text.count('"') % 2 == 0
    found = read(tmp_path / "t.px")
    assert "".join(found["METADATA"]["TITLE"]).replace(" ", "") == title.replace(" ", "")
    values = found["METADATA"]["VALUES(" + "V" * 100 + " (v))"]
    assert values[2:5] == ["a ''quoted''; label#in two lines", "a (code 2)", "a (code 3)"]
    assert (found["DATA"]["DATA"] != '"-"').sum() == 1
    assert len(found["DATA"]) == 301 * 10


def test_with_keys_rows_of_zeros_are_left_out(mixed, rents, tmp_path):
    text = write(mixed, tmp_path / "t.px", complete=False).read_text("utf-8")
    data = text.partition("DATA=\n")[2].splitlines()
    assert 'KEYS("Region")=CODES;\n' in text
    assert data == [
        '"Total", 12345 6200 6150 ',
        '"N", 900 "." "-" ',
        '"N1", 880 "-" "-" ',
        '"S", 11450 "-" "-" ',
        ";",
    ]
    # A row in which some figure cannot be stated is not a row of zeros.
    text = write(rents, tmp_path / "r.px", complete=False).read_text("utf-8")
    assert len(text.partition("DATA=\n")[2].splitlines()) == 6


def test_tables_that_do_not_fit(make_table, sex, tmp_path, monkeypatch):
    long = sex.replace(labels={"m": {"en": "x" * 230}})
    table = make_table([long], {("m",): (3, CellStatus.published)})
    with pytest.raises(PublicationError, match="1 labels or codes are too long for a px file"):
        write(table, tmp_path / "t.px")
    monkeypatch.setattr("discreet.publication.layout.CELL_LIMIT", 10)
    with pytest.raises(PublicationError, match="at most 10 cells; this table has 18"):
        write(census_example(), tmp_path / "t.px")
    assert list(tmp_path.iterdir()) == []


def test_decimals_beyond_those_that_can_be_shown(make_table, sex, tmp_path):
    table = make_table([sex], {("m",): (1.123456789, CellStatus.published)}, decimals=8)
    found = read(write(table, tmp_path / "t.px"))
    assert (found["METADATA"]["DECIMALS"], found["METADATA"]["SHOWDECIMALS"]) == ("8", "6")
    assert found["DATA"]["DATA"].to_list()[1] == "1.12345679"


def test_a_table_in_one_language(mixed, tmp_path):
    single = dataclasses.replace(mixed, titles={"en": "Persons"})
    text = write(single, tmp_path / "t.px").read_text("utf-8")
    assert "LANGUAGES" not in text
    assert "[de]" not in text


@given(st.text(max_size=700))
def test_texts_of_any_length_are_broken_and_found_again(text):
    value = text_value(text)
    pieces = value.split("\r\n")
    whole = "".join(piece[1:-1] for piece in pieces if piece)
    assert whole == quoted(text)[1:-1]
    assert '"' not in whole


@given(st.lists(st.text(alphabet="ab ,;", min_size=1, max_size=200), min_size=1, max_size=20))
def test_lists_are_broken_between_texts(texts):
    lines = keyword("VALUES", listing(texts), key=["variable"]).split("\r\n")
    assert max(map(len, lines)) <= 256
    assert "".join(lines) == 'VALUES("variable")=' + ",".join(map(quoted, texts)) + ";"
