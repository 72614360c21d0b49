"""Counts come in, rounded tables go out: those of the library, to the byte; draws are secret."""

import hashlib
import hmac
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import Classification, Table, round_counts
from discreet.microdata import Secret
from discreet.protection.rounding import Rounding, audit_rounding
from tests.helpers.rows import for_all_rows
from tests.helpers.service_callers import MethodOffice

BY = ["region", "sex"]
TREE = {"N": None, "n1": "N", "n2": "N", "S": None, "s1": "S", "s2": "S"}


def seed_of_table(key: bytes, owner: str, name: str) -> Secret:
    """As the documentation says: the same person and name of a table, the same draws."""
    said = "\0".join(("rounding 1", owner, name)).encode()
    return Secret(hmac.new(key, said, hashlib.sha256).digest())


def rounded(
    office: MethodOffice, said: dict[str, Any], name: str = "paula", study: bool = False
) -> Any:
    return office.ask("protect/rounding" + ("/study" if study else ""), said, name)


def seed(office: MethodOffice) -> Secret:
    return seed_of_table(office.service.key_for("rounding"), "paula", "people")


def counted(seed: int = 7) -> pl.DataFrame:
    """Counts by region, with levels, and sex; totals among them, cell keys beside them."""
    draw = np.random.default_rng(seed)
    leaves = pl.DataFrame(
        {"region": ["n1", "n2", "s1", "s2"] * 2, "sex": ["m"] * 4 + ["w"] * 4}
    ).with_columns(n=pl.Series(draw.integers(1, 40, 8)), key=pl.Series(draw.integers(0, 256, 8)))
    above = leaves.with_columns(region=pl.col("region").str.slice(0, 1).str.to_uppercase())
    parts = [leaves, above, leaves.with_columns(region=pl.lit("Total"))]
    every = pl.concat([*parts, *(each.with_columns(sex=pl.lit("Total")) for each in parts)])
    return every.group_by(BY, maintain_order=True).agg(pl.col("n").sum(), pl.col("key").sum() % 256)


CELLS = counted()


def asked(**rounding: Any) -> dict[str, Any]:
    said = {"by": BY, "classifications": {"region": {"codes": TREE}}, "name": "people"}
    return {**said, "rounding": rounding, "cells": CELLS.select(*BY, "n").to_dicts()}


def library_table(**more: Any) -> Table:
    tree = Classification.from_parents("region", TREE)
    return Table.from_cells(CELLS, [tree, "sex"], count="n", name="people", **more)


CONTROLLED = {"method": "controlled", "base": 3}


@pytest.mark.parametrize(
    ("how", "form"),
    [
        *((CONTROLLED, form) for form in ("csv", "json", "html", "xlsx", "px", "json-stat")),
        (CONTROLLED, "sdmx-csv"),
        ({"method": "small-counts", "base": 5}, "csv"),
        ({"method": "conventional", "base": 10, "ties": "even"}, "csv"),
        ({"method": "conventional", "base": 5, "margins": 10}, "csv"),
        ({"method": "random", "base": 5}, "csv"),
    ],
)
def test_rounded_tables_are_those_of_the_library(
    office: MethodOffice, tmp_path: Path, how: dict[str, Any], form: str
) -> None:
    answer = rounded(office, {**asked(**how), "format": form})
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    options = dict(how)
    if how["method"] == "random":
        options["seed"] = seed(office)
        with pytest.warns(match="averages? to the true one|discloses the true value"):
            safe = round_counts(library_table(), **options)
    else:
        safe = round_counts(library_table(), **options)
    suffix = {"json-stat": ".json", "sdmx-csv": ".csv"}.get(form, f".{form}")
    written = safe.write(tmp_path / f"people{suffix}", format=form)
    assert answer.content == written.read_bytes()


def test_cell_keys_decide_as_in_the_library(office: MethodOffice, tmp_path: Path) -> None:
    said = asked(method="keyed", base=5) | {"cell_key": "key", "key_grid": 256, "format": "csv"}
    answer = rounded(office, {**said, "cells": CELLS.to_dicts()})
    assert answer.status_code == 200, answer.text
    safe = round_counts(library_table(cell_key="key", key_grid=256), 5)
    assert answer.content == safe.write(tmp_path / "people.csv").read_bytes()
    assert rounded(office, {**said, "cells": CELLS.to_dicts()}, "otto").content == answer.content


def test_unbiased_rounding_draws_from_the_seed_of_the_service(office: MethodOffice) -> None:
    flat = CELLS.filter(pl.col("region").is_in(["Total", "N", "S"]))
    said = asked(method="controlled", base=5, unbiased=True) | {"format": "json"}
    said |= {"classifications": {}, "cells": flat.select(*BY, "n").to_dicts()}
    table = Table.from_cells(flat, BY, count="n", name="people")
    own = seed(office)
    safe = round_counts(table, 5, "controlled", unbiased=True, seed=own)
    found = rounded(office, said).json()["cells"]["value"]
    assert found == safe.to_polars(complete=True)["value"].to_list()


def test_draws_are_repeated_for_one_person_and_name_only(office: MethodOffice) -> None:
    said = asked(method="random", base=10) | {"format": "json"}

    def values(said: dict[str, Any], name: str = "paula") -> list[int]:
        found = rounded(office, said, name).json()["cells"]["value"]
        assert isinstance(found, list)
        return found

    first = values(said)
    assert values(said) == first
    assert values(said, "otto") != first
    assert values(said | {"name": "others"}) != first
    # One corrected count draws no other cell anew.
    rows = CELLS.select(*BY, "n").to_dicts()
    rows[0]["n"] += 1
    changed = values(said | {"cells": rows})
    assert sum(a != b for a, b in zip(first, changed, strict=True)) <= 1
    for secret in (b"rounding", office.service.key_for("rounding")):
        own = seed_of_table(secret, "paula", "people")
        assert repr(own) == "<Secret>"


def test_studies_are_the_audit_of_the_library(office: MethodOffice) -> None:
    told = rounded(office, asked(method="conventional", base=3), study=True).json()
    how = Rounding(base=3, method="conventional")
    safe = round_counts(library_table(), 3, "conventional")
    own = audit_rounding([safe], [library_table()], how)
    assert told["can_be_worked_out"] == list(own.unprotected)
    assert told["audited"] == int(own.sensitive.sum())
    shown = {
        tuple(row[:2]): row[2] for row in safe.to_polars(complete=True).select(*BY, "value").rows()
    }
    missed = 0
    for region in ("Total", *TREE):
        missed += shown[region, "m"] + shown[region, "w"] != shown[region, "Total"]
    for sex in ("Total", "m", "w"):
        for total, parts in (("Total", "NS"), ("N", ("n1", "n2")), ("S", ("s1", "s2"))):
            missed += sum(shown[part, sex] for part in parts) != shown[total, sex]
    assert (told["sums"], told["sums_missed"]) == (7 + 9, missed)


def test_totals_that_are_no_sums_are_said_not_to_be_audited(office: MethodOffice) -> None:
    rows = CELLS.select(*BY, "n").to_dicts()
    rows[-1]["n"] += 100
    said = asked(method="conventional", base=3) | {"cells": rows}
    told = rounded(office, said, study=True).json()
    assert (told["sums"], told["audited"]) == (None, None)
    assert told["not_audited"]
    wrong = rounded(office, asked(method="controlled", base=3) | {"cells": rows})
    assert wrong.status_code == 422
    assert "the parts do not add up to the total" in wrong.text


@for_all_rows(
    ("wrong", "where", "told"),
    [
        ({"rounding": {"method": "keyed"}}, "cell_key", "the method needs cell keys"),
        ({"rounding": {"method": "controlled", "base": 1}}, "rounding.base", "at least 2"),
        (
            {"rounding": {"method": "controlled", "margins": 10}},
            "rounding.margins",
            "additive totals",
        ),
        ({"rounding": {"method": "magic"}}, "rounding.method", "unknown value"),
        ({"rounding": {"method": "conventional", "seed": 5}}, "rounding.seed", "unknown key"),
        ({"rounding": {"method": "random", "unbiased": True}}, "rounding.unbiased", "controlled"),
        ({"cell_key": "n"}, "by", "two purposes"),
        ({"count": "persons"}, "count", "not found"),
        ({"by": ["region", "age"]}, "by[1]", "not found"),
        ({"key_grid": "many", "cell_key": None}, "key_grid", ""),
        ({"totals": {"age": "All"}}, "totals", "not in by"),
        ({"name": "../x"}, "name", "wrong form"),
        ({"seed": "1"}, "", "unknown option"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    office: MethodOffice, wrong: dict[str, Any], where: str, told: str
) -> None:
    answer = rounded(office, asked(method="controlled", base=3) | wrong)
    assert answer.status_code == 422, answer.text
    document = answer.json()
    problems = document["problems"]
    assert any(each["where"] == where and told in each["message"] for each in problems), problems
    text = answer.text.replace(document["instance"], "")  # a number drawn at random
    assert str(CELLS["n"].max()) not in text
