"""Hierarchy and label files of τ-ARGUS."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import ClassificationError


@pytest.fixture
def hrc(tmp_path):
    def write(text, name="region.hrc"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_the_sample_hierarchy_of_dutch_provinces(reference):
    argus = reference / "argus"
    region = Classification.read(
        argus / "region2.hrc", name="Region", codelist=argus / "region.cdl"
    )
    assert region.codes == (
        *("Total", "Nr", "1", "2", "3", "Os", "4", "5", "6", "7"),
        *("Ws", "8", "9", "10", "Zd", "11", "12"),
    )
    assert region.label("1") == "Groningen"
    assert region.label("Zd") == "South"


def test_codes_of_fixed_width_data_keep_their_leading_blank(reference):
    argus = reference / "argus"
    region = Classification.read(
        argus / "region2.hrc", strip=False, codelist=argus / "region.cdl", language="nl"
    )
    assert region.children("Nr") == (" 1", " 2", " 3")
    assert region.children("Os") == (" 4", " 5", " 6", " 7")
    assert region.label(" 1", "nl") == "Groningen"


def test_every_sample_hierarchy_is_read_and_written_again(reference, tmp_path):
    files = sorted((reference / "argus").rglob("*.hrc"))
    assert len(files) == 6
    for file in files:
        tree = Classification.read(file, name="v")
        again = Classification.read(tree.write(tmp_path / "again.hrc"), name="v")
        assert again == tree
        lines = [line.replace(" ", "") for line in file.read_text().split("\n") if line.strip()]
        assert (tmp_path / "again.hrc").read_text().split("\n")[:-1] == lines


@pytest.mark.parametrize("lead", ["@", ".", "..", "*", "\t"])
def test_the_lead_string_is_recognised_or_named(hrc, lead):
    path = hrc(f"N\n{lead}N1\n{lead}{lead}N11\nS\n")
    tree = Classification.read(path, lead=None if len(lead) == 1 else lead)
    assert tree.codes == ("Total", "N", "N1", "N11", "S")
    assert tree.parents == (-1, 0, 1, 2, 0)


def test_comments_blank_lines_and_line_ends_of_all_systems(hrc):
    path = hrc("\ufeff// regions\r\nN // north\r\n\r\n@N1\r\n\\\\ none\r\nS\r\n")
    assert Classification.read(path).codes == ("Total", "N", "N1", "S")


def test_the_name_is_that_of_the_file_and_the_total_can_be_named(hrc):
    tree = Classification.read(hrc("N\nS\n", "place.hrc"), total="DE", column="ort")
    assert (tree.name, tree.total, tree.source) == ("place", "DE", "ort")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N\n@@N1\n", "region.hrc, line 2: code 'N1' is 2 levels below the line before"),
        ("@N\n", "region.hrc, line 1: code 'N' is 2 levels below"),
        ("N\n@\nS\n", "region.hrc, line 2: the line lacks a code"),
        ("N\n@1\nS\n@1\n", r"line 4: code '1' has two parents, 'S' and 'N' .*line 3|line 4"),
        ("N\n@1\n@ 1\n", r"line 3: code '1' is listed twice \(first in region.hrc, line 2\)"),
        ("Total\n@N\n", "region.hrc, line 1: code 'Total' clashes with the total"),
        (".N\n.S\n", "the lead string is ambiguous: lines start with"),
        ("N\n.1\n*2\n", "the lead string is ambiguous: lines start with"),
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ('{"codes": ["m"]}', "not a hierarchy file"),
        ('name = "region"\ncodes = ["m"]', "not a hierarchy file"),
        ('"level","name"\n"@","Total"\n', "not a hierarchy file"),
        ("child,parent\nN,\n", "not a hierarchy file"),
        (b"PK\x03\x04\x00\xff", "Excel workbook"),
        (b"PAR1\x15\x00\xff", "Parquet file"),
        (b"\xff\xfeN\x00", "a text in UTF-16"),
        (b"N\x00\x01", "it contains zero bytes"),
    ],
)
def test_a_broken_file_is_an_error_with_line_and_code(hrc, text, message):
    with pytest.raises(ClassificationError, match=message):
        Classification.read(hrc(text))


def test_all_broken_lines_are_listed(hrc):
    with pytest.raises(ClassificationError) as error:
        Classification.read(hrc("N\n@@N1\n@\nS\n@@S1\n"))
    assert [problem.where for problem in error.value.problems] == [
        "region.hrc, line 2",
        "region.hrc, line 3",
        "region.hrc, line 5",
    ]


def test_another_encoding_is_named_by_byte_and_offered(hrc):
    path = hrc("N\n@Köln\n".encode("cp1252"))
    with pytest.raises(ClassificationError, match="byte 0xf6 at position 4 is not utf-8") as error:
        Classification.read(path)
    assert error.value.where == "region.hrc, line 2"
    assert 'encoding="cp1252"' in error.value.hint
    assert Classification.read(path, encoding="cp1252").leaves == ("Köln",)
    utf16 = hrc("N\n@Köln\n".encode("utf-16"))
    assert Classification.read(utf16, encoding="utf-16").leaves == ("Köln",)
    with pytest.raises(ClassificationError, match="unknown encoding 'klingon'"):
        Classification.read(hrc("N\n"), encoding="klingon")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N,North\nX,Nowhere\n", "region.cdl, line 2: code 'X' is not in the classification"),
        ("N\n", "region.cdl, line 1: the label is missing"),
        ("N,\n", "region.cdl, line 1: the label is missing"),
        ("N,North\nN,Noord\n", "region.cdl, line 2: code 'N' has two labels"),
    ],
)
def test_a_broken_label_file_is_an_error_with_line_and_code(hrc, text, message):
    labels = hrc(text, "region.cdl")
    with pytest.raises(ClassificationError, match=message):
        Classification.read(hrc("N\nS\n"), codelist=labels)


def test_labels_may_have_commas_and_quotes_and_name_the_missing_category(hrc):
    labels = hrc('N,"North, or so"\n99,not known\n', "region.cdl")
    tree = Classification.read(hrc("N\nS\n"), codelist=labels, missing="99")
    assert tree.label("N") == "North, or so"
    assert tree.with_missing().label("99") == "not known"


def test_labels_are_written_in_one_language(tmp_path):
    texts = {"m": {"en": "male", "de": "männlich"}, "w": {"en": "female"}}
    sex = Classification.flat("sex", ["m", "w", "x"], labels=texts)
    path = sex.write(tmp_path / "sex.cdl", language="en")
    assert path.read_text() == "m,male\nw,female\n"
    again = Classification.read(sex.write(tmp_path / "sex.hrc"), codelist=path)
    assert again.label("w") == "female"
    with pytest.raises(ClassificationError, match="no labels in language 'fr'"):
        sex.write(tmp_path / "sex.cdl", language="fr")


@pytest.mark.parametrize("code", ["@1", ".5", "a//b", "a\\\\b", "1 ", "a\nb", " "])
def test_codes_that_would_not_come_back_are_not_written(tmp_path, code):
    with pytest.raises(ClassificationError, match="code"):
        Classification.flat("v", ["fine", code]).write(tmp_path / "v.hrc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", ['{"a"', "child,parent", "level;name", 'x = "1"'])
def test_a_first_code_that_would_be_taken_for_another_format_is_not_written(tmp_path, code):
    with pytest.raises(ClassificationError, match="looks like the start of another format"):
        Classification.flat("v", [code]).write(tmp_path / "v.hrc")


def test_a_code_that_starts_with_the_lead_string_can_be_written_with_another(tmp_path):
    tree = Classification.flat("v", ["a", "@1"])
    path = tree.write(tmp_path / "v.hrc", lead="#")
    assert Classification.read(path, lead="#") == tree
    for lead in ("", " ", "//"):
        with pytest.raises(ClassificationError, match="invalid lead string"):
            tree.write(path, lead=lead)


CODES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@given(st.lists(CODES, unique=True, min_size=1, max_size=20), st.data())
def test_what_is_written_comes_back_the_same(tmp_path_factory, codes, data):
    above = [data.draw(st.integers(-1, at - 1)) for at in range(len(codes))]
    parents = {code: None if up < 0 else codes[up] for code, up in zip(codes, above, strict=True)}
    tree = Classification.from_parents("v", parents, total="all of them")
    path = tmp_path_factory.mktemp("trip") / "v.hrc"
    try:
        tree.write(path)
    except ClassificationError:
        assert any(
            code != code.rstrip()
            or len(code.splitlines()) != 1
            or any(mark in code for mark in ("@", "//", "\\\\", "\0"))
            or (tree.depth == 1 and code[0] in ".#*>~$&\t")
            for code in codes
        )
    else:
        assert Classification.read(path, total="all of them", strip=False) == tree
