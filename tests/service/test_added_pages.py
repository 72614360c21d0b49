"""A page and an endpoint that are added: what is touched for them, and that they work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet_service

PACKAGE = Path(discreet_service.__file__).parent
PAGE = '''\
"""Formats: in which forms tables are to be had."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from discreet.publication.formats import FORMATS, suffix_of
from discreet_service.permissions import Permission
from discreet_service.web import NavigationEntry, Visit, list_page, visit_with

router = APIRouter(prefix="/formats", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/formats", place=25, permissions=(Permission.releases_read,))


@router.get("")
def show_formats(visit: Annotated[Visit, Depends(visit_with(Permission.releases_read))]) -> Response:
    """All formats."""
    return list_page(visit, "formats", ("format", "ending"), [(each, suffix_of(each)) for each in FORMATS])
'''  # noqa: E501
WORDS = """\
[formats]
title = { en = "Formats", de = "Formate" }
lead = { en = "Forms in which tables are published.", de = "Formen, in denen Tabellen erscheinen." }
format = { en = "Format", de = "Format" }
ending = { en = "Ending", de = "Endung" }
nothing = { en = "There is none.", de = "Es gibt keine." }
"""
ENDPOINT = '''\
"""Formats: in which forms tables are to be had."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from discreet.publication.formats import FORMATS
from discreet_service.permissions import Permission
from discreet_service.web.access import Visit, visit_with

router = APIRouter(prefix="/api/v1/formats", tags=["formats"])


@router.get("")
def list_formats(visit: Annotated[Visit, Depends(visit_with(Permission.releases_read))]) -> dict[str, Any]:
    """All formats."""
    return {"formats": list(FORMATS)}
'''  # noqa: E501
EXAMPLES = """\
[list_formats.answers]
"200 application/json" = "{[text]}"
"""
#: What is added.
FOR_A_PAGE = {"studio/formats.py": PAGE, "studio/words/formats.toml": WORDS}
FOR_AN_ENDPOINT = {"web/formats.py": ENDPOINT, "web/interface/formats.toml": EXAMPLES}
ASKED = """\
import sys
from pathlib import Path
from discreet_service.application import create_app
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.asgi_browser import AsgiBrowser

folder = Path(sys.argv[1])
(folder / "service.secret").write_text("s" * 64)
(folder / "service.secret").chmod(0o600)
secret = folder / "service.secret"
service = Service(ServiceSettings(folder=folder, secret_file=secret, public_releases=True))
app = create_app(service)
browser = AsgiBrowser(app)
for language in ("en", "de"):
    answer = browser.get("/formats", headers={"accept-language": language})
    print(answer.status_code, *(word in answer.text for word in sys.argv[2:]))
print(browser.get("/api/v1/formats").json()["formats"][0])
print(app.openapi()["paths"]["/api/v1/formats"]["get"]["operationId"])
service.close()
"""


def extended(folder: Path, files: dict[str, str]) -> Path:
    """The package with some more files; everything else is what it is."""
    home = folder / "src" / "discreet_service"
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    for place in [home, *(each for each in home.rglob("*") if each.is_dir())]:
        for item in (PACKAGE / place.relative_to(home)).iterdir():
            if not (place / item.name).exists():
                (place / item.name).symlink_to(item)
    return home.parent


@pytest.mark.exhaustive
def test_a_page_and_an_endpoint_touch_at_most_four_files(tmp_path: Path) -> None:
    assert len(FOR_A_PAGE) <= 4
    assert len(FOR_AN_ENDPOINT) <= 4
    source = extended(tmp_path, FOR_A_PAGE | FOR_AN_ENDPOINT)
    root = Path(__file__).resolve().parents[2]
    words = ['href="/formats" aria-current="page">', "parquet", "Ending", "Endung"]
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path), *words],
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{root}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "200 True True True False",
        "200 True True False True",
        "csv",
        "list_formats",
    ]
