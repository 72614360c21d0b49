"""Comparison: what readers would see changed if a draft took the place of a release, and why.
Compared are protected tables, never what lies behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from discreet.tables import ProtectedTable
from discreet_service.releases.release import ServedRelease

_MOST_COMPARED = 5_000_000
#: Cells and codes that are named; all are counted.
MOST_NAMED = 40
#: What a release was made of, and how it is called as a reason; told only where it is no digest.
_ORIGINS = (("version", "data", True), ("parameters", "parameters", False),
            ("programme", "programme", False))  # fmt: skip


def compared(
    draft: ServedRelease,
    before: ServedRelease | None,
    *,
    made_of: Mapping[str, Any] | None = None,
    was_made_of: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Per table, what a reader would see changed, and why."""
    old = {} if before is None else before.tables
    found: list[dict[str, Any]] = []
    known: list[dict[str, Any]] = []
    for name, reason, named in _ORIGINS:
        new, was = (made_of or {}).get(name), (was_made_of or {}).get(name)
        if new and was and new != was:
            known.append({"reason": reason} | ({"before": was, "after": new} if named else {}))
    listed = {item["reason"] for item in known}
    for name, reason in (("data_versions", "data"), ("data_version", "data"),
                         ("parameters", "parameters")):  # fmt: skip
        new, was = draft.manifest.get(name), before and before.manifest.get(name)
        if reason not in listed and new and was and new != was:
            known.append({"reason": reason, "before": _text(was), "after": _text(new)})
            listed.add(reason)
    for name in draft.tables:
        if name not in old or before is None:
            found.append({"table": name, "change": "new"})
        elif max(draft.tables[name].cells, old[name].cells) > _MOST_COMPARED:
            found.append({"table": name, "change": "not compared: too large"})
        else:
            new_table, old_table = draft.read_table(name), before.read_table(name)
            told = {"table": name} | changed_cells(new_table, old_table)
            if told["change"] != "same":
                told["reasons"] = reasons(new_table, old_table, told, known)
            found.append(told)
    found += [{"table": name, "change": "gone"} for name in old if name not in draft.tables]
    return found


def changed_cells(new: ProtectedTable, old: ProtectedTable) -> dict[str, Any]:
    """Changes that a reader of one table would see."""
    names = [dimension.name for dimension in new.dimensions]
    if names != [dimension.name for dimension in old.dimensions]:
        before = [dimension.name for dimension in old.dimensions]
        return {"change": "other variables", "variables": names, "before": before}
    codes = {
        dimension.name: _code_changes(dimension.codes, before.codes)
        for dimension, before in zip(new.dimensions, old.dimensions, strict=True)
    }
    # The cells that both have, in the order of the new table, with the figures of both.
    sides = []
    for table in (new, old):
        frame = table.to_polars(complete=True).select(
            *(pl.col(name).alias(f"by_{at}") for at, name in enumerate(names)),
            pl.col("value").cast(pl.Float64),
            "status",
        )
        sides.append(frame if names else frame.with_columns(by_0=pl.lit("")))
    by = [f"by_{at}" for at in range(max(len(names), 1))]
    mine, theirs = sides
    both = mine.join(theirs, on=by, how="inner", suffix="_old", maintain_order="left")
    hidden, was_hidden = pl.col("status") == "suppressed", pl.col("status_old") == "suppressed"
    other = pl.col("value").ne_missing(pl.col("value_old")) & ~hidden & ~was_hidden
    kinds = {"values": other, "hidden": hidden & ~was_hidden, "shown": ~hidden & was_hidden}
    counts = both.select(**{name: kind.sum() for name, kind in kinds.items()}, common=pl.len()).row(
        0, named=True
    )
    added = {name: each for name, each in codes.items() if each["added"] or each["removed"]}
    moved = any(counts[kind] for kind in kinds) or bool(added)
    cells = [
        cell
        for kind, chosen in kinds.items()
        if counts[kind]
        for cell in _named(both.filter(chosen).head(MOST_NAMED), names, kind)
    ]
    return {
        "change": "changed" if moved else "same",
        "codes": added,
        **counts,
        **({"cells": cells[:MOST_NAMED]} if cells else {}),
    }


def _code_changes(new: Sequence[str], old: Sequence[str]) -> dict[str, Any]:
    known, before = set(new), set(old)
    came, went = [c for c in new if c not in before], [c for c in old if c not in known]
    named = {"added_codes": came[:MOST_NAMED], "removed_codes": went[:MOST_NAMED]}
    return {"added": len(came), "removed": len(went)} | {
        k: each for k, each in named.items() if each
    }


def _named(rows: pl.DataFrame, names: list[str], kind: str) -> list[dict[str, Any]]:
    return [
        {
            "cell": {name: row[f"by_{at}"] for at, name in enumerate(names)},
            "change": kind,
            "before": {"value": row["value_old"], "status": row["status_old"]},
            "after": {"value": row["value"], "status": row["status"]},
        }
        for row in rows.iter_rows(named=True)
    ]


def reasons(
    new: ProtectedTable,
    old: ProtectedTable,
    told: Mapping[str, Any],
    known: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Why a table differs, as far as both sides tell."""
    found = [dict(item) for item in known]
    listed = {item["reason"] for item in found}
    mine, theirs = new.provenance, old.provenance
    digests = [item.digests.get("data") for item in (mine, theirs)]
    if "data" not in listed and None not in digests and digests[0] != digests[1]:
        found.append({"reason": "data"})
    same_data = None not in digests and digests[0] == digests[1]
    tables = [item.digests.get("perturbation_table") for item in (mine, theirs)]
    # These digests are keyed with the data: they can be compared only where those are the same.
    if "parameters" not in listed and same_data and None not in tables and tables[0] != tables[1]:
        found.append({"reason": "parameters"})
    if (mine.method, mine.key_grid) != (theirs.method, theirs.key_grid):
        found.append({"reason": "method", "before": theirs.method, "after": mine.method})
    if mine.version != theirs.version:
        found.append({"reason": "software", "before": theirs.version, "after": mine.version})
    if told["change"] == "other variables":
        return [*found, {"reason": "variables"}]
    if told["codes"]:
        found.append({"reason": "classification", "variables": list(told["codes"])})
    if dict(new.universe) != dict(old.universe):
        found.append({"reason": "universe"})
    if told["hidden"] or told["shown"]:
        found.append({"reason": "suppressed", "hidden": told["hidden"], "shown": told["shown"]})
    return found or [{"reason": "unknown"}]


def _text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    if "statistic" in value:
        return f"{value['statistic']}@{value.get('version', '')}"
    return ", ".join(f"{name} {each}" for name, each in value.items())
