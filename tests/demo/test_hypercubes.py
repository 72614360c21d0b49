"""Hypercubes from a structure message: drafted, made, sent, and read by an independent reader."""

import tomllib

import polars as pl
import pytest
from pysdmx.io import read_sdmx

from discreet.demo.census import write_census, write_programme
from discreet.demo.hypercubes import write_hypercubes
from discreet.errors import PublicationError
from discreet.publication.data_structures import (
    DataStructure,
    ListedCode,
    SdmxNames,
    StructureDimension,
    read_structures,
)
from discreet.release import check_release, protect, transmit
from discreet.release.structure_programmes import StructureDraft, code_tree
from tests.helpers.command import run

CUBES = ("HC_AGE", "HC_MARITAL", "HC_EDUCATION", "HC_GRID")


@pytest.fixture(scope="module")
def cubes(tmp_path_factory):
    """The hypercubes of a small census, released and sent."""
    place = tmp_path_factory.mktemp("census")
    write_census(place, persons=1_000)
    write_programme(place)
    programme = write_hypercubes(place)
    protect(programme, place / "release")
    names = SdmxNames.read(programme.parent / "names.toml")
    transmit(programme, place / "release", place / "sent", names=names)
    return place


def sent(place, name):
    return pl.read_csv(place / "sent" / f"{name}.CONFIDENTIAL.sdmx.csv", infer_schema=False)


def test_the_draft_is_a_programme_of_all_cubes(cubes):
    text = (cubes / "hypercubes" / "programme.toml").read_text("utf-8")
    programme = tomllib.loads(text)
    assert list(programme["tables"]) == list(CUBES)
    assert programme["variables"]["GRID"] == {"squares": [1000], "column": "square"}
    assert programme["tables"]["HC_EDUCATION"]["by"] == ["SEX", "AGE", "EDU"]
    names = tomllib.loads((cubes / "hypercubes" / "names.toml").read_text("utf-8"))
    assert names["constant"] == {"TIME_PERIOD": "2021"}


@pytest.mark.parametrize("name", CUBES)
def test_what_is_sent_has_the_codes_of_its_structure(cubes, name):
    structures = {s.name: s for s in read_structures(cubes / "hypercubes" / "structures.xml")}
    (dataset,) = read_sdmx(str(cubes / "sent" / f"{name}.CONFIDENTIAL.sdmx.csv")).data
    assert dataset.short_urn == f"Dataflow=DISCREET:{name}(1.0)"
    for each in structures[name].dimensions:
        found = set(dataset.data[each.name])
        if each.codelist:
            assert found <= {code.code for code in each.codes}
            assert "_T" in found
        elif each.name == "GRID":
            assert all(code == "_T" or code.startswith("CRS3035RES1000m") for code in found)
        else:
            assert found == {"2021"}


def test_figures_that_two_cubes_share_are_the_same(cubes):
    ages = sent(cubes, "HC_AGE").filter(pl.col("AGE") == "_T")
    marital = sent(cubes, "HC_MARITAL").filter(pl.col("LMS") == "_T")
    both = ages.join(marital, on=["GEO", "SEX"])
    assert len(both) == len(ages) > 30
    assert (both["OBS_VALUE"] == both["OBS_VALUE_right"]).all()
    whole = sent(cubes, "HC_GRID").filter(pl.all_horizontal(pl.col("GRID", "SEX") == "_T"))
    assert abs(int(whole["OBS_VALUE"][0]) - 1_000) < 20


def test_structures_of_sdmx_json_and_of_3_0_are_read(tmp_path):
    urn = "urn:sdmx:org.sdmx.infomodel."
    text = """{"data": {"codelists": [{"id": "CL_SEX", "codes": [{"id": "_T", "name": "All"},
      {"id": "M", "parent": "_T", "names": {"en": "male", "de": "männlich"}}]}],
      "conceptSchemes": [{"id": "CS", "concepts": [{"id": "SEX", "name": "Sex"}]}],
      "dataStructures": [{"id": "T", "agencyID": "X", "version": "1.0", "name": "Titel",
      "dataStructureComponents": {"dimensionList": {"dimensions": [{"id": "SEX",
      "conceptIdentity": "URNconceptscheme.Concept=X:CS(1.0).SEX",
      "localRepresentation": {"enumeration": "URNcodelist.Codelist=X:CL_SEX(1.0)"}}],
      "timeDimensions": [{"id": "TIME_PERIOD"}]}}}]}}""".replace("URN", urn)
    (tmp_path / "s.json").write_text(text, encoding="utf-8")
    (found,) = read_structures(tmp_path / "s.json")
    sex, period = found.dimensions
    assert (found.period, period.name) == ("TIME_PERIOD", "TIME_PERIOD")
    assert sex.titles == {"en": "Sex"}
    assert sex.codes[1] == ListedCode("M", "_T", {"en": "male", "de": "männlich"})
    schema = "http://www.sdmx.org/resources/sdmxml/schemas/v3_0"
    text = f"""<m:Structure xmlns:m="{schema}/message" xmlns:s="{schema}/structure"
      xmlns:c="{schema}/common"><m:Structures><s:Codelists><s:Codelist id="CL_SEX" agencyID="X">
      <s:Code id="M"><c:Name xml:lang="en">male</c:Name><s:Parent>T</s:Parent></s:Code>
      <s:Code id="T"/></s:Codelist></s:Codelists><s:DataStructures><s:DataStructure id="T"
      agencyID="X" version="2.0.0"><s:DataStructureComponents><s:DimensionList><s:Dimension
      id="SEX"><s:ConceptIdentity>{urn}conceptscheme.Concept=X:CS(1.0).SEX</s:ConceptIdentity>
      <s:LocalRepresentation><s:Enumeration>{urn}codelist.Codelist=X:CL_SEX(1.0)</s:Enumeration>
      </s:LocalRepresentation></s:Dimension></s:DimensionList></s:DataStructureComponents>
      </s:DataStructure></s:DataStructures></m:Structures></m:Structure>"""
    (tmp_path / "s.xml").write_text(text, encoding="utf-8")
    (found,) = read_structures(tmp_path / "s.xml")
    assert found.version == "2.0.0"
    assert [(code.code, code.above) for code in found.dimensions[0].codes] == [
        ("T", ""),
        ("M", "T"),
    ]


def test_dimensions_that_nobody_tells_and_lists_without_total_are_refused(cubes, tmp_path):
    message = cubes / "hypercubes" / "structures.xml"
    with pytest.raises(PublicationError, match="6 dimensions are missing"):
        StructureDraft.of(message, columns={"SEX": "sex"})
    columns = {name: name for name in ("GEO", "GRID", "SEX", "AGE", "LMS", "EDU", "SHOE")}
    told = {"constant": {"TIME_PERIOD": "2021"}, "squares": ["GRID"]}
    with pytest.raises(PublicationError, match="unknown dimension 'SHOE'"):
        StructureDraft.of(message, columns=columns, **told)
    codes = (ListedCode("A"), ListedCode("B"))
    two = StructureDimension(name="X", titles={}, codelist="CL_X", codes=codes)
    with pytest.raises(PublicationError, match="has several top codes and no total"):
        code_tree(two, "X", "x")
    lost = DataStructure(agency="X", name="Y", version="1", titles={}, dimensions=(two,))
    assert lost.reference == "X:Y(1)"
    text = message.read_text("utf-8").replace(
        '<Ref agencyID="DISCREET" id="CL_EDU"', '<Ref id="CL_NO"'
    )
    (tmp_path / "s.xml").write_text(text, encoding="utf-8")
    with pytest.raises(PublicationError, match="code list CL_NO not found"):
        read_structures(tmp_path / "s.xml")


def test_the_command_drafts_the_same_programme(cubes, monkeypatch):
    monkeypatch.chdir(cubes)
    columns = {"GEO": "municipality", "GRID": "square", "SEX": "sex", "AGE": "age"}
    columns |= {"LMS": "marital_status", "EDU": "education"}
    words = ["programme", "from-structure", "hypercubes/structures.xml", "--out", "again"]
    words += ["--records", "hypercubes/persons.parquet", "--constant", "TIME_PERIOD=2021"]
    words += ["--squares", "GRID", "--read", "recode.sex.m=M", "--read", "recode.sex.w=F"]
    for name, column in columns.items():
        words += ["--column", f"{name}={column}"]
    assert run(*words).exit_code == 2
    told = run(*words, "--id", "person_id")
    assert told.exit_code == 0, told.output
    assert "HC_EDUCATION: SEX × AGE × EDU" in told.output
    made, given = (
        tomllib.loads((cubes / folder / "programme.toml").read_text("utf-8"))
        for folder in ("again", "hypercubes")
    )
    assert (made["tables"], made["variables"]) == (given["tables"], given["variables"])
    check_release(cubes / "again" / "programme.toml")
