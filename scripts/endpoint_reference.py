"""The reference of endpoints: what the description of the interface says of each."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from discreet.microdata import Secret
from discreet_service.application import create_app
from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from discreet_service.web.openapi import operations

#: Answers that every endpoint may give; the page says so once.
_EVERYWHERE = {"401", "403", "422", "429", "default"}


def reference() -> Iterator[str]:
    """Lines of Markdown: a table of endpoints for each resource."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Secret.generate().write(folder / "secret")
        service = Service(ServiceSettings(folder=folder, secret_file=folder / "secret"))
        document = create_app(service).openapi()
        service.close()
    listed = sorted(operations(document), key=lambda row: (resource_of(row[1]), row[1], row[0]))
    for resource, rows in groupby(listed, key=lambda row: resource_of(row[1])):
        yield f"### `{resource}`\n"
        yield "| request | what it does | needs | answers |\n|---|---|---|---|"
        for method, path, operation in rows:
            summary = operation.get("summary", "").rstrip(".").replace("|", "\\|")
            needs = f"`{operation['x-permission']}`" if operation.get("x-permission") else ""
            answers = ", ".join(sorted({*operation["responses"]} - _EVERYWHERE))
            yield f"| {method.upper()} `{path}` | {summary} | {needs} | {answers} |"
        yield ""


def resource_of(path: str) -> str:
    """The part of an address that names what it is about."""
    api = "/api/v1/" if path.startswith("/api/v1/") else "/"
    return api + re.split(r"[/:{]", path.removeprefix(api))[0]
