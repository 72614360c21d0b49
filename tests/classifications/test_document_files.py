"""Classifications as JSON, TOML and CSV."""

import gzip
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import ClassificationError, PublicationError

REGION = Classification.from_parents(
    "region",
    {"01": None, "01001": "01", "02": None},
    total="DE",
    labels={
        "DE": {"en": "Germany", "de": "Deutschland"},
        "01": {"de": "Nord"},
        "99": {"en": "not known"},
    },
    titles={"en": "Region", "de": "Region"},
    column="municipality",
    missing="99",
    level_names=("state", "district"),
)
AGE = Classification.from_intervals("age", [0, 6.5, 18], parents=[[0, 18]], open_first=True)
UNEVEN = Classification.from_levels(
    pl.DataFrame({"a": ["A", "B"], "b": ["A1", None]}), columns=["a", "b"]
)
TREES = [REGION, AGE, UNEVEN, Classification.flat("sex", ["m", "w"]).with_missing()]


@pytest.fixture
def saved(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_nothing_is_lost_in_a_document(tree, suffix, tmp_path):
    path = tree.write(tmp_path / f"any.{suffix}")
    again = Classification.read(path)
    assert again == tree
    assert again.write(tmp_path / f"again.{suffix}").read_bytes() == path.read_bytes()


def test_a_document_has_one_line_per_code(tmp_path):
    lines = REGION.write(tmp_path / "region.toml").read_text().splitlines()
    assert lines[0] == 'name = "region"'
    assert lines[-5:] == [
        '  ["DE", "", "Germany", "Deutschland"],',
        '  ["01", "DE", "", "Nord"],',
        '  ["01001", "01", "", ""],',
        '  ["02", "DE", "", ""],',
        "]",
    ]


def test_a_flat_classification_is_short_to_write_by_hand(saved):
    text = 'codes = ["m", "w"]\n[labels]\nm = { en = "male" }\n'
    sex = Classification.read(saved("sex.toml", text), titles={"en": "Sex"})
    assert sex.codes == ("Total", "m", "w")
    assert (sex.name, sex.title(), sex.label("m")) == ("sex", "Sex", "male")
    assert Classification.read(saved("sex.json", '{"codes": ["m"]}')).codes == ("Total", "m")


def test_the_reader_may_name_variable_and_total(saved):
    path = saved("r.json", '{"name": "region", "codes": [["DE", ""], ["01", "DE"]]}')
    assert Classification.read(path).codes == ("DE", "01")
    tree = Classification.read(path, name="place", total="All")
    assert (tree.name, tree.codes) == ("place", ("All", "01"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.json", '{\n "codes": [}', "v.json, line 2: not valid JSON"),
        ("v.json", '["m"]', "not a JSON object"),
        ("v.json", '{"codes": ["m"], "codes": ["w"]}', "key 'codes' occurs twice"),
        ("v.json", "[" * 100_000, "nested too deeply|not JSON"),
        ("v.json", "N\n@N1\n", "not valid JSON"),
        ("v.toml", 'codes = ["m"]\nname = \n', "v.toml, line 2: not valid TOML"),
        ("v.toml", '{"codes": ["m"]}', "not valid TOML"),
        ("v.toml", 'codes = ["m"]\ntitel = 1', "v.toml, titel: unknown key 'titel'"),
        ("v.toml", 'name = "v"', "v.toml, codes: the list of codes is missing"),
        ("v.toml", "codes = []", "v.toml, codes: the list of codes is missing"),
        ("v.toml", 'codes = ["m"]\nname = 3', "v.toml, name: not a text"),
        ("v.toml", 'codes = ["m"]\nlevels = "x"', "v.toml, levels: not a list of texts"),
        (
            "v.toml",
            'codes = ["m"]\ntitles = "x"',
            "v.toml, titles: not a table of languages and texts",
        ),
        (
            "v.toml",
            'codes = ["m"]\nlabels.m = "x"',
            "v.toml, labels: not a table of codes, languages",
        ),
        ("v.toml", 'codes = ["m"]\nbounds = [true]', "v.toml, bounds: not a list of num"),
        ("v.toml", 'codes = ["m"]\nbounds = [2, 1]', "bound 1 does not exceed 2"),
        ("v.toml", 'codes = ["m"]\nbounds = [0, 1, 2]', "2 intervals for 1 codes"),
        ("v.json", '{"codes": ["m"], "bounds": [null]}', "not a list of numbers"),
        ("v.toml", 'codes = [["m"]]', "codes, row 1: the row does not match the columns"),
        ("v.toml", 'codes = [["m", 1]]', "codes, row 1: the row does not match the columns"),
        (
            "v.toml",
            'columns = ["a"]\ncodes = [["m"]]',
            'the first two columns must be "child" and "parent"',
        ),
        (
            "v.toml",
            'columns = ["child", "parent", "en"]\ncodes = [["m", "", ""]]',
            "unknown column 'en'",
        ),
        ("v.toml", 'codes = [\n["A", ""],\n["B", "b"],\n["C", ""]]', "v.toml, line 3: parent"),
        ("v.json", '{"codes": [\n["A", "B"],\n["B", "A"]]}', "line 2: the hierarchy has a circle"),
        ("v.csv", "child,parent\nA,\nB,b\nC,\n", "v.csv, line 3: parent 'b' of code 'B'"),
        ("v.csv", "child,parent\nA,\nB,\nA,\n", r"line 4: code 'A' is listed twice \(first in v"),
        (
            "v.csv",
            "child,parent\nA,B\nB,A\n",
            "line 2: the hierarchy has a circle: 'A' → 'B' → 'A'",
        ),
        ("v.csv", "child,parent\nA\n", "v.csv, line 2: 1 fields for 2 columns"),
        ("v.csv", "child,parent\n", "no codes below the header"),
        ("v.csv", "child,parent,english\nA,,a\n", "unknown column 'english'"),
        ("v.csv", "child,parent,label_en,label_en\nA,,a,b\n", "column 'label_en' occurs twice"),
        ("v.csv", "code;colour\nA;a\n", "v.csv, line 1: unknown header 'code;colour'"),
        ("v.csv", 'child,parent\n"A,\n', "not valid CSV"),
        ("v.csv", "level,name\n@,T\n@@@,A\n", "line 3: code 'A' is 2 levels below"),
        ("v.csv", "level,name\n@,T\n@,A\n", "line 3: 2 codes are on the level of the total"),
        ("v.csv", "level,name\n@@,T\n", "0 codes are on the level of the total"),
        ("v.csv", "level,name\n@,T\n@#,A\n", "line 3: level '@#' does not consist of '@'"),
        ("v.csv.gz", "child,parent\nA,\n", "not a complete gzip file"),
        (
            "v.csv.gz",
            gzip.compress(b"child,parent\nA,\n", mtime=0)[:-4],
            "not a complete gzip file",
        ),
        ("v.csv", gzip.compress(b"child,parent\nA,\n", mtime=0), "a gzip archive"),
        ("v.xlsx", "", "unknown suffix '.xlsx' of a classification file"),
        ("v", "", "unknown suffix '' of a classification file"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_an_error_with_place_and_code(
    saved, name, text, message
):
    with pytest.raises(ClassificationError, match=message):
        Classification.read(saved(name, text))


def test_a_first_code_that_looks_like_another_format_is_a_code(tmp_path):
    tree = Classification.flat("v", ["PAR1", "PK"])
    assert Classification.read(tree.write(tmp_path / "v.hrc")) == tree


def test_all_mistakes_of_a_document_are_listed(saved):
    text = 'nam = "v"\ncolumn = 1\nbounds = "x"\ncodes = [["a"], ["b"]]\n'
    with pytest.raises(ClassificationError, match="5 problems in the document"):
        Classification.read(saved("v.toml", text))


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ClassificationError, match="cannot be read"):
        Classification.read(tmp_path / "none.hrc")


# -- CSV ----------------------------------------------------------------------


def test_csv_has_codes_parents_and_labels(tmp_path):
    path = REGION.write(tmp_path / "region.csv")
    assert path.read_text().splitlines() == [
        "child,parent,label_en,label_de",
        "DE,,Germany,Deutschland",
        "01,DE,,Nord",
        "01001,01,,",
        "02,DE,,",
    ]
    again = Classification.read(path)
    assert (again.codes, again.parents) == (REGION.codes, REGION.parents)
    assert again.labels["DE"] == REGION.labels["DE"]


@pytest.mark.parametrize("text", ['a,"b"', "a\rb", "a\nb", " a ", "a;b"])
def test_any_text_may_be_a_code_or_label_in_csv(tmp_path, text):
    tree = Classification.flat("v", ["m", text], labels={text: {"en": text}})
    assert Classification.read(tree.write(tmp_path / "v.csv")) == tree


@pytest.mark.parametrize(
    "text",
    [
        "code,parent,label\nT,,All\na,T,A\nb,T,B\n",
        "Parent Code;Bezeichnung;ID\n;All;T\nT;A;a\nT;B;b\n",
        "label_de,parent,child\nAll,,T\nA,T,a\nB,T,b\n",
        "SCHLÜSSEL;Bezeichnung;Oberschlüssel\nT;All;\na;A;T\nb;B;T\n",
        "Titel;Übergeordneter Schlüssel;Schlüssel\nAll;;T\nA;T;a\nB;T;b\n",
    ],
)
def test_headings_of_offices_are_known_in_any_order(saved, text):
    tree = Classification.read(saved("c.csv", text))
    assert tree.codes == ("T", "a", "b")
    assert tree.parents == (-1, 0, 0)
    assert [tuple(tree.labels[code].values()) for code in tree.codes] == [("All",), ("A",), ("B",)]


@pytest.mark.parametrize("header", ["code,child,parent", "code", "id,parent,what"])
def test_headings_that_say_nothing_or_twice_are_an_error(saved, header):
    with pytest.raises(ClassificationError, match=r"header|not known|unknown"):
        Classification.read(
            saved("c.csv", f"{header}\n" + ",".join("abc"[: header.count(",") + 1]))
        )


@pytest.mark.parametrize("text", ["code;Bezeichnung\nm;Mann\n", "Key,label_de\nm,Mann\n"])
def test_a_list_of_codes_with_labels_is_flat(saved, text):
    tree = Classification.read(saved("sex.csv", text))
    assert (tree.codes, tree.parents, tree.labels["m"]["de"]) == (("Total", "m"), (-1, 0), "Mann")


def test_semicolons_and_several_highest_codes(saved):
    path = saved("v.csv", "child;parent;label_de\nN;;Nord\nN1;N;\nS;;\n")
    tree = Classification.read(path)
    assert tree.codes == ("Total", "N", "N1", "S")
    assert tree.label("N", "de") == "Nord"
    assert Classification.read(path, total="DE").codes == ("DE", "N", "N1", "S")


def test_hierarchies_of_r_packages_list_their_total(reference):
    folder = reference / "cellkey"
    age = Classification.read(folder / "A2_hier_age.csv.gz", name="age")
    assert age.codes[:6] == ("Total", "age_group1", "ag1a", "age_group2", "ag2a", "age_group3")
    assert age.parents[:6] == (-1, 0, 1, 0, 3, 0)
    assert len(age.notes) == 2
    other = reference / "sdctable" / "T3_hier_region.csv.gz"
    assert Classification.read(other).codes == ("Tot", "R1", "R2")
    assert Classification.read(other, total="Total").total == "Total"


def test_every_hierarchy_of_the_reference_data_is_read(reference):
    files = [*reference.glob("cellkey/*_hier_*"), *reference.glob("sdctable/*_hier_*")]
    assert len(files) > 20
    for file in files:
        rows = gzip.decompress(file.read_bytes()).decode().splitlines()[1:]
        tree = Classification.read(file)
        assert [
            f'"{"@" * (level + 1)}","{code}"'
            for code, level in zip(tree.codes, tree.levels, strict=True)
        ] == rows


# -- round trips --------------------------------------------------------------

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
LANGUAGES = st.dictionaries(st.sampled_from(["en", "de", "fr"]), TEXTS, max_size=3)


@st.composite
def classifications(draw):
    codes = draw(st.lists(TEXTS, unique=True, min_size=2, max_size=12))
    above = [draw(st.integers(0, at)) for at in range(len(codes) - 1)]
    parents = {code: codes[up] for code, up in zip(codes[1:], above, strict=True)}
    names = draw(st.lists(TEXTS, max_size=2))
    return Classification.from_parents(
        draw(TEXTS),
        parents,
        total=codes[0],
        labels={code: draw(LANGUAGES) for code in codes if draw(st.booleans())},
        titles=draw(LANGUAGES),
        column=draw(st.none() | TEXTS),
        missing=draw(TEXTS.filter(lambda code: code not in {codes[0], *parents.values()})),
        level_names=tuple(names),
        level_titles={name: draw(LANGUAGES) for name in names},
    )


def without_empty(labels):
    return {code: dict(texts) for code, texts in labels.items() if texts}


@given(classifications(), st.sampled_from(["json", "toml", "csv"]))
def test_any_classification_comes_back(tmp_path_factory, tree, suffix):
    path = tree.write(tmp_path_factory.mktemp("trip") / f"v.{suffix}")
    again = Classification.read(path)
    assert (again.codes, again.parents) == (tree.codes, tree.parents)
    assert without_empty(again.labels) == without_empty(tree.labels)
    if suffix != "csv":
        assert again.replace(labels={}) == tree.replace(labels={})


@given(
    st.lists(st.floats(-1e9, 1e9), unique=True, min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["json", "toml"]),
)
def test_bounds_come_back_to_the_last_bit(tmp_path_factory, bounds, open_first, suffix):
    tree = Classification.from_intervals("v", sorted(bounds), open_first=open_first)
    again = Classification.read(tree.write(tmp_path_factory.mktemp("trip") / f"v.{suffix}"))
    assert again == tree
    assert again.bounds[-1] == math.inf


# -- writing ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v.xlsx", "v.json.gz", "v"])
def test_other_suffixes_are_not_written(tmp_path, name):
    with pytest.raises(ClassificationError):
        REGION.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PublicationError, match="does not exist"):
        REGION.write(tmp_path / "none" / "region.json")


def test_texts_that_utf8_cannot_hold_leave_no_file(tmp_path):
    tree = Classification.flat("v", ["a\ud800"])
    for suffix in ("hrc", "json", "toml", "csv"):
        with pytest.raises(ClassificationError, match="cannot be written in UTF-8"):
            tree.write(tmp_path / f"v.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_zero_bytes_are_written_only_where_they_are_escaped(tmp_path):
    tree = Classification.flat("v", ["a\0"])
    for suffix in ("json", "toml"):
        assert Classification.read(tree.write(tmp_path / f"v.{suffix}")) == tree
    for suffix in ("csv", "hrc"):
        with pytest.raises(ClassificationError, match="zero byte"):
            tree.write(tmp_path / f"v.{suffix}")


def test_a_total_alone_has_no_csv_or_hierarchy(tmp_path):
    for suffix in ("csv", "hrc"):
        with pytest.raises(ClassificationError, match="no codes below the total"):
            Classification.flat("v", []).write(tmp_path / f"v.{suffix}")
