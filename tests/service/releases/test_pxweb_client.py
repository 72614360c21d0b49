"""Clients of PxWeb read released tables unchanged: `pxwebpy` over a running server."""

import io

import httpx
import polars as pl
import pytest
from pxweb import PxApi

from discreet.publication.description import printed_notes
from tests.helpers.rows import for_all_rows

PEOPLE, AGES, DWELLINGS = (
    f"census-2026.{name}" for name in ("population", "legal_ages", "dwellings")
)


@pytest.fixture(scope="module")
def api(server):
    return PxApi(f"{server}/pxapi/v2", language="en", timeout=120)


def get(server, path, **params):
    return httpx.get(f"{server}/pxapi/v2{path}", params=params)


def test_the_client_finds_tables(api):
    assert api.number_of_tables == 3
    assert {each["id"] for each in api.all_tables()} == {PEOPLE, AGES, DWELLINGS}
    assert [each["id"] for each in api.search("dwellings region")["tables"]] == [DWELLINGS]
    assert api.search(past_days=1)["tables"] == []
    assert api.get_paths() == [{"id": "census-2026", "label": "Census (synthetic)"}]
    assert api.get_config()["maxDataCells"] == 10_000


def test_the_client_reads_every_cell(api, served):
    for name in (PEOPLE, DWELLINGS):
        table = served.releases.table(name)
        rows = api.get_table_data_all(name, show="code")
        assert len(rows) == table.grid_size
        names = {each.title("en"): each.name for each in table.dimensions}
        for row in rows:
            codes = [row[title] for title in names]
            assert row["value"] == table.get(*codes), codes


def test_the_client_selects(api, served):
    table = served.releases.table(PEOPLE)
    region = table.dimensions[0]
    below = region.codes[1]
    rows = api.get_table_data(
        PEOPLE, value_codes={"region": [f"{below[:2]}*"], "sex": ["w"]}, show="code"
    )
    codes = [code for code in region.codes if code.startswith(below[:2])]
    assert [row["value"] for row in rows] == [table.get(code, "w") for code in codes]
    whole = api.get_table_data(PEOPLE, value_codes={"sex": ["m"]}, show="code")
    assert [row["value"] for row in whole] == [table.get("Total", "m")]


def test_lists_of_codes_are_levels_and_add_nothing_up(api, served):
    table = served.releases.table(PEOPLE)
    variables = api.get_table_metadata(PEOPLE)["dimension"]
    lists = variables["region"]["extension"]["codelists"]
    assert len(lists) == table.dimensions[0].classifications[0].depth
    found = api.get_code_list(lists[0]["id"])
    assert all(each["valueMap"] == [each["code"]] for each in found["values"])
    rows = api.get_table_data(
        PEOPLE,
        value_codes={"region": ["*"], "sex": ["w"]},
        code_list={"region": lists[0]["id"]},
        show="code",
    )
    assert [row["value"] for row in rows] == [
        table.get(each["code"], "w") for each in found["values"]
    ]


def test_hidden_cells_are_no_zeros(api, served):
    """A client that adds up meets nothing instead of a number."""
    table = served.releases.table(AGES)
    frame = table.to_polars(complete=True)
    assert frame.filter(pl.col("status") == "suppressed").height > 0
    rows = api.get_table_data_all(AGES, show="code")
    hidden = [row for row in rows if row["value"] is None]
    assert len(hidden) == frame["value"].null_count()
    with pytest.raises(TypeError):
        sum(row["value"] for row in rows)


def test_states_notes_and_signs_arrive(server, served):
    table = served.releases.table(AGES)
    body = get(server, f"/tables/{AGES}/data", **{"valueCodes[age]": "*", "valueCodes[sex]": "*"})
    data = body.json()
    frame = table.to_polars(complete=True)
    hidden = [str(at) for at, each in enumerate(frame["status"]) if each == "suppressed"]
    assert [at for at, sign in data["status"].items() if sign == "."] == hidden
    assert data["extension"]["discreet"]["status"]["."] == "value unknown or secret"
    assert data["note"] == [note.text("en") for note in printed_notes(table)]
    assert set(data["extension"]["noteMandatory"].values()) == {True}
    assert data["extension"]["px"]["aggregallowed"] is False
    german = get(server, f"/tables/{AGES}/data", lang="de").json()
    assert german["note"] == [note.text("de") for note in printed_notes(table)]
    told = get(server, f"/tables/{DWELLINGS}/metadata").json()["dimension"]["figure"]
    assert told["category"]["note"] == {"vacancy": ["Being modernised counts as vacant."]}
    assert told["category"]["unit"]["area"] == {"base": "m²", "decimals": 1}
    assert told["extension"]["elimination"] is False


@for_all_rows(
    ("form", "part"),
    [
        *(("csv", True), ("px", True), ("px", False), ("xlsx", True), ("html", True)),
        *(("parquet", False), ("json-px", True)),
    ],
)
def test_every_format_is_given(server, served, form, part):
    params = {"valueCodes[age]": "top(4)" if part else "*", "valueCodes[sex]": "w,m,Total"}
    found = get(server, f"/tables/{AGES}/data", outputFormat=form, **params)
    assert found.status_code == 200, found.text
    table = served.releases.table(AGES)
    ages = table.dimensions[0].codes[: 4 if part else None]
    hidden = sum(table.get(age, sex) is None for age in ages for sex in ("Total", "m", "w"))
    if form == "csv":
        text = found.text.splitlines()
        assert text[0] == f'"Age","Sex","{table.title("en")}"' or text[0].startswith('"Age"')
        assert len(text) == 1 + 3 * len(ages)
        assert sum(line.endswith(',"."') for line in text) == hidden
    elif form == "px":
        assert found.text.count('"."') >= hidden
        assert ("ELIMINATION" in found.text) is not part
    elif form == "parquet":
        frame = pl.read_parquet(io.BytesIO(found.content))
        assert frame.height == 3 * len(ages)
        assert frame["value"].null_count() == hidden
    elif form == "json-px":
        cells = found.json()["data"]
        assert len(cells) == 3 * len(ages)
        assert sum(each["values"] == ["."] for each in cells) == hidden


def test_variables_are_placed(server, served):
    found = get(
        server,
        f"/tables/{PEOPLE}/data",
        outputFormat="csv",
        outputFormatParams="UseCodes,SeparatorSemicolon,IncludeTitle",
        heading="sex",
        **{"valueCodes[region]": "top(2)", "valueCodes[sex]": "m,w"},
    ).text.splitlines()
    table = served.releases.table(PEOPLE)
    assert found[0] == f'"{table.title("en")}"'
    assert found[2] == '"Region";"m";"w"'
    for line, code in zip(found[3:], table.dimensions[0].codes[:2], strict=True):
        assert line == f'"{code}";{table.get(code, "m")};{table.get(code, "w")}'
    data = get(
        server,
        f"/tables/{PEOPLE}/data",
        stub="sex",
        heading="region",
        **{"valueCodes[region]": "top(3)", "valueCodes[sex]": "m,w"},
    ).json()
    assert data["id"] == ["sex", "region"]
    codes = [(s, r) for s in ("m", "w") for r in table.dimensions[0].codes[:3]]
    assert data["value"] == [table.get(r, s) for s, r in codes]
    posted = httpx.post(
        f"{server}/pxapi/v2/tables/{PEOPLE}/data",
        json={
            "selection": [
                {"variableCode": "region", "valueCodes": ["top(3)"]},
                {"variableCode": "sex", "valueCodes": ["m", "w"]},
            ],
            "placement": {"stub": ["sex"], "heading": ["region"]},
        },
    )
    assert posted.json()["value"] == data["value"]


def test_nothing_selected_gives_the_default(server, served):
    told = get(server, f"/tables/{PEOPLE}/defaultselection").json()
    table = served.releases.table(PEOPLE)
    assert told["selection"][0]["valueCodes"] == list(table.dimensions[0].codes)
    assert get(server, f"/tables/{PEOPLE}/data").json()["size"] == [
        len(each) for each in table.dimensions
    ]
    assert httpx.post(f"{server}/pxapi/v2/tables/{PEOPLE}/data").status_code == 200


def saved(server, **more):
    body = {
        "tableId": PEOPLE,
        "language": "en",
        "selection": {
            "selection": [
                {"variableCode": "region", "valueCodes": ["top(2)"]},
                {"variableCode": "sex", "valueCodes": ["w"]},
            ]
        },
        **more,
    }
    return httpx.post(f"{server}/pxapi/v2/savedqueries", json=body)


def test_saved_queries_hold_themselves(server, served):
    answer = saved(server, outputFormat="csv", outputFormatParams=["UseCodes"])
    assert answer.status_code == 201
    told = answer.json()
    place = f"/savedqueries/{told['id']}"
    assert answer.headers["location"].endswith(place)
    assert get(server, place).json() == told
    table = served.releases.table(PEOPLE)
    codes = list(table.dimensions[0].codes[:2])
    lines = get(server, f"{place}/data").text.splitlines()[1:]
    assert lines == [f'"{code}","w",{table.get(code, "w")}' for code in codes]
    other = get(server, f"{place}/data", outputFormat="json-stat2", lang="de").json()
    assert other["label"] == table.title("de")
    assert other["value"] == [table.get(code, "w") for code in codes]
    meant = get(server, f"{place}/selection").json()["selection"]
    assert [each["valueCodes"] for each in meant] == [codes, ["w"]]
    shown = get(server, f"/tables/{PEOPLE}/metadata", savedQuery=told["id"]).json()
    assert shown["size"] == [2, 1]
    elsewhere = get(server, f"/tables/{AGES}/metadata", savedQuery=told["id"])
    assert elsewhere.status_code == 400


def test_metadata_of_a_list_of_codes(server, served):
    whole = get(server, f"/tables/{PEOPLE}/metadata").json()["dimension"]["region"]
    listed = whole["extension"]["codelists"][0]["id"]
    part = get(server, f"/tables/{PEOPLE}/metadata", **{"codelist[region]": listed}).json()
    found = get(server, f"/codelists/{listed}").json()["values"]
    assert list(part["dimension"]["region"]["category"]["index"]) == [e["code"] for e in found]
    wrong = get(server, f"/tables/{PEOPLE}/metadata", **{"codelist[region]": "none"})
    assert wrong.status_code == 400


@for_all_rows(
    ("more", "status"),
    [
        ({"tableId": "census-2026.nothing"}, 404),
        ({"tableId": 7}, 400),
        ({"outputFormat": "docx"}, 400),
        ({"outputFormatParams": "UseCodes"}, 400),
        ({"colour": "red"}, 400),
        ({"selection": {"selection": [{"variableCode": "region", "valueCodes": ["?!"]}]}}, 400),
        ({"selection": {"selection": "all"}}, 400),
    ],
)
def test_only_what_can_be_answered_is_saved(server, more, status):
    assert saved(server, **more).status_code == status


def test_numbers_of_saved_queries_that_were_made_up_are_none(server):
    import base64
    import zlib

    number = saved(server).json()["id"]
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 10_000_000, 9)).decode().rstrip("=")
    for made_up in ("1", "x" * 5000, number[:-4], number + "AAAA", bomb, "%2e%2e", "a b"):
        for rest in ("", "/data", "/selection"):
            found = get(server, f"/savedqueries/{made_up}{rest}")
            assert found.status_code == 404, made_up
