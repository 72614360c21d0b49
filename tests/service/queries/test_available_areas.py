"""Areas that are too small for a table are left out; their published sizes decide, no cell does."""

from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import TableError
from discreet.release import protect
from discreet.tables import ProtectedTable
from discreet_service.queries import read_query
from discreet_service.service import Service
from tests.derived.test_flows import HOME, PTABLE, TOWNS, people
from tests.helpers.programmes import editor
from tests.helpers.service_data import OPEN_POLICY
from tests.service.conftest import ServeCensus
from tests.service.queries.conftest import ask_service as ask

POLICY = OPEN_POLICY + "\n[areas]\nleast = [100, 300]\n"
TOWN = {"variable": "region", "level": ["state", "municipality"]}
PROGRAMME = """\
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[variables.home]
hierarchy = "areas.json"

[variables.sex]
codes = ["m", "w"]

[tables.homes]
by = ["home", "sex"]
available = { variable = "home", least = 140 }
formats = ["csv"]
"""


def hidden(table: ProtectedTable) -> set[str]:
    """Areas of which nothing is shown, and none of which something is."""
    frame = table.to_polars(complete=True)
    left = set(frame.filter(status="suppressed")["region"])
    assert not left & set(frame.filter(pl.col("status") != "suppressed")["region"])
    return left


def test_published_sizes_decide_by_the_number_of_variables(service: Service) -> None:
    sizes = ask(service, TOWN)
    assert hidden(sizes) == set()
    towns = [code for code in sizes.dimensions[0].codes if len(code) > 2]
    one, two = hidden(ask(service, TOWN, "sex")), hidden(ask(service, TOWN, "sex", "age5"))
    size = {code: sizes.get(code) or 0 for code in towns}
    assert {code for code in towns if 0 < size[code] < 100} <= one
    assert {code for code in towns if 0 < size[code] < 300} <= two
    assert one < two < set(towns)
    # Nobody can be computed as the rest of the area above.
    for state in {code[:2] for code in two}:
        assert len([code for code in two if code.startswith(state)]) != 1


def test_no_cell_decides(service: Service) -> None:
    """Tables by other variables, other measures and filters leave out the same areas."""
    left = hidden(ask(service, TOWN, "sex"))
    assert left == hidden(ask(service, TOWN, "marital_status"))
    assert left == hidden(ask(service, TOWN, where=[{"variable": "sex", "codes": ["w"]}]))
    assert left == hidden(ask(service, TOWN, measures=[{"median": "age5"}]))
    small = min(left)
    table = ask(service, "sex", where=[{"variable": "region", "codes": [small]}])
    assert set(table.to_polars(complete=True)["status"]) == {"suppressed"}
    large = max(set(ask(service, TOWN).dimensions[0].codes) - left - {"Total"})
    table = ask(service, "sex", where=[{"variable": "region", "codes": [large]}])
    assert table.get(sex="w")


def test_areas_are_marked_and_named(service: Service) -> None:
    table = ask(service, TOWN, "sex")
    texts = [note.text() for note in table.notes if note.kind == "areas-left-out"]
    assert len(texts) == 1
    assert "published size below 100" in texts[0]
    whole = ask(service, TOWN)
    assert all(note.kind != "areas-left-out" for note in whole.notes)


def test_tags_of_answers_follow_the_policy(service: Service, serve_census: ServeCensus) -> None:
    other = serve_census(POLICY.replace("100", "90"), secret=service.settings.secret_file)
    query = read_query({"unit": "person", "by": ["region", "sex"]})
    tags = [each.answers.etag(each.answers.prepared("census", query), "csv")
            for each in (service, other)]  # fmt: skip
    assert tags[0] != tags[1]


def test_programmes_leave_out_areas(tmp_path: Path) -> None:
    frame = people(600).with_columns(sex=pl.Series(["m", "w"] * 300))
    frame.write_parquet(tmp_path / "persons.parquet")
    PTABLE.write(tmp_path / "ptable.json")
    HOME.write(tmp_path / "areas.json")
    edited = editor(tmp_path / "programme.toml", PROGRAMME)
    protect(edited(), tmp_path / "release")
    rows = pl.read_csv(tmp_path / "release" / "homes.csv", infer_schema=False)
    left = set(rows.filter(symbol=".")["home"])
    sizes = dc.perturb(dc.tabulate(frame, [HOME], record_key="record_key"), PTABLE)
    small = {town for town in TOWNS if (sizes.get(town) or 0) < 140}
    assert small
    assert small <= left < set(TOWNS) | {"N", "S"}
    assert protect(edited(("140", "20")), tmp_path / "release").fresh == 1


def test_unknown_areas_are_named() -> None:
    table = dc.perturb(dc.tabulate(people(), [HOME], record_key="record_key"), PTABLE)
    with pytest.raises(TableError, match="'town' is not a spanning variable"):
        dc.available_areas(table, "town", 10)
