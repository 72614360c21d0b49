"""What is said about hidden cells: in public by numbers of cells, in the house by values too.

In: tables that were protected together. Out: plain values. The public part has no value,
no cost, no proof – a proof is a digest over true values, and could be tried out – and does
not say how cells were chosen, for who knows that can infer more than from a pattern alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.files import write_text
from discreet.release.hiding import Hidden

if TYPE_CHECKING:
    from discreet.suppression.report import PartHidden

__all__ = [
    "INTERNAL",
    "internal_entry",
    "is_current",
    "public_entries",
    "public_text",
    "write_internal",
]

#: Names of the internal report, CONFIDENTIAL.
INTERNAL = ("suppression-internal.json", "suppression-internal.txt")

_FORMAT = "discreet-suppression"


def public_entries(done: Hidden, reasons: str) -> dict[str, dict[str, Any]]:
    """What anyone may know of the hidden cells of each table.

    Args:
        done: The tables that were protected together.
        reasons: Whether reasons are published: "none" keeps primary and secondary together.
    """
    from discreet.suppression import report_on

    values: dict[str, dict[str, Any]] = {name: {} for name in done.tables}
    for value, suppression in done.by_value.items():
        parts: dict[str, list[PartHidden]] = {}
        for part in report_on(suppression).parts:
            parts.setdefault(part.table, []).append(part)
        for name, own in parts.items():
            values[name][value] = _numbers(own, told=reasons != "none")
    return {
        name: {"values": told, "protected": True, "with": [n for n in done.tables if n != name]}
        for name, told in values.items()
    }


def _numbers(parts: Sequence[PartHidden], *, told: bool) -> dict[str, Any]:
    listed = [
        {
            "part": part.part,
            "cells": part.cells,
            "hidden": part.primary + part.secondary,
            **({"primary": part.primary, "secondary": part.secondary} if told else {}),
        }
        for part in parts
    ]
    keys = ("cells", "hidden", *(("primary", "secondary") if told else ()))
    return {**{key: sum(each[key] for each in listed) for key in keys}, "parts": listed}


def public_text(entries: Mapping[str, Any]) -> str:
    """The public report on all tables with hidden cells.

    Args:
        entries: Name of table → what anyone may know.
    """
    content = {"format": _FORMAT, "format_version": 1, "tables": dict(entries)}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def internal_entry(done: Hidden, digests: Mapping[str, str]) -> dict[str, Any]:
    """Everything about tables that were protected together. CONFIDENTIAL.

    Args:
        done: The tables.
        digests: The digests of the tables, by which a later run knows the report again.
    """
    from discreet.suppression import report_on

    reports = {value: report_on(each) for value, each in done.by_value.items()}
    return {
        "tables": {name: digests[name] for name in done.tables},
        "earlier": list(done.earlier),
        "values": {value: report.described() for value, report in reports.items()},
        "text": {value: report.text() for value, report in reports.items()},
    }


def write_internal(entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write the internal report, readable by its owner only. CONFIDENTIAL.

    Args:
        entries: One per system of tables.
        folder: Its folder, outside of the release.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    systems = [{key: each[key] for key in each if key != "text"} for each in entries]
    content = {"format": f"{_FORMAT}-internal", "format_version": 1, "systems": systems}
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    lines = ["CONFIDENTIAL", ""]
    for each in entries:
        lines.append(f"Tables {', '.join(each['tables'])}")
        if each["earlier"]:
            lines.append(f"Published before: {', '.join(each['earlier'])}")
        for value, words in each["text"].items():
            lines += [f"Value {value}", words, ""]
    write_text(folder / INTERNAL[0], text, private=True)
    write_text(folder / INTERNAL[1], "\n".join(lines), private=True)


def is_current(folder: Path, digests: Mapping[str, str]) -> bool:
    """Whether the internal report there is about exactly these tables.

    Args:
        folder: The folder of the internal report.
        digests: Name → digest of the tables with hidden cells.
    """
    try:
        content = json.loads((folder / INTERNAL[0]).read_text("utf-8"))
        told: dict[str, str] = {}
        for system in content["systems"]:
            told |= system["tables"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return told == dict(digests)
