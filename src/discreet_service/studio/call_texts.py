"""Call texts: what a page shows, for programs in Python, R and at the command line, to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


def file_call_texts(
    base: str,
    path: str,
    functions: tuple[str, str],
    file: str,
    asked: Mapping[str, Any],
    *,
    suffix: str = "csv",
) -> dict[str, str]:
    """Example calls that send a file with a request."""
    python, r = functions
    said = quote(json.dumps(asked, ensure_ascii=False, separators=(",", ":")), safe=":,")
    name = str(asked.get("name", "table"))
    return {
        "python": (
            "import os\n\nimport polars as pl\nfrom discreet_service.client import Client\n\n"
            f"rows = pl.read_csv({json.dumps(file)}, infer_schema=False)\n"
            f'with Client({json.dumps(base)}, os.environ["DISCREET_SERVICE_KEY"]) as client:\n'
            f"    answer = client.{python}\n        rows,\n        {python_value(asked, 2)},\n"
            f'        format="csv",\n    )\n'
            f'with open({json.dumps(f"{name}.{suffix}")}, "wb") as file:\n    file.write(answer)\n'
        ),
        "r": (
            f"library(discreet)\n\nSys.setenv(DISCREET_SERVICE_URL = {json.dumps(base)})\n"
            f"answer <- {r}\n  {json.dumps(file)},\n  {r_value(asked, 1)}\n)\n"
        ),
        "curl": (
            'curl -H "Authorization: Bearer $DISCREET_SERVICE_KEY" -H "Content-Type: text/csv" \\\n'
            f"  --data-binary @{file} \\\n  {shlex.quote(f'{base}{path}?request={said}')}"
        ),
    }


def python_value(value: Any, depth: int) -> str:
    r"""A value as Python writes it.

    >>> python_value({"base": 5, "unbiased": True}, 0)
    '{\n    "base": 5,\n    "unbiased": True,\n}'
    """
    pad = "    " * (depth + 1)
    if isinstance(value, Mapping):
        inner = [f"{pad}{json.dumps(k)}: {python_value(v, depth + 1)},\n" for k, v in value.items()]
        return "{\n" + "".join(inner) + "    " * depth + "}"
    if isinstance(value, list):
        return f"[{', '.join(python_value(item, depth + 1) for item in value)}]"
    return str(value) if value is None or isinstance(value, bool) else _plain(value)


def r_value(value: Any, depth: int) -> str:
    r"""A value as R writes it.

    >>> r_value({"unbiased": True, "by": ["sex"]}, 0)
    'list(\n  `unbiased` = TRUE,\n  `by` = list("sex")\n)'
    """
    pad = "  " * (depth + 1)
    if isinstance(value, Mapping):
        inner = [f"{pad}`{name}` = {r_value(each, depth + 1)}" for name, each in value.items()]
        return "list(\n" + ",\n".join(inner) + "\n" + "  " * depth + ")"
    if isinstance(value, list):
        return f"list({', '.join(r_value(item, depth + 1) for item in value)})"
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
