"""A census product from the receiver's structures: drafted, run, held against them, and sent."""

import dataclasses
import re
import tomllib
from collections import Counter
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from pysdmx.io import get_datasets
from pysdmx.io.xml.doc_validation import validate_doc
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import PublicationError
from discreet.publication import (
    DataStructure,
    ListedCode,
    SdmxNames,
    StructureDimension,
    check_lines,
    read_structures,
)
from discreet.release import transmit
from tests.helpers.census_structures import AGE, EDU, GEO, SEX, STAT, write_messages

GRID = "CRS3035RES1000mN280{}000E420{}000"


def persons(number: int = 3_000, shift: int = 0) -> pl.DataFrame:
    rows = pl.int_range(number, eager=True) + shift
    codes = {
        "place": ["M11", "M12", "M12", "M21", "M21", "M21", "XXZ"],
        "sex": ["M", "F", "F"],
        "edu": ["ED0-2", "ED3", "ED5", "ED3", "NAP"],
        "work": ["yes", "no"],
        "square": [GRID.format(n, e) for n in (0, 1) for e in (1, 2, 3)],
    }
    frame = {"id": rows, "age": (rows * 7) % 97, "weight": 1 + rows % 3}
    for at, (name, values) in enumerate(codes.items(), 2):
        frame[name] = pl.Series(values).gather((rows * rows // at) % len(values))
    return pl.DataFrame(frame)


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return re.sub(r"\s+", " ", done.output)


STATED = [
    *("--column", "GEO=place", "--column", "SEX=sex", "--column", "AGE=age", "--column", "EDU=edu"),
    *("--column", "GRID=square", "--squares", "GRID", "--constant", "TIME_PERIOD=2031"),
    *("--root", "GEO=XX", "--adjustment", "GEO=XXZ", "--national", "HC3"),
    *("--weight", "HC3=weight", "--figure", "STAT.T", "--id", "id"),
]
FIGURES = ["STAT.F=sex == 'F'", "STAT.Y_LT15=age < 15", "STAT.EMP=work == 'yes'"]
DRAFT = ["programme", "from-structure"]


def stated(folder: Path) -> list[object]:
    words: list[object] = [*STATED, "--records", folder / "persons.parquet"]
    words += [word for figure in FIGURES for word in ("--figure", figure)]
    return [*words, "--secret", folder / "secret.key", "--ptable", folder / "ptable.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Structures, records and parameters; and the product that one command made of them."""
    place = tmp_path_factory.mktemp("census")
    persons().write_parquet(place / "persons.parquet")
    dc.design_perturbation(max_noise=3, variance=2).write(place / "ptable.json")
    run("keys", "secret", place / "secret.key")
    words = [*DRAFT, *write_messages(place), *stated(place), "--out", place / "cubes"]
    period = ["--period", "2031", "--period-keys", "same"]
    run(*words, *period, "--send", place / "sent", code=2)
    assert not (place / "cubes").exists()
    printed = run(*words, *period, "--send", place / "sent", "--confidential")
    (place / "printed.txt").write_text(printed)
    return place


def lines(folder: Path, name: str, place: str = "sent") -> pl.DataFrame:
    return pl.read_csv(folder / place / f"{name}.CONFIDENTIAL.sdmx.csv", infer_schema=False)


AGES = list(AGE)[:4]
HOME = [code for code in GEO if not code.startswith("YY")]
REQUIRED = {
    "HC1": set(product(HOME, SEX, ["TOTAL"])),
    "HC2": set(product(["XX", "XX1", "XX2", "XXZ"], SEX, AGES)),
    "HC3": {
        ("XX", age, code)
        for age, code in product(AGES, EDU)
        if age != "Y_LT15" or code in ("T", "NAP")
    },
    "GRID1": set(product([*persons()["square"].unique(), "_T"], STAT)),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_exactly_the_required_cells_are_sent(folder: Path, name: str) -> None:
    found = lines(folder, name)
    structures = {one.name: one for one in read_structures(*write_messages(folder))}
    dimensions = [item.name for item in structures[name].dimensions]
    assert dimensions[-1] == "TIME_PERIOD"
    keys = Counter(row[:-1] for row in found.select(dimensions).iter_rows())
    assert set(keys) == REQUIRED[name]
    assert set(keys.values()) == {1}
    assert set(found["TIME_PERIOD"]) == {"2031"}
    assert set(found["STRUCTURE_ID"]) == {f"ESO:{name}(1.0)"}
    printed = (folder / "printed.txt").read_text()
    assert f"{name}: all {len(REQUIRED[name])} required cells" in printed


def test_only_what_is_sent_is_tabulated_where_a_level_can_say_so(folder: Path) -> None:
    table = pl.read_csv(folder / "cubes" / "release" / "HC2.csv", infer_schema=False)
    assert set(table["GEO_2"]) == {"XX", "XX1", "XX2", "XXZ"}
    national = pl.read_csv(folder / "cubes" / "release" / "HC3.csv", infer_schema=False)
    assert "GEO" not in national.columns
    assert ("15", "Y15T64") not in set(national.select("AGE", "EDU").iter_rows())
    names = SdmxNames.read(folder / "cubes" / "names.toml")
    assert (names.roots, names.national) == ({"GEO": "XX"}, ("HC3",))
    assert names.dimensions["MEASURE"] == "STAT"


def test_values_are_near_the_true_ones_and_equal_in_all_cubes(folder: Path) -> None:
    people = persons()
    one, two = lines(folder, "HC1"), lines(folder, "HC2")
    both = one.join(two, on=["GEO", "SEX", "AGE"])
    assert both.height == 12
    assert (both["OBS_VALUE"] == both["OBS_VALUE_right"]).all()
    women = two.filter(GEO="XX2", SEX="F", AGE="Y15T64")["OBS_VALUE"].cast(pl.Int64).item()
    there = people.filter(pl.col("age").is_between(15, 64), sex="F", place="M21").height
    assert abs(women - there) <= 3
    grid = lines(folder, "GRID1").filter(GRID="_T", STAT="EMP")["OBS_VALUE"].cast(pl.Int64).item()
    assert abs(grid - people.filter(work="yes").height) <= 3
    whole = lines(folder, "HC3").filter(AGE="TOTAL", EDU="T")["OBS_VALUE"].cast(pl.Float64).item()
    assert abs(whole - people["weight"].sum()) <= 3 * 3


def test_estimates_and_the_adjustment_category_are_marked(folder: Path) -> None:
    marked = lines(folder, "HC1").group_by("GEO").agg(pl.col("OBS_STATUS").unique())
    status = {geo: set(codes) for geo, codes in marked.iter_rows()}
    assert {geo for geo, codes in status.items() if codes == {"E"}} == {"XX", "XXZ"}
    assert status["M11"] == {"A"}
    assert set(lines(folder, "HC3")["OBS_STATUS"]) == {"E"}
    assert set(lines(folder, "GRID1")["OBS_STATUS"]) == {"A"}
    assert set(lines(folder, "HC2")["CONF_STATUS"]) == {"F"}
    (comment,) = set(lines(folder, "HC3")["COMMENT_DSET"])
    assert "Status E marks estimates." in comment


@pytest.mark.parametrize(("name", "version"), [("HC1", "2_1"), ("HC2", "2_1"), ("HC3", "3_0")])
def test_messages_are_valid_and_an_independent_reader_finds_the_cells(
    folder: Path, name: str, version: str
) -> None:
    place = folder / "sent" / f"{name}.CONFIDENTIAL.sdmx.xml"
    text = place.read_text("utf-8")
    assert f"schemas/v{version}/message" in text
    listed = lines(folder, name)
    if version == "2_1":
        (dataset,) = get_datasets(str(place), str(folder / "eso-2.1.xml"))
        assert dataset.short_urn == f"Dataflow=ESO:{name}(1.0)"
        keys = ["GEO", "SEX", "AGE", "OBS_STATUS", "CONF_STATUS"]
    else:
        (dataset,) = get_datasets(str(place))
        keys = ["GEO", "AGE", "EDU", "OBS_STATUS"]
    assert dataset.data[keys].to_numpy().tolist() == listed.select(keys).to_numpy().tolist()
    assert dataset.data["OBS_VALUE"].astype(float).tolist() == (
        listed["OBS_VALUE"].cast(pl.Float64).to_list()
    )


def test_the_structures_of_these_tests_are_sdmx(folder: Path) -> None:
    for file in ("eso-2.1.xml", "eso-3.0.xml"):
        validate_doc((folder / file).read_text("utf-8"))


def changed(folder: Path, tmp_path: Path, old: str, new: str, file: str = "eso-2.1.xml") -> Path:
    text = (folder / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path / file


CODE = '<s:Code id="F"><c:Name xml:lang="en">Label of F</c:Name>'
HIERARCHY = "<s:Hierarchies>"
OTHER = """<s:Hierarchies><s:Hierarchy id="G" agencyID="ESO"><s:HierarchicalCode id="a">
<s:Code>urn:sdmx:org.sdmx.infomodel.codelist.Code=ESO:CL_EDU(1.0).ED0-2</s:Code>
<s:HierarchicalCode id="b"><s:Code>urn:sdmx:org.sdmx.infomodel.codelist.Code=ESO:CL_EDU(1.0).ED3
</s:Code></s:HierarchicalCode></s:HierarchicalCode></s:Hierarchy>"""
WRONG = [
    ("eso-2.1.xml", CODE, CODE.replace('"F"', '"W"'), "CL_SEX occurs twice, with different codes"),
    ("eso-2.1.xml", '<Ref id="XX1"/>', '<Ref id="M11"/>', "CL_GEO: the hierarchy of codes has a"),
    ("eso-2.1.xml", '<s:Code id="Y1">', '<s:Code id="Y0">', "CL_AGE: a code occurs twice"),
    ("eso-3.0.xml", "ESO:CENSUS_EDU(1.0)", "ESO:LOST(1.0)", "HC3: structure LOST not found"),
    ("eso-3.0.xml", HIERARCHY, OTHER, "CL_EDU: hierarchies place ED3 differently"),
    ("eso-3.0.xml", "<s:Value>TOTAL</s:Value>", "<s:TimeRange/>", "a time range for AGE"),
    ("eso-3.0.xml", '<s:KeyValue id="EDU">', '<s:KeyValue id="SHOE">', "refers to SHOE, which its"),
    ("eso-3.0.xml", 'Measure id="OBS_VALUE"', 'Measure id="N"', "CENSUS_EDU has the measures N"),
    ("eso-3.0.xml", "<m:Structures>", "<m:Structures", "no data structure in this file"),
    ("grid.json", '"id": "CL_STAT", ', "", "code list CL_STAT not found"),
    ("grid.json", '"codes": [', '"codelistExtensions": [{"prefix": "X"}], "codes": [',
     "CL_STAT extends another code list"),
    ("grid.json", '"dataStructures"', '"others"', "GRID1: structure CGRID not found"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "what"), WRONG)
def test_structures_that_contradict_each_other_are_refused(
    folder: Path, tmp_path: Path, file: str, old: str, new: str, what: str
) -> None:
    wrong = changed(folder, tmp_path, old, new, file)
    files = [folder / other for other in ("eso-2.1.xml", "eso-3.0.xml", "grid.json")]
    others = [path for path in files if path.name != file]
    twice = files if "occurs twice, with" in what else others
    with pytest.raises(PublicationError, match=re.escape(what)) as refused:
        read_structures(*twice, wrong)
    assert refused.value.code == "structure"
    assert file in refused.value.where
    assert all(problem.hint for problem in refused.value.problems if "CL_" not in problem.what)


OPTIONS = [
    (["--root", "GEO=QQ"], ["--root", "GEO=XX"], "'GEO=QQ' is not in the structures"),
    (["--adjustment", "SEX=Q"], ["--adjustment", "GEO=XXZ"], "'SEX=Q' is not in the structures"),
    (["--national", "HC9"], ["--national", "HC3"], "'HC9' is not in the structures"),
    (["--weight", "HC9=w"], ["--weight", "HC3=weight"], "unknown structure 'HC9'"),
    (["--column", "EDU=edu", "--constant", "EDU=T"], ["--column", "EDU=edu"], "EDU must be either"),
    (
        ["--constant", "SHOE=1"],
        ["--constant", "TIME_PERIOD=2031"],
        "'SHOE' is not in the structures",
    ),
    (["--figure", "STAT"], ["--figure", "STAT.T"], "write DIMENSION.CODE=FILTER"),
    ([], ["--figure", "STAT.T"], "no figure for STAT.T"),
    ([], ["--root", "GEO=XX"], "national structures need a root"),
    (["--earlier", "old"], [], "add --period NAME"),
]


@pytest.mark.parametrize(("new", "old", "what"), OPTIONS)
def test_options_that_do_not_fit_the_structures_are_refused(
    folder: Path, tmp_path: Path, new: list[str], old: list[str], what: str
) -> None:
    words = " ".join(map(str, stated(folder)))
    assert " ".join(old) in words
    left = words.replace(" ".join(old), "").split()
    messages = [folder / file for file in ("eso-2.1.xml", "eso-3.0.xml", "grid.json")]
    figures = [word for word in stated(folder) if str(word).startswith("STAT.")]
    left = left[: left.index("--records")]
    tail = ["--records", folder / "persons.parquet", "--out", tmp_path / "cubes"]
    more = [word for figure in figures[1:] for word in ("--figure", figure)]
    assert what in run(*DRAFT, *messages, *left, *tail, *more, *new, code=2)
    assert not (tmp_path / "cubes").exists()


UNIT = '<s:Attribute id="CONF_STATUS" assignmentStatus="Conditional">'
NAMES = [
    ("eso-2.1.xml", UNIT, UNIT.replace("Conditional", "Mandatory").replace("CONF_STATUS", "UNIT"),
     "the attribute UNIT is required", 'add UNIT = "CODE" to [constant]'),
    ("eso-2.1.xml", '<s:Code id="E">', '<s:Code id="K">',
     "OBS_STATUS has no code 'E'", "map it in"),
    ("eso-2.1.xml", "<c:Value>Y15T64</c:Value>", "<c:Value>Y1</c:Value>",
     "12 of 48 required cells missing, such as GEO=XX", "tabulate"),
    ("eso-2.1.xml", '<s:Code id="M11">', '<s:Code id="M19">',
     "codes of GEO are not in CL_GEO", "map them"),
    ("eso-2.1.xml", 'id="HC2" agency', 'id="HC7" agency',
     "no structure of the receiver for ESO:HC2", "remove the table"),
    ("grid.json", '"id": "GRID"', '"id": "SQUARE"', "has no dimension GRID", "rename it"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "what", "hint"), NAMES)
def test_what_a_receiver_requires_and_a_release_lacks_is_refused(
    folder: Path, tmp_path: Path, file: str, old: str, new: str, what: str, hint: str
) -> None:
    """Nothing is written then."""
    wrong = changed(folder, tmp_path, old, new, file)
    names = SdmxNames.read(folder / "cubes" / "names.toml")
    messages = [str(wrong) if file in other else other for other in names.messages]
    cubes = folder / "cubes"
    with pytest.raises(PublicationError, match=re.escape(what)) as refused:
        transmit(
            cubes / "programme.toml",
            cubes / "release",
            tmp_path / "out",
            names=dataclasses.replace(names, messages=tuple(messages)),
        )
    assert refused.value.code == "structure"
    assert any(hint in problem.hint for problem in refused.value.problems)
    assert not (tmp_path / "out").exists()


def test_names_and_constants_fit_what_is_sent_to_the_receiver(folder: Path, tmp_path: Path) -> None:
    names = _messages(
        folder,
        tmp_path,
        (UNIT, UNIT.replace("Conditional", "Mandatory").replace("CONF_STATUS", "UNIT")),
        ('<s:Code id="E">', '<s:Code id="P">'),
        ('Attribute id="OBS_STATUS"', 'Attribute id="FLAG"'),
        ('{"id": "OBS_STATUS"', '{"id": "FLAG"'),
    )
    fitted = dataclasses.replace(
        names,
        constant={**names.constant, "UNIT": "F"},
        dimensions={**names.dimensions, "OBS_STATUS": "FLAG"},
        codes={**names.codes, "OBS_STATUS": {"E": "P"}},
    )
    cubes = folder / "cubes"
    transmit(cubes / "programme.toml", cubes / "release", tmp_path / "out", names=fitted)
    one, three = lines(tmp_path, "HC1", "out"), lines(tmp_path, "HC3", "out")
    assert set(one["UNIT"]) == {"F"}
    assert "UNIT" not in three.columns
    assert set(one["FLAG"]) == {"A", "P"}
    assert {"OBS_STATUS", "CONF_STATUS"}.isdisjoint(one.columns)
    message = (tmp_path / "out" / "HC1.CONFIDENTIAL.sdmx.xml").read_text("utf-8")
    assert message.count(' FLAG="P"') == one.filter(FLAG="P").height > 0
    lost = dataclasses.replace(fitted, constant={**fitted.constant, "SHOE": "1"})
    with pytest.raises(PublicationError, match="'SHOE' is not in the structures"):
        transmit(cubes / "programme.toml", cubes / "release", tmp_path / "other", names=lost)
    with pytest.raises(PublicationError, match="names refer to missing structures"):
        SdmxNames(roots={"GEO": "XX"})


def _messages(folder: Path, out: Path, *edits: tuple[str, str]) -> SdmxNames:
    """Names with messages of the receiver in which texts are replaced."""
    names = SdmxNames.read(folder / "cubes" / "names.toml")
    for file in map(Path, names.messages):
        text = file.read_text("utf-8")
        for old, new in edits:
            text = text.replace(old, new)
        (out / file.name).write_text(text, encoding="utf-8")
    messages = tuple(str(out / Path(file).name) for file in names.messages)
    return dataclasses.replace(names, messages=messages)


GROUP = """</s:DimensionList><s:Group id="Area"><s:GroupDimension><s:DimensionReference>
<Ref id="GEO"/></s:DimensionReference></s:GroupDimension></s:Group>"""
MEASURED = '<s:PrimaryMeasure><Ref id="OBS_VALUE"/></s:PrimaryMeasure>'


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of the reader
def test_attributes_of_groups_are_said_once_per_group(folder: Path, tmp_path: Path) -> None:
    original = (folder / "eso-2.1.xml").read_text("utf-8")
    (block,) = re.findall(r'<s:Attribute id="CONF_STATUS".*?</s:Attribute>', original)
    of_group = block.replace("CONF_STATUS", "UNIT", 1).replace(
        MEASURED, '<s:Group><Ref id="Area"/></s:Group>'
    )
    names = _messages(folder, tmp_path, (block, of_group), ("</s:DimensionList>", GROUP))
    names = dataclasses.replace(names, constant={**names.constant, "UNIT": "F"})
    validate_doc((tmp_path / "eso-2.1.xml").read_text("utf-8"))
    cubes = folder / "cubes"
    transmit(cubes / "programme.toml", cubes / "release", tmp_path / "out", names=names)
    place = tmp_path / "out" / "HC2.CONFIDENTIAL.sdmx.xml"
    text = place.read_text("utf-8")
    groups = re.findall(r'<Group xsi:type="own:Area" GEO="(\w+)" UNIT="F"/>', text)
    assert sorted(groups) == ["XX", "XX1", "XX2", "XXZ"]
    assert 'UNIT="F"' not in text.partition("<Series ")[2]
    validate_doc(text)
    (dataset,) = get_datasets(str(place), str(tmp_path / "eso-2.1.xml"))
    assert set(dataset.data["UNIT"]) == {"F"}
    assert len(dataset.data) == len(lines(tmp_path, "HC2", "out"))


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        ("<c:StartPeriod>2030</c:StartPeriod><c:EndPeriod>2031-12</c:EndPeriod>", True),
        ('<c:AfterPeriod isInclusive="false">2031</c:AfterPeriod>', False),
        ('<c:BeforePeriod isInclusive="true">2031-06</c:BeforePeriod>', False),
        ("facet", False),
    ],
)
def test_ranges_of_periods_hold(folder: Path, tmp_path: Path, limits: str, sent: bool) -> None:
    """In a constraint, or of the dimension of time itself."""
    edit = ('<c:KeyValue id="AGE">', f'<c:KeyValue id="TIME_PERIOD"><c:TimeRange>{limits}'
            '</c:TimeRange></c:KeyValue><c:KeyValue id="AGE">')  # fmt: skip
    if limits == "facet":
        original = (folder / "eso-2.1.xml").read_text("utf-8")
        (block,) = re.findall(r"<s:TimeDimension.*?</s:TimeDimension>", original)
        edit = block, block.replace("/></s:LocalRep", ' endTime="2030"/></s:LocalRep')
    names = _messages(folder, tmp_path, edit)
    call = [folder / "cubes/programme.toml", folder / "cubes/release", tmp_path / "out"]
    if sent:
        transmit(*call, names=names)
        assert len(lines(tmp_path, "HC2", "out")) == len(lines(folder, "HC2"))
        return
    with pytest.raises(PublicationError, match="no cell lies within the constraints"):
        transmit(*call, names=names)
    assert not (tmp_path / "out").exists()


def test_confidential_values_need_their_status() -> None:
    sex = StructureDimension(name="SEX", titles={}, codelist="CL", codes=(ListedCode("M"),))
    cube = DataStructure(agency="X", name="C", version="1.0", titles={}, dimensions=(sex,))
    lines = pl.DataFrame({"SEX": ["M"], "OBS_VALUE": ["7"], "CONF_STATUS": ["A"]})
    (problem,) = check_lines(cube, [lines]).problems
    assert problem.what == "confidential values need the attribute CONF_STATUS"
    assert not check_lines(cube, [lines.with_columns(CONF_STATUS=pl.lit("F"))]).problems


@pytest.mark.parametrize(
    ("include", "left"), [("true", {"M"}), ("false", {"T", "F"})], ids=["allowed", "excluded"]
)
def test_key_sets_and_cascades_of_constraints_are_read(
    folder: Path, tmp_path: Path, include: str, left: set[str]
) -> None:
    old = '<s:CubeRegion include="true"><c:KeyValue id="AGE"><c:Value>TOTAL</c:Value></c:KeyValue>'
    key = '<c:KeyValue id="SEX"><c:Value>M</c:Value></c:KeyValue>'
    keys = f'<s:DataKeySet isIncluded="{include}"><s:Key>{key}</s:Key></s:DataKeySet>{old}'
    area = '<c:KeyValue id="GEO"><c:Value cascadeValues="excluderoot">XX1</c:Value></c:KeyValue>'
    if include == "true":
        keys = keys.replace("</s:DataKeySet>" + old, f"</s:DataKeySet>{old}{area}")
    path = changed(folder, tmp_path, old, keys)
    cube = next(one for one in read_structures(path) if one.name == "HC1").within(SdmxNames())
    rows = list(product(GEO, SEX, ["TOTAL"]))
    frame = pl.DataFrame(rows, schema=["GEO", "SEX", "AGE"], orient="row")
    sent = frame.with_columns(TIME_PERIOD=pl.lit("1"), OBS_VALUE=pl.lit("1")).filter(cube.allowed())
    if include == "false":
        assert set(sent["SEX"]) == left
    else:  # one region or the other
        assert set(sent.filter(~pl.col("GEO").is_in(["M11", "M12"]))["SEX"]) == left
        assert sent.filter(pl.col("GEO") == "M11").height == len(SEX)


def test_a_later_reference_date_comes_with_the_attack_on_both(folder: Path, tmp_path: Path) -> None:
    persons(2_900, shift=100).write_parquet(tmp_path / "persons.parquet")
    words = [str(word) for word in stated(folder)]
    words[words.index("--records") + 1] = str(tmp_path / "persons.parquet")
    words[words.index("TIME_PERIOD=2031")] = "TIME_PERIOD=2032"
    messages = [folder / file for file in ("eso-2.1.xml", "eso-3.0.xml", "grid.json")]
    words += ["--out", str(tmp_path / "cubes"), "--send", str(tmp_path / "sent"), "--confidential"]
    period = ["--period", "2032", "--earlier", str(folder / "cubes" / "release")]
    printed = run(*DRAFT, *messages, *words, *period)
    found = re.search(r"Attack on 2031, 2032 together: in ([0-9,]+) cells", printed)
    assert found is not None
    assert int(found[1].replace(",", "")) > 0
    assert set(lines(tmp_path, "HC1")["TIME_PERIOD"]) == {"2032"}
    programme = tomllib.loads((tmp_path / "cubes" / "programme.toml").read_text("utf-8"))
    assert (tmp_path / "cubes" / programme["period"]["earlier"][0]).resolve() == (
        folder / "cubes" / "release"
    ).resolve()
    assert programme["period"]["keys"] == "same"


def test_a_cube_of_many_cells_is_compared_in_pieces() -> None:
    def dimension(name: str, number: int) -> StructureDimension:
        codes = tuple(ListedCode(f"{name}{at}") for at in range(number))
        return StructureDimension(name=name, titles={}, codelist=f"CL_{name}", codes=codes)

    one, two = dimension("A", 1_100), dimension("B", 1_000)
    cube = DataStructure(agency="X", name="C", version="1.0", titles={}, dimensions=(one, two))
    codes = [pl.DataFrame({item.name: [c.code for c in item.codes]}) for item in (one, two)]
    cells = codes[0].join(codes[1], how="cross").with_columns(OBS_VALUE=pl.lit("1"))
    lost = (pl.col("A") == "A1090") & (pl.col("B") == "B7")
    found = check_lines(cube, [cells[:700_000], cells[700_000:].filter(~lost)])
    assert (found.required, found.missing, found.left_out) == (1_100_000, 1, 0)
    assert found.problems[0].what.endswith("such as A=A1090 B=B7")
