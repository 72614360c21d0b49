"""The service as it is described: whoever asks, and however, a cell has one figure.

A script that has counted cells, a client that asks for tables, a third party with records of its
own and the signed package, and clients of the release: each calls a server that runs.
"""

import contextlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import discreet as dc
from discreet.release.cell_programme import CellProgramme, protect_by_programme
from discreet.release.packages import open_parameters
from discreet_service.client import Client, ServiceJob
from discreet_service.installation import opened
from discreet_service.jobs.retention import show_chain
from discreet_service.problems import ServiceError
from tests.conftest import without
from tests.helpers.places import ROOT
from tests.helpers.service_server import free_port

#: A server with its workers is started for them.
pytestmark = pytest.mark.exhaustive

BY = ["region", "sex"]
#: What `official` of the statistic names beside the variables of the table.
OTHERS = ("age", "age5", "nationality", "marital_status", "education", "occupation", "grid_cell")
LAYOUT = {"by": BY, "count": "n", "cell_key": "key", "totals": dict.fromkeys(OTHERS, "Total")}
#: Whole country, states, districts, municipalities: so many characters of the code.
LEVELS = (0, 2, 5, 8)
#: Seven are usual; ten are the aim where nothing else runs.
FIRST_TABLE_SECONDS = 70.0


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A demonstration that runs."""

    url: str
    folder: Path
    commands: list[str]
    keys: dict[str, str]
    first: str
    seconds: float
    log: Path

    @property
    def data(self) -> Path:
        return self.folder / "datasets" / "census-2022-1"


def printed_commands(text: str) -> list[str]:
    lines = text.replace("\\\n", "").splitlines()
    return [line.strip() for line in lines if line.startswith("  curl ")]


def run_printed(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    return done.stdout


def processor_seconds(number: int) -> float:
    """What a process has taken, waiting for others not counted; endless if nobody tells."""
    try:
        words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """`discreet serve --demo`, up to its first table."""
    if shutil.which("curl") is None:
        without("there is no curl")
    place = tmp_path_factory.mktemp("article")
    folder, port, begun = place / "demo", free_port(), time.monotonic()
    words = ["serve", "--demo", "--folder", str(folder), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with (place / "printed").open("w") as printed, (place / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "discreet", *words], env=environment, stdout=printed, stderr=log
        )
    try:
        while not answers(port):
            assert server.poll() is None, (place / "log").read_text()
            assert time.monotonic() - begun < 900
            time.sleep(0.05)
        commands = printed_commands((place / "printed").read_text("utf-8"))
        first = run_printed(commands[0])
        # On a machine that does other work too, its own processor time says more.
        seconds = min(time.monotonic() - begun, processor_seconds(server.pid))
        keys = json.loads((folder / "DEMONSTRATION.json").read_text())["keys"]
        yield Shown(
            url=f"http://127.0.0.1:{port}", folder=folder, commands=commands, keys=keys,
            first=first, seconds=seconds, log=place / "log",
        )  # fmt: skip
        server.terminate()
        assert server.wait(180) == 0
        # Its workers ended before: one that was left over would say so only after this.
        assert '"event": "stopped"' in (place / "log").read_text()
        assert not left_over(folder)
    finally:
        server.kill()
        server.wait()


def left_over(folder: Path) -> list[str]:
    """Processes that still work for a service."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # others end meanwhile
            found.append(place.read_bytes().decode("utf-8", "replace"))
    return [text for text in found if str(folder) in text]


def answers(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def client(shown: Shown) -> Iterator[Client]:
    with Client(shown.url, shown.keys["demo-client"]) as found:
        yield found


@pytest.fixture
def script(shown: Shown) -> Iterator[Client]:
    with Client(shown.url, shown.keys["demo-tool"]) as found:
        yield found


@pytest.fixture(scope="module")
def persons(shown: Shown) -> pl.DataFrame:
    found = pl.read_parquet(shown.data / "persons.parquet")
    keyed = dc.with_record_keys(found, id="person_id", secret=shown.data / "secret.key")
    return keyed.select(
        pl.col("municipality").cast(pl.String), pl.col("sex").cast(pl.String), "record_key"
    )


def counted(persons: pl.DataFrame) -> pl.DataFrame:
    """Cells as any other program counts them: by region and sex, with totals."""
    parts = []
    for length, sex in product(LEVELS, (pl.lit("Total"), pl.col("sex"))):
        region = pl.col("municipality").str.slice(0, length) if length else pl.lit("Total")
        grouped = persons.group_by(region.alias("region"), sex.alias("sex"))
        key = pl.col("record_key").cast(pl.Int64).sum().mod(10**15).alias("key")
        parts.append(grouped.agg(pl.len().cast(pl.Int64).alias("n"), key))
    return pl.concat(parts)


def figures(table: Any, by: list[str] = BY) -> dict[tuple[str, ...], tuple[float | None, str]]:
    """Value and status of each cell."""
    texts = table.with_columns(pl.col(*by, "status").cast(pl.String))
    return {tuple(row[: len(by)]): (row[-2], row[-1])
            for row in texts.select(*by, "value", "status").iter_rows()}  # fmt: skip


def asked_at_all_levels(client: Client, query: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """The cells of a query for the whole country and each level of regions."""
    found: dict[tuple[str, ...], Any] = {}
    by = [each for each in query["by"] if each != "region"]
    for level in ("state", "district", "municipality"):
        asked = {**query, "by": [{"variable": "region", "level": level}, *by]}
        table = figures(client.query("census", asked), ["region", *by])
        assert all(found[code] == table[code] for code in found.keys() & table.keys())
        found |= table
    return found


def released(shown: Shown, name: str, by: list[str]) -> dict[tuple[str, ...], Any]:
    """A table of the release, as its file says it."""
    content = httpx.get(f"{shown.url}/api/v1/releases/census-2022/tables/{name}?format=csv").content
    table = pl.read_csv(content, infer_schema=False)
    return figures(table.with_columns(pl.col("value").cast(pl.Float64)), by)


def of_px(shown: Shown, name: str, by: list[str]) -> tuple[dict[tuple[str, ...], Any], Any]:
    """All cells of a table as clients of PxWeb get them; the document."""
    params = {"outputFormat": "json-stat2", **{f"valuecodes[{each}]": "*" for each in by}}
    answer = httpx.get(f"{shown.url}/pxapi/v2/tables/census-2022.{name}/data", params=params)
    document = answer.raise_for_status().json()
    index = [document["dimension"][each]["category"]["index"] for each in document["id"]]
    codes = [each if isinstance(each, list) else sorted(each, key=each.get) for each in index]
    cells = dict(zip(product(*codes), document["value"], strict=True))
    order = [document["id"].index(each) for each in by]
    return {tuple(code[at] for at in order): value for code, value in cells.items()}, document


def test_the_first_table_is_there_in_ten_seconds(shown: Shown) -> None:
    assert shown.first.startswith("region,region_label,sex,sex_label,value,status")
    assert "Total,Total,Total,Total,8000,official" in shown.first
    assert shown.seconds < FIRST_TABLE_SECONDS


def test_commands_work_as_printed(shown: Shown) -> None:
    assert len(shown.commands) == 2
    assert run_printed(shown.commands[0]) == shown.first
    (cell,) = json.loads(run_printed(shown.commands[1]))["cells"]
    assert abs(cell["value"] - 7) <= 5
    assert cell["status"] in ("published", "zero_or_changed_to_zero")


def test_every_common_cell_is_identical(
    shown: Shown, client: Client, script: Client, persons: pl.DataFrame
) -> None:
    cells = counted(persons)
    asked = asked_at_all_levels(client, {"unit": "person", "by": BY})
    handed_in = figures(script.protect_table(cells, LAYOUT, "census", "1"))
    official = cells.with_columns(official=pl.col("sex") == "Total")
    counts = script.protect_counts(official, "census", "1", official="official")
    by_counts = figures(pl.concat((cells.select(BY), counts), how="horizontal"))
    # A third party: records of its own, the package, and the library without a network.
    subprocess.run(
        [sys.executable, "-m", "discreet", "params", "verify", "census.dcparams",
         "--verify-key", "office.pub", "--key-file", "package.key"],
        cwd=shown.folder, check=True, capture_output=True,
    )  # fmt: skip
    parameters = open_parameters(
        shown.folder / "census.dcparams",
        key=shown.folder / "package.key",
        verify_key=shown.folder / "office.pub",
        statistic="census",
        version="1",
    )
    own = counted(persons.filter(pl.col("municipality").str.starts_with("01")))
    own = own.filter(pl.col("region") != "Total")
    apart = figures(protect_by_programme(own, CellProgramme.of(LAYOUT, parameters)).to_polars())
    files, (px, document) = released(shown, "population", BY), of_px(shown, "population", BY)

    assert len(asked) == len(handed_in) == len(by_counts) == len(files) == len(px) > 100
    assert handed_in == asked
    assert by_counts == asked
    assert files == asked
    assert px == {code: value for code, (value, _) in asked.items()}
    common = apart.keys() & asked.keys()
    assert len(common) == len(own) > 20
    assert all(apart[code] == asked[code] for code in common)
    assert any("need not add up" in note for note in document["note"])
    changed = {tuple(row[:2]): row[2] for row in cells.select(*BY, "n").iter_rows()}
    assert any(changed[code] != value for code, (value, _) in asked.items())  # it is no mirror


def of_tables(programme: str, names: tuple[str, ...]) -> str:
    """The tables of some names as the programme of the census says them."""
    blocks = re.split(r"\n(?=\[)", programme)
    wanted = re.compile(rf"\[+tables\.({'|'.join(names)})[].]")
    return "\n".join(each for each in blocks if wanted.match(each)).replace(
        'from = "buildings"', ""
    )


def protected_elsewhere(
    shown: Shown, folder: Path, package: str, records: pl.DataFrame, tables: tuple[str, ...]
) -> dict[tuple[str, ...], Any]:
    """The first of tables that the plain library makes of records with keys and of a package."""
    shutil.copytree(
        shown.data,
        folder,
        ignore=shutil.ignore_patterns(
            "*.parquet", "*.store", "ptable*", "*ptable.csv", "secret*", "quality", "*.toml.sig"
        ),
    )
    for name in (f"{package}.dcparams", "office.pub", "package.key"):
        shutil.copy(shown.folder / name, folder)
    records.write_parquet(folder / "own.parquet")
    programme = (shown.data / "programme.toml").read_text("utf-8")
    spanned = programme[programme.index("# --- what spans") : programme.index("# --- what is publ")]
    (folder / "programme.toml").write_text(f"""
title = {{ en = "Elsewhere" }}
languages = ["en", "de"]
date = "2026-11-24"
[data]
name = "own"
source = "own.parquet"
version = "1"
[keys]
column = "record_key"
grid = "10^15"
[parameters]
package = "{package}.dcparams"
key_file = "package.key"
verify_key = "office.pub"
statistic = "{package}"
version = "1"
[defaults]
formats = ["csv"]
{spanned}
{of_tables(programme, tables)}
""")
    assert not {each.name for each in folder.iterdir()} & {"ptable.json", "secret.key"}
    dc.protect(folder / "programme.toml", folder / "release")
    found = pl.read_csv(folder / "release" / f"{tables[0]}.csv", infer_schema=False)
    by = found.columns[: found.columns.index("value")]
    by = [name for name in by if not name.endswith("_label")]
    return figures(found.with_columns(pl.col("value").cast(pl.Float64)), by)


#: Tables of persons; the package's rule for official figures names a variable of each.
PERSONS = ("population", "age_groups", "legal_ages", "nationality", "marital_status", "education",
           "grid")  # fmt: skip
PARTS = ["region", "building_type", "construction"]
HOUSING = {"count": "n", "cell_key": "key"}


def cells_of(records: pl.DataFrame, by: list[str], also: Sequence[pl.Expr] = ()) -> pl.DataFrame:
    """Cells by region and other variables as any other program counts them, with totals."""
    parts = []
    for length, *used in product(LEVELS, *([(False, True)] * (len(by) - 1))):
        region = pl.col("municipality").cast(pl.String).str.slice(0, length)
        groups = [(region if length else pl.lit("Total")).alias("region")]
        groups += [
            (pl.col(name).cast(pl.String) if each else pl.lit("Total")).alias(name)
            for name, each in zip(by[1:], used, strict=True)
        ]
        parts.append(records.group_by(groups).agg(pl.len().cast(pl.Int64).alias("n"), KEY, *also))
    return pl.concat(parts)


KEY = pl.col("record_key").cast(pl.Int64).sum().mod(10**15).alias("key")


@pytest.fixture(scope="module")
def dwellings(shown: Shown) -> pl.DataFrame:
    found = pl.read_parquet(shown.data / "dwellings.parquet")
    return dc.with_record_keys(found, id="dwelling_id", secret=shown.data / "secret.key")


@pytest.fixture(scope="module")
def buildings(shown: Shown, dwellings: pl.DataFrame) -> pl.DataFrame:
    found = pl.read_parquet(shown.data / "buildings.parquet")
    return dc.inherit_record_keys(dwellings, onto=found, by="building_id", unit="building")


def test_the_plain_library_gives_a_third_party_the_same_cells(
    shown: Shown, client: Client, tmp_path: Path
) -> None:
    """Its own records of one state, and of the office the signed package alone."""
    found = pl.read_parquet(shown.data / "persons.parquet")
    keyed = dc.with_record_keys(found, id="person_id", secret=shown.data / "secret.key")
    own = keyed.filter(pl.col("municipality").cast(pl.String).str.starts_with("01"))
    apart = protected_elsewhere(shown, tmp_path / "own", "census", own, PERSONS)
    asked = asked_at_all_levels(client, {"unit": "person", "by": BY})
    common = [code for code in apart if code[0].startswith("01")]
    assert len(common) > 50
    assert all(apart[code] == asked[code] for code in common)


def test_suppressed_parts_are_the_same_for_all(
    shown: Shown, client: Client, script: Client, buildings: pl.DataFrame, tmp_path: Path
) -> None:
    """Cells handed in, a query, the release, PxWeb, and a third party: cell by cell."""
    cells = cells_of(buildings, PARTS)
    layout = {**HOUSING, "by": PARTS}
    trees = {"region": {"total": "Total", "codes": {
        code: code[:-3] if len(code) > 2 else None
        for code in sorted(set(cells["region"]) - {"Total"}, key=lambda code: (len(code), code))
    }}}  # fmt: skip
    handed_in = figures(
        script.protect_table(cells, layout, "housing", kind="parts", classifications=trees), PARTS
    )
    by = [{"variable": "region", "level": ["state", "district", "municipality"]}, *PARTS[1:]]
    query = {"unit": "building", "by": by}
    asked = figures(client.query("census", query), PARTS)
    files = released(shown, "buildings", PARTS)
    apart = protected_elsewhere(shown, tmp_path / "own", "housing", buildings, ("buildings",))
    px, _ = of_px(shown, "buildings", PARTS)
    hidden = {code for code, (_, status) in asked.items() if status == "suppressed"}
    assert 1_000 < len(hidden) < len(asked)
    assert files == apart == asked
    assert px == {code: value for code, (value, _) in asked.items()}
    common = handed_in.keys() & asked.keys()
    assert len(common) > 300
    assert {code: handed_in[code] for code in common} == {code: asked[code] for code in common}
    assert common & hidden
    # Each format says that they are hidden, and why.
    text = "Suppressed subtables"
    document = json.loads(as_bytes(client.query("census", query, format="json-stat2")))
    assert any(text in note for note in document["note"])
    status = document["status"]
    assert sum(
        each == "suppressed" for each in (status.values() if isinstance(status, dict) else status)
    ) in (0, len(hidden))
    values = document["value"]
    nothing = values.count(None) if isinstance(values, list) else len(asked) - len(values)
    assert nothing >= len(hidden)
    assert as_bytes(client.query("census", query, format="csv")).decode().count(
        ",suppressed") == len(hidden)  # fmt: skip
    for content in (
        as_bytes(client.query("census", query, format="xlsx")),
        as_bytes(script.protect_table(cells, layout, "housing", kind="parts", format="xlsx",
                                      classifications=trees)),
    ):  # fmt: skip
        book = zipfile.ZipFile(io.BytesIO(content))
        words = "".join(book.read(each).decode() for each in book.namelist() if "xml" in each)
        assert text in words
        assert re.search(r"<t[^>]*>\.</t>", words)


def as_bytes(found: Any) -> bytes:
    assert isinstance(found, bytes)
    return found


def test_brackets_notes_and_legends_arrive(
    shown: Shown, client: Client, script: Client, dwellings: pl.DataFrame
) -> None:
    query = {"unit": "dwelling", "by": ["region"], "measures": ["vacancy"]}
    asked = asked_at_all_levels(client, query)
    files = released(shown, "dwellings", ["region", "figure"])
    of_vacancy = {code[:1]: each for code, each in files.items() if code[1] == "vacancy"}
    told = {code: each for code, each in asked.items() if each[1] != "suppressed"}
    assert told == {code: of_vacancy[code] for code in told}
    # Few dwellings are vacant in a municipality: that part is hidden where anybody can ask.
    assert {len(code[0]) for code in asked.keys() - told.keys()} == {8}
    assert "bracketed" in {status for _, status in told.values()}
    page = as_bytes(client.query("census", query, format="html")).decode()
    for words in ("need not add up", "Suppressed subtables"):
        assert words in page
    by_state = {**query, "by": [{"variable": "region", "level": "district"}]}
    page = as_bytes(client.query("census", by_state, format="html")).decode()
    for words in ("<dt>( )</dt>", "limited value", "need not add up"):
        assert words in page
    german = as_bytes(client.query("census", {**by_state, "language": "de"}, format="html"))
    assert "eingeschränkt" in german.decode()
    book = zipfile.ZipFile(io.BytesIO(as_bytes(client.query("census", by_state, format="xlsx"))))
    words = "".join(book.read(each).decode() for each in book.namelist() if "xml" in each)
    assert "limited value" in words
    assert ",bracketed" in as_bytes(client.query("census", by_state, format="csv")).decode()
    stat = as_bytes(client.query("census", by_state, format="json-stat2")).decode()
    assert "bracketed" in stat

    _, document = of_px(shown, "buildings", PARTS)
    assert any("need not add up" in note for note in document["note"])
    assert "With at least one dwelling." in json.dumps(document)


def test_key_figures_and_values_that_are_handed_in_are_those_that_are_asked_for(
    client: Client, script: Client, dwellings: pl.DataFrame
) -> None:
    vacant = pl.col("tenure").cast(pl.String) == "vacant"
    own_key = pl.col("record_key").cast(pl.Int64).filter(vacant).sum().mod(10**15)
    area = pl.col("area").cast(pl.Float64)
    also = [vacant.sum().cast(pl.Int64).alias("vacant"), own_key.alias("vacant_key"),
            area.sum().alias("area"), area.max().alias("area_1")]  # fmt: skip
    cells = cells_of(dwellings, ["region"], also)
    layout = {
        **HOUSING, "by": ["region"],
        "counts": {"vacant": {"count": "vacant", "cell_key": "vacant_key"}},
        "values": {"area": {"total": "area", "largest": ["area_1"], "count": "n",
                            "cell_key": "key"}},
        "figures": {
            "count": {"kind": "count"},
            "vacant": {"kind": "count", "of": "vacant", "hidden": True},
            "vacancy": {"kind": "share", "part": "vacant", "whole": "count"},
            "mean_area": {"kind": "mean", "of": "area"},
        },
    }  # fmt: skip
    table = script.protect_table(cells, layout, "housing", kind="figures")
    handed_in = figures(table, ["region", "figure"])
    query = {
        "unit": "dwelling",
        "by": ["region"],
        "measures": ["count", "vacancy", {"mean": "area"}],
    }
    asked = {}
    for level in ("state", "district", "municipality"):
        wanted = {**query, "by": [{"variable": "region", "level": level}]}
        asked |= figures(client.query("census", wanted), ["region", "figure"])
    common = [code for code in handed_in if "suppressed" not in
              (handed_in[code][1], asked[code][1])]  # fmt: skip
    assert {figure for _, figure in common} == {"count", "vacancy", "mean_area"}
    assert len(common) > 40
    assert [code for code in common if handed_in[code] != asked[code]] == []
    assert "bracketed" in {handed_in[code][1] for code in common}


def test_parameters_without_thresholds_hide_no_parts(script: Client) -> None:
    cells = pl.DataFrame({"sex": ["Total", "m"], "n": [9, 1], "key": [10**14, 7]})
    layout = {"by": ["sex"], "count": "n", "cell_key": "key"}
    with pytest.raises(ServiceError, match="the parameter set has no thresholds for subtables"):
        script.protect_table(cells, layout, "census", kind="parts")


def test_a_large_query_becomes_a_job_of_the_workers(client: Client) -> None:
    query = {"unit": "person", "by": ["age5", "nationality", "sex", "marital_status"]}
    said = client.check("census", query)
    assert (said["class"], said["verdict"]["allowed"]) == ("job", True)
    seen: list[ServiceJob] = []
    table = client.query("census", query, progress=seen.append, timeout=300)
    assert isinstance(table, pl.DataFrame)
    assert seen[-1].state == "done"
    assert table.height == said["cells"]
    totals = (pl.col("nationality") == "Total") & (pl.col("marital_status") == "Total")
    small = client.query("census", {"unit": "person", "by": ["age5", "sex"]})
    assert figures(table.filter(totals), ["age5", "sex"]) == figures(small, ["age5", "sex"])
    assert client.job(seen[-1].id).ended
    assert client.result(seen[-1].id)
    # Once more it is there already, and the figures are the same.
    assert client.query("census", query, timeout=300).equals(table)


def test_the_server_keeps_its_own_house(shown: Shown) -> None:
    until = time.monotonic() + 180
    with opened(shown.folder / "SERVICE.toml") as service:
        while service.trail.last_signed() is None and time.monotonic() < until:
            time.sleep(0.2)
        show_chain(service)
        assert b"discreet_audit_chain_ok 1.0" in service.metrics.page()
    assert list((shown.folder / "heads").iterdir())
    log = shown.log.read_text()
    assert "upkeep failed" not in log
    assert not any(key in log for key in shown.keys.values())
