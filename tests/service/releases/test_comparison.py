"""Drafts against what is published: what changed, in which cells, and why, as far as both tell."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Dimension, ProtectedTable
from discreet_service.releases import comparison
from discreet_service.releases.comparison import MOST_NAMED, changed_cells, compared
from discreet_service.releases.release import ServedRelease


@dataclass
class Listed:
    """What the list of a release says of a table."""

    cells: int


@dataclass
class Release:
    """A release, or a draft of one, with its tables at hand."""

    whole: Mapping[str, ProtectedTable]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, Listed]:
        return {name: Listed(table.grid_size) for name, table in self.whole.items()}

    def read_table(self, name: str) -> ProtectedTable:
        return self.whole[name]


def told(new: Any, old: Any, **more: Any) -> list[dict[str, Any]]:
    draft, before = (cast("ServedRelease | None", each) for each in (new, old))
    assert draft is not None
    return compared(draft, before, **more)


def one(new: ProtectedTable, old: ProtectedTable, **more: Any) -> dict[str, Any]:
    (found,) = told(Release({"T1": new}), Release({"T1": old}), **more)
    return found


def with_cells(table: ProtectedTable, values: Any = (), hidden: Any = ()) -> ProtectedTable:
    value, status = table.value.copy(), table.status.copy()
    for at, number in dict(values).items():
        value[at] = number
    for at in hidden:
        value[at], status[at] = 0, CellStatus.suppressed
    return replace(table, value=value, status=status)


@pytest.fixture
def table() -> ProtectedTable:
    return census_example()


def test_what_is_new_gone_or_the_same(table: ProtectedTable) -> None:
    new, old = Release({"T1": table, "T2": table}), Release({"T1": table, "T0": table})
    changes = {each["table"]: each for each in told(new, old)}
    assert {name: each["change"] for name, each in changes.items()} == {
        "T1": "same", "T2": "new", "T0": "gone",
    }  # fmt: skip
    assert changes["T1"]["common"] == 18
    assert "reasons" not in changes["T1"]
    assert told(new, None) == [{"table": t, "change": "new"} for t in ("T1", "T2")]


def test_each_kind_of_change_is_counted_and_its_cells_are_named(table: ProtectedTable) -> None:
    old = with_cells(table, hidden=[5])
    new = with_cells(table, values={3: int(table.value[3]) + 2}, hidden=[4])
    found = one(new, old)
    assert (found["values"], found["hidden"], found["shown"]) == (1, 1, 1)
    assert [each["change"] for each in found["cells"]] == ["values", "hidden", "shown"]
    moved, hidden, shown = found["cells"]
    codes = dict(zip(("sex", "age"), ("Total", table.dimensions[1].codes[3]), strict=True))
    assert moved["cell"] == codes
    assert moved["after"]["value"] - moved["before"]["value"] == 2
    assert hidden["after"] == {"value": None, "status": "suppressed"}
    assert hidden["before"]["value"] == table.value[4]
    assert shown["before"] == {"value": None, "status": "suppressed"}
    assert shown["after"]["value"] == table.value[5]
    assert {"reason": "suppressed", "hidden": 1, "shown": 1} in found["reasons"]


def test_hidden_cells_are_compared_by_being_hidden_alone(table: ProtectedTable) -> None:
    """What lies behind hidden cells is on neither side: nothing of it is told."""
    one_way, other = with_cells(table, hidden=[4]), with_cells(table, hidden=[4])
    one_way.value[4], other.value[4] = 731_731, 7
    found = changed_cells(one_way, other)
    assert found["change"] == "same"
    assert "731731" not in json.dumps(found).replace("_", "")
    shown = changed_cells(with_cells(table), one_way)
    assert shown["cells"][0]["before"]["value"] is None


def test_many_cells_are_counted_and_the_first_are_named() -> None:
    long = Classification.flat("age", [f"{k:03}" for k in range(3 * MOST_NAMED)])
    base = census_example()
    size = 3 * MOST_NAMED + 1
    dimension = Dimension(classifications=(long,))
    index = (np.arange(size, dtype=np.int32),)
    status = np.full(size, CellStatus.published, dtype=np.int8)
    flat = replace(
        base, dimensions=(dimension,), index=index, value=np.arange(size) + 1, status=status
    )
    found = changed_cells(replace(flat, value=flat.value + 1), flat)
    assert found["values"] == size
    assert len(found["cells"]) == MOST_NAMED
    assert [each["cell"]["age"] for each in found["cells"][:2]] == ["Total", "000"]


def test_codes_that_come_and_go_are_told(table: ProtectedTable) -> None:
    other = Classification.flat("age", ["1", "2", "3", "4", "9"])
    dimensions = (table.dimensions[0], Dimension(classifications=(other,)))
    found = one(replace(table, dimensions=dimensions), table)
    assert found["codes"] == {
        "age": {"added": 1, "removed": 1, "added_codes": ["9"], "removed_codes": ["5"]}
    }
    assert found["common"] == 15
    assert found["values"] == 0
    assert found["change"] == "changed"
    assert {"reason": "classification", "variables": ["age"]} in found["reasons"]


def test_other_variables_are_no_comparison(table: ProtectedTable) -> None:
    turned = replace(table, dimensions=table.dimensions[::-1], index=table.index[::-1])
    found = one(turned, table)
    assert found["change"] == "other variables"
    assert (found["variables"], found["before"]) == (["age", "sex"], ["sex", "age"])
    assert "cells" not in found
    assert found["reasons"][-1] == {"reason": "variables"}


def test_tables_too_large_are_not_read(
    table: ProtectedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "_MOST_COMPARED", 17)
    monkeypatch.setattr(Release, "read_table", lambda *_: pytest.fail("it was read"))
    assert one(table, table)["change"] == "not compared: too large"


def because(table: ProtectedTable, **more: Any) -> list[dict[str, Any]]:
    found = one(with_cells(table, values={3: 999}), table, **more)["reasons"]
    assert isinstance(found, list)
    return found


def test_reasons_are_those_that_both_sides_tell(table: ProtectedTable) -> None:
    assert because(table) == [{"reason": "unknown"}]
    first = {"version": "2022-1", "parameters": "a" * 32, "programme": "p" * 64}
    second = {"version": "2022-2", "parameters": "b" * 32, "programme": "q" * 64}
    assert because(table, made_of=second, was_made_of=first) == [
        {"reason": "data", "before": "2022-1", "after": "2022-2"},
        {"reason": "parameters"},
        {"reason": "programme"},
    ]
    # Digests of parameters and programmes are compared, and never shown.
    assert "aaaa" not in json.dumps(because(table, made_of=second, was_made_of=first))
    assert because(table, made_of=second, was_made_of={}) == [{"reason": "unknown"}]


def test_provenance_tells_of_data_method_and_software(table: ProtectedTable) -> None:
    def made(**more: Any) -> ProtectedTable:
        changed = replace(table.provenance, **more)
        return with_cells(replace(table, provenance=changed), values={3: 999})

    known = replace(table, provenance=replace(table.provenance, digests={"data": "1"}))
    assert one(made(digests={"data": "2"}), known)["reasons"] == [{"reason": "data"}]
    assert one(made(digests={"data": "1"}), known)["reasons"] == [{"reason": "unknown"}]
    assert one(made(version="2"), table)["reasons"] == [
        {"reason": "software", "before": "1", "after": "2"}
    ]
    assert one(made(key_grid="4096"), table)["reasons"][0]["reason"] == "method"


def test_digests_of_parameters_are_compared_over_the_same_data_only(
    table: ProtectedTable,
) -> None:
    """They are keyed with the data: over other data they differ whatever the parameters are."""

    def over(data: str, parameters: str) -> ProtectedTable:
        digests = {"data": data, "perturbation_table": parameters}
        return replace(table, provenance=replace(table.provenance, digests=digests))

    def reasons(new: ProtectedTable, old: ProtectedTable) -> list[str]:
        return [each["reason"] for each in one(with_cells(new, values={3: 9}), old)["reasons"]]

    assert reasons(over("1", "x"), over("1", "y")) == ["parameters"]
    assert reasons(over("2", "x"), over("1", "y")) == ["data"]


def test_manifests_tell_of_versions(table: ProtectedTable) -> None:
    def of(**manifest: Any) -> Release:
        return Release({"T1": table}, manifest)

    new = Release({"T1": with_cells(table, values={3: 9})}, {
        "data_version": "2", "parameters": {"statistic": "census", "version": "2"},
    })  # fmt: skip
    old = of(data_version="1", parameters={"statistic": "census", "version": "1"})
    (found,) = told(new, old)
    assert found["reasons"] == [
        {"reason": "data", "before": "1", "after": "2"},
        {"reason": "parameters", "before": "census@1", "after": "census@2"},
    ]
    named = told(new, old, made_of={"version": "b"}, was_made_of={"version": "a"})[0]["reasons"]
    assert [each["reason"] for each in named] == ["data", "parameters"]
    assert named[0] == {"reason": "data", "before": "a", "after": "b"}
