"""Clients of SDMX read released tables unchanged: `pysdmx` over a running server."""

import io

import httpx
import polars as pl
import pytest
from pysdmx.api.fmr import RegistryClient
from pysdmx.api.qb.data import DataContext, DataFormat, DataQuery
from pysdmx.api.qb.service import RestService
from pysdmx.api.qb.structure import StructureFormat
from pysdmx.api.qb.util import ApiVersion
from pysdmx.io import read_sdmx

from discreet.tables import CellStatus
from tests.helpers.rows import for_all_rows

PEOPLE, AGES, DWELLINGS = (
    f"census-2026_{name}" for name in ("population", "legal_ages", "dwellings")
)


@pytest.fixture(scope="module")
def client(server):
    return RestService(
        f"{server}/sdmx/v2", ApiVersion.V2_0_0, data_format=DataFormat.SDMX_CSV_2_0_0, timeout=120
    )


def data(client, flow, **more):
    query = DataQuery(DataContext.DATAFLOW, "DISCREET", flow, **more)
    (found,) = read_sdmx(io.BytesIO(client.data(query))).data
    return found


@pytest.fixture(scope="module")
def registry(server):
    return RegistryClient(f"{server}/sdmx/v2", StructureFormat.SDMX_JSON_2_0_0, timeout=120)


def test_the_client_lists_dataflows(registry):
    flows = {each.id: each for each in registry.get_dataflows("DISCREET")}
    assert set(flows) == {PEOPLE, AGES, DWELLINGS}
    assert flows[DWELLINGS].name == "Dwellings by region"


def test_the_client_reads_a_structure_with_its_code_lists(registry, served):
    (structure,) = registry.get_data_structures("DISCREET", DWELLINGS)
    table = served.releases.table("census-2026.dwellings")
    assert [each.id for each in structure.components.dimensions] == ["region", "MEASURE"]
    assert [each.id for each in structure.components.measures] == ["OBS_VALUE"]
    assert {"OBS_STATUS", "CONF_STATUS"} <= {each.id for each in structure.components.attributes}
    region = structure.components["region"]
    codes, labels = table.dimensions[0].codes, table.dimensions[0].labels("en")
    assert [code.id for code in region.local_codes.codes] == list(codes)
    assert [code.name for code in region.local_codes.codes] == list(labels)
    assert region.name == table.dimensions[0].title("en")
    states = structure.components["CONF_STATUS"].local_codes
    assert {code.id for code in states.codes} == {"F", "C"}


def test_the_client_reads_code_lists_and_concepts(registry, served):
    table = served.releases.table("census-2026.dwellings")
    found = registry.get_codes("DISCREET", f"CL_{DWELLINGS}_region")
    assert [code.id for code in found.codes] == list(table.dimensions[0].codes)
    concepts = registry.get_concepts("DISCREET", f"CS_{DWELLINGS}")
    assert {"region", "MEASURE", "OBS_VALUE"} <= {each.id for each in concepts.concepts}


def test_names_are_german_for_germans(server):
    found = httpx.get(
        f"{server}/sdmx/v2/structure/dataflow/DISCREET/{DWELLINGS}/~",
        headers={"Accept-Language": "de"},
    ).json()["data"]["dataflows"][0]
    assert found["name"] == "Wohnungen nach Region"
    assert found["names"] == {"en": "Dwellings by region", "de": "Wohnungen nach Region"}


KINDS = ("dataflow", "datastructure", "codelist", "conceptscheme", "*")
REFERENCES = ("none", "all", "parents", "ancestors", "children", "descendants", "codelist")


@pytest.mark.parametrize(
    ("kind", "references"),
    [*((kind, "all") for kind in KINDS), *(("dataflow", word) for word in REFERENCES)],
)
def test_messages_hold_what_was_asked_for(server, kind, references):
    found = httpx.get(
        f"{server}/sdmx/v2/structure/{kind}/DISCREET/*/~",
        params={"references": references, "detail": "allstubs"},
    )
    assert found.status_code == 200
    data = found.json()["data"]
    own = {"dataflow": "dataflows", "datastructure": "dataStructures"}
    assert kind not in own or len(data[own[kind]]) == 3
    assert references != "all" or len(data) == 4


def test_the_client_reads_every_cell(client, served):
    for flow, name in ((PEOPLE, "population"), (AGES, "legal_ages"), (DWELLINGS, "dwellings")):
        table = served.releases.table(f"census-2026.{name}")
        found = data(client, flow)
        assert found.short_urn == f"Dataflow=DISCREET:{flow}(1.0)"
        frame = table.to_polars(complete=True)
        assert len(found.data) == frame.height
        values = [None if text == "" else float(text) for text in found.data["OBS_VALUE"]]
        assert values == [None if v is None else float(v) for v in frame["value"]]
        states = [CellStatus[each].sdmx for each in frame["status"]]
        assert list(zip(found.data["OBS_STATUS"], found.data["CONF_STATUS"], strict=True)) == states


def test_what_is_hidden_says_so(client, served):
    found = data(client, AGES).data
    hidden = found[found["CONF_STATUS"] == "C"]
    assert len(hidden) > 0
    assert set(hidden["OBS_VALUE"]) == {""}
    assert set(hidden["OBS_STATUS"]) == {"Q"}


def test_the_same_bytes_as_the_published_form(server, served, tmp_path):
    table = served.releases.table("census-2026.dwellings")
    path = table.write(
        tmp_path / "a.sdmx.csv", structure=f"DISCREET:{DWELLINGS}(1.0)", complete=True
    )
    found = httpx.get(f"{server}/sdmx/v2/data/dataflow/DISCREET/{DWELLINGS}/1.0")
    assert found.content == path.read_bytes()
    assert found.headers["content-type"].startswith("application/vnd.sdmx.data+csv")


def test_keys_and_filters_choose(client, server, served):
    from pysdmx.api.dc.query import Operator, TextFilter

    table = served.releases.table("census-2026.population")
    region = table.dimensions[0].codes[3]
    one = data(client, PEOPLE, version="1.0", key=f"{region}.w").data
    assert one["OBS_VALUE"].tolist() == [str(table.get(region, "w"))]
    both = data(client, PEOPLE, version="1.0", key=[f"{region}.w", "*.Total"]).data
    assert len(both) == 1 + len(table.dimensions[0])
    some = data(client, PEOPLE, components=TextFilter("sex", Operator.IN, ["m", "w"])).data
    assert set(some["sex"]) == {"m", "w"}
    rest = data(client, PEOPLE, components=TextFilter("sex", Operator.NOT_EQUALS, "m")).data
    assert set(rest["sex"]) == {"Total", "w"}
    first = data(client, PEOPLE, first_n_obs=1).data
    assert set(first["sex"]) == {"Total"}
    last = data(client, PEOPLE, last_n_obs=2, obs_dimension="region").data
    # The client takes codes for numbers where they can be read as such.
    assert {int(code) for code in last["region"]} == {
        int(c) for c in table.dimensions[0].codes[-2:]
    }
    bare = data(client, PEOPLE, attributes="none").data
    assert list(bare.columns) == ["region", "sex", "OBS_VALUE"]
    starts = httpx.get(
        f"{server}/sdmx/v2/data/dataflow/DISCREET/{PEOPLE}",
        params={"c[region]": f"sw:{region[:2]}+ne:{region}", "limit": 1000},
    )
    codes = set(pl.read_csv(starts.content, infer_schema=False)["region"])
    assert codes == {c for c in table.dimensions[0].codes if c.startswith(region[:2])} - {region}


@for_all_rows(
    ("path", "params", "status", "code"),
    [
        ("data/dataflow/OTHER/x", {}, 404, "not-found"),
        (f"data/dataflow/DISCREET/{PEOPLE}/9.0", {}, 404, "not-found"),
        (f"data/dataflow/DISCREET/{PEOPLE}/1.0/a.b.c", {}, 422, "invalid-query"),
        (f"data/dataflow/DISCREET/{PEOPLE}/1.0/nowhere.w", {}, 404, "unknown-code"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"c[colour]": "red"}, 422, "invalid-query"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"c[sex]": "x"}, 404, "unknown-code"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"c[sex]": "eq:m+eq:w"}, 404, "not-found"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"firstNObservations": "0"}, 422, "invalid-query"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"includeHistory": "true"}, 422, "invalid-query"),
        (f"data/dataflow/DISCREET/{PEOPLE}", {"updatedAfter": "2030-01-01"}, 404, "not-found"),
        ("data/dataflow/DISCREET", {}, 422, "invalid-query"),
        ("structure/hierarchy", {}, 404, "not-found"),
        ("structure/dataflow/DISCREET/none", {}, 404, "not-found"),
        ("structure/dataflow", {"references": "cousins"}, 422, "invalid-query"),
    ],
)
def test_errors_are_told(server, path, params, status, code):
    found = httpx.get(f"{server}/sdmx/v2/{path}", params=params)
    assert found.status_code == status, found.text
    assert found.json()["type"].endswith(code)


def test_formats_that_are_not_offered(server):
    for kind in ("application/vnd.sdmx.data+json;version=1.0.0", "application/xml"):
        found = httpx.get(
            f"{server}/sdmx/v2/data/dataflow/DISCREET/{PEOPLE}", headers={"Accept": kind}
        )
        assert found.status_code == 406
    old = httpx.get(
        f"{server}/sdmx/v2/data/dataflow/DISCREET/{PEOPLE}",
        headers={"Accept": "application/vnd.sdmx.data+csv;version=1.0.0"},
    )
    assert old.text.startswith("DATAFLOW,")


JSON_DATA = "application/vnd.sdmx.data+json;version=2.0.0"


def message(server, flow, accept=JSON_DATA, **params):
    found = httpx.get(
        f"{server}/sdmx/v2/data/dataflow/DISCREET/{flow}",
        params=params,
        headers={"Accept": accept, "Accept-Language": "de"},
    )
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == "application/vnd.sdmx.data+json; version=2.0.0"
    told = found.json()
    assert told["meta"]["contentLanguages"][0] == "de"
    (structure,), (data,) = told["data"]["structures"], told["data"]["dataSets"]
    return structure, data


def decoded(structure, data):
    """Codes of the dimensions → value and states, as a reader of messages puts them together."""
    rows = {}
    series = data.get("series", {"": {"observations": data.get("observations", {})}})
    outer, inner = (structure["dimensions"][each] for each in ("series", "observation"))
    attributes = structure["attributes"]["observation"]
    for key, each in series.items():
        for own, (value, *numbers) in each["observations"].items():
            places = [*key.split(":"), *own.split(":")] if key else own.split(":")
            codes = {
                dimension["id"]: dimension["values"][int(at)]["id"]
                for dimension, at in zip([*outer, *inner], places, strict=True)
            }
            states = {
                attribute["id"]: attribute["values"][at].get("id")
                for attribute, at in zip(attributes, numbers, strict=True)
                if at is not None
            }
            rows[tuple(sorted(codes.items()))] = (value, states)
    return rows


@pytest.mark.parametrize("flow", [PEOPLE, AGES, DWELLINGS])
def test_messages_of_json_say_what_csv_says(server, flow):
    flat = decoded(*message(server, flow))
    lines = httpx.get(f"{server}/sdmx/v2/data/dataflow/DISCREET/{flow}").content
    frame = pl.read_csv(lines, infer_schema=False)
    assert len(flat) == frame.height
    names = [each["id"] for each in message(server, flow)[0]["dimensions"]["observation"]]
    for row in frame.iter_rows(named=True):
        value, states = flat[tuple(sorted((name, row[name]) for name in names))]
        told = row["OBS_VALUE"] or None
        assert (told is None) == (value is None)
        assert value is None or value == float(told)
        assert (states["OBS_STATUS"], states["CONF_STATUS"]) == (
            row["OBS_STATUS"], row["CONF_STATUS"],
        )  # fmt: skip


def test_messages_come_in_series_where_one_dimension_runs(server, served):
    structure, data = message(server, PEOPLE, dimensionAtObservation="sex")
    assert [each["id"] for each in structure["dimensions"]["series"]] == ["region"]
    assert [each["name"] for each in structure["dimensions"]["observation"]] == ["Geschlecht"]
    rows = decoded(structure, data)
    assert rows == decoded(*message(server, PEOPLE))
    assert "observations" not in data
    some = message(server, PEOPLE, **{"c[sex]": "w", "attributes": "none", "limit": 2})
    assert [each["values"] for each in some[0]["dimensions"]["observation"]][1][0]["id"] == "w"
    assert all(len(each) == 1 for each in some[1]["observations"].values())


def test_the_first_format_that_is_offered_is_given(server):
    message(server, PEOPLE, accept="application/xml, application/vnd.sdmx.data+json, text/csv")
    message(server, PEOPLE, accept="application/json")
    for accept in ("*/*", "text/csv", "application/vnd.sdmx.data+csv;version=2.0.0"):
        found = httpx.get(
            f"{server}/sdmx/v2/data/dataflow/DISCREET/{PEOPLE}", headers={"Accept": accept}
        )
        assert found.headers["content-type"].startswith("application/vnd.sdmx.data+csv")
