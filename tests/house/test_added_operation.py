"""An operation is a folder with settings and words, and a row; an option is a line of its settings.

A program adds one as it would be added here, and goes through every door; the files are counted.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = '''\
"""What hiding small counts can be told."""

from typing import Annotated, Literal

from pydantic import Field

from discreet.settings import Settings


class SmallSettings(Settings):
    """Which counts are hidden."""

    least: Annotated[int, Field(ge=2, le=100)] = 3
'''
OPTION = '    search: Literal["fast", "optimal"] = "fast"\n'
WORDS = """\
[labels]
least = { en = "Least", de = "Mindestens" }

[helps]
least = { en = "counts below are hidden", de = "Fallzahlen darunter werden gesperrt" }

[choices]

[small]
title = { en = "Small counts", de = "Kleine Fallzahlen" }
lead = { en = "Hide small counts.", de = "Kleine Fallzahlen sperren." }
run = { en = "Hide", de = "Sperren" }
download = { en = "Download", de = "Herunterladen" }
command = { en = "Hide small counts.", de = "Kleine Fallzahlen sperren." }
run_call = { en = "Hide small counts", de = "Kleine Fallzahlen sperren" }
study_call = { en = "What is hidden", de = "Was gesperrt ist" }
"""
OPTION_WORDS = {
    "[helps]": 'search = { en = "Search", de = "Suche" }\n\n[helps]',
    "[choices]": '[choices]\nsearch-fast = { en = "soon", de = "bald" }\n'
    'search-optimal = { en = "best", de = "am besten" }\n',
}
ROW = '''\
"""Hiding small counts as an operation."""

import sys

from discreet.operations import CountSource, Operation, Study, draws_nothing
from small.settings import SmallSettings


def hidden(source, settings, secret):
    import discreet as dc

    method = getattr(settings, "search", "fast")
    return dc.suppress(source.table, source.table.count < settings.least, method=method)


def studied(source, settings, secret):
    safe = hidden(source, settings, secret)
    return Study(
        table=safe, truth=source.table, verdict=None, audit=None,
        facts={"least": settings.least}, remarks=(), measures=lambda language: [],
        hidden=None, notes=(),
    )


SMALL = Operation(
    name="small", package="small", settings=SmallSettings, section="small", takes=CountSource,
    keys=lambda settings: "unused", draws=draws_nothing, run=hidden, study=studied,
    report=None, programme=False,
    at_once=500, waits=lambda settings: sys.maxsize, hurried=lambda settings: settings,
    begin=SmallSettings(), command="hide-small",
    example="discreet hide-small cells.csv --by sex --count n --out table.csv",
    address="protect/small", calls=("hide_small_counts", "study_small_counts"), job="small",
    page="small",
)
'''
PROGRAM = """\
import json, runpy, sys
from pathlib import Path

import pytest

import discreet.operations
from small.operation import SMALL

discreet.operations.OPERATIONS["small"] = SMALL  # the line of __init__.py

import httpx
import polars as pl
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.microdata import Secret
from discreet_service.client import Client
from discreet_service.jobs.kinds import KINDS
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.places import ROOT
from tests.helpers.service_callers import RoleCallers

folder, found = Path(sys.argv[1]), {}
cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
cells.write_csv(folder / "cells.csv")
words = ["hide-small", str(folder / "cells.csv"), "--by", "sex", "--count", "n", *sys.argv[2:]]
done = CliRunner().invoke(app, [*words, "--least", "3", "--out", str(folder / "table.csv")])
assert done.exit_code == 0, done.output
found["command"] = pl.read_csv(folder / "table.csv")["value"].to_list()
found["help"] = CliRunner().invoke(app, ["hide-small", "--help"], env={"COLUMNS": "200"}).output

Secret.generate().write(folder / "service.secret")
settings = ServiceSettings(
    folder=folder, secret_file=folder / "service.secret",
    limits=LimitSettings(requests_per_second=1e6, burst=10**6),
)
service = Service(settings)
parts = ("operations", "jobs", "discreet_service.studio.operations")
callers = RoleCallers(service, parts, {"paula": ["producer"]})
said = {"by": ["sex"], "small": {"least": 3}, "cells": cells.to_dicts()}
answer = callers.ask("paula", "POST", "/api/v1/protect/small", json=said)
found["endpoint"] = answer.json()["cells"]["value"]
answer = callers.ask("paula", "POST", "/api/v1/protect/small/study", json=said)
found["study"] = answer.json()
html = {"Accept": "text/html"}
found["page"] = callers.ask("paula", "GET", "/small?example=1", headers=html).text
found["job"] = KINDS["small"].function
reference = runpy.run_path(str(ROOT / "scripts/operations_reference.py"))["reference"]
found["reference"] = "".join(reference())
def noted(request):
    found["client"] = [request.url.path, request.url.params["request"]]
    return httpx.Response(200, content=b"")
client = Client("https://x.example", transport=httpx.MockTransport(noted))
client.run("small", cells, by=["sex"], least=3, format="csv")
service.close()
print(json.dumps(found))
"""


def through_all_doors(folder: Path, *words: str) -> dict[str, object]:
    work = folder / "work"
    work.mkdir()
    root = Path(__file__).parents[2]
    paths = ":".join(map(str, (folder, root, root / "src")))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(work), *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.exhaustive
def test_an_operation_is_a_folder_and_a_row_and_an_option_a_line(tmp_path: Path) -> None:
    words = WORDS
    for old, new in OPTION_WORDS.items():
        words = words.replace(old, new)
    added = {
        "small/__init__.py": '"""Small counts."""\n',
        "small/settings.py": SETTINGS + OPTION,  # one more option: its line, and what it is called
        "small/words.toml": words,
        "small/operation.py": ROW,
    }
    (tmp_path / "small").mkdir()
    for name, text in added.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = through_all_doors(tmp_path, "--search", "optimal")
    assert found["command"] == found["endpoint"] == [18, None, 9, None]
    assert found["study"] == {"table": "table", "least": 3}
    path, request = found["client"]  # type: ignore[misc]
    assert (path, '"small": {"least": 3}' in request) == ("/api/v1/protect/small", True)
    assert "run_operation" in str(found["job"])
    for option in ("least", "search"):
        assert f"--{option}" in str(found["help"])
        assert f'name="{option}"' in str(found["page"])
        assert f"`{option}`" in str(found["reference"])
