"""What a query comes to is known before anything is counted."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.arrays import CellIndex
from discreet_service.datasets import DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries import QueryPlan, canonical_query, plan_of, read_query
from discreet_service.settings import LimitSettings
from tests.helpers.rows import for_all_rows
from tests.service.queries.conftest import Ask, evidence_of


def planned(census: DataVersion, document: dict[str, Any], **limits: int) -> QueryPlan:
    query, _ = canonical_query(read_query({"unit": "person", **document}), census)
    return plan_of(query, census, LimitSettings(**limits), key=b"key")


@for_all_rows(
    "document",
    [
        {"by": []},
        {"by": ["sex"]},
        {"by": ["sex", "age5"], "totals": "none"},
        {"by": ["sex", {"variable": "region", "level": [1, 2, 3]}], "totals": ["region"]},
        {
            "by": [{"variable": "region", "level": 2}],
            "where": [{"variable": "region", "codes": "01"}],
        },
        {"by": [{"variable": "nationality", "level": [1, 2]}, {"variable": "sex", "codes": ["m"]}]},
        {"by": ["sex"], "measures": ["count", {"share": "count", "over": ["sex"]}]},
        {"by": ["occupation", {"variable": "education", "level": 1}]},
    ],
)
def test_cells_are_those_of_the_answer(
    census: DataVersion, ask: Ask, document: dict[str, Any]
) -> None:
    plan, table = planned(census, document), ask({"unit": "person", **document})
    assert plan.cells == table.to_polars(complete=True).height
    assert plan.asked.cells == plan.cells
    spanned = math.prod(plan.asked.spanning.values())
    assert spanned == plan.cells // len(plan.query.measures)


def test_exposure_is_of_variables_that_do_not_tell_where(census: DataVersion) -> None:
    both = {"by": ["sex", {"variable": "region", "level": 1}]}
    assert planned(census, both).exposure == pytest.approx(1.5)
    filtered = {"by": ["age5"], "where": [{"variable": "sex", "codes": ["m"]}]}
    ages = census.units["person"].variables["age5"].level(1).codes
    assert planned(census, filtered).exposure == pytest.approx(1.5 * (1 + 1 / ages))
    some = {"by": [{"variable": "age5", "codes": ["0-4", "5-9"]}]}
    assert planned(census, some).exposure == pytest.approx(1 + 1 / ages), "of all its codes"


def test_large_tables_are_jobs_and_larger_ones_are_refused(census: DataVersion) -> None:
    document = {"by": ["sex", "age5"]}
    cells = planned(census, document).cells
    assert planned(census, document, cells_instant=cells).kind == "instant"
    assert planned(census, document, cells_instant=cells - 1).kind == "job"
    refused = planned(census, document, cells_instant=1, cells_job=cells - 1)
    with pytest.raises(ServiceError) as caught:
        refused.require()
    assert (caught.value.code, caught.value.limit) == ("too-many-cells", cells - 1)
    assert caught.value.actual == cells


def test_policies_see_levels_by_their_names(census: DataVersion) -> None:
    origins = list(census.units["person"].variables["nationality"].codes_of(1)[:2])
    ages = {"variable": "age5", "codes": ["0-4", "5-9"]}
    asked = planned(
        census,
        {
            "by": [{"variable": "region", "level": [1, 2]}, ages],
            "where": [{"variable": "nationality", "level": 1, "codes": origins}],
            "totals": ["age5"],
        },
    ).asked
    age, region = asked.by
    shown = [(axis.level, axis.codes, axis.geography) for axis in region if axis is not None]
    assert shown == [("state", None, True), ("district", None, True)]
    assert len(shown) == len(region), "without a total"
    assert age[0] is None
    assert age[1] is not None
    assert age[1].codes == ("0-4", "5-9")
    assert age[1].size == census.units["person"].variables["age5"].level(1).codes
    assert asked.where[0].variable == "nationality"


def test_evidence_is_what_everybody_would_be_shown(census: DataVersion, ask: Ask) -> None:
    where = [{"variable": "age5", "codes": ["0-4", "20-24"]}]
    document = {"by": ["sex", {"variable": "region", "level": [1, 2]}], "where": where}
    evidence = evidence_of(census, document)
    assert evidence.universe_count() == ask({"unit": "person", "where": where}).get()
    inner = evidence.published_counts()
    shown = ask({"unit": "person", **document, "totals": "none"})
    districts = [code for code in shown.dimensions[1].codes if len(code) == 5 and code.isdigit()]
    names = [one.variable for one in evidence.query.by]
    assert names == ["region", "sex"]
    expected = [[shown.get(sex, place) for sex in ("m", "w")] for place in districts]
    assert inner.tolist() == expected


def test_units_are_told_apart_without_their_keys(census: DataVersion) -> None:
    everybody = evidence_of(census, {"by": []}).universe_units()
    assert len(everybody) == len(set(everybody.tolist())) == 3_000
    where = [{"variable": "sex", "codes": ["m"]}]
    men = evidence_of(census, {"by": ["age5"], "where": where}).universe_units()
    women = evidence_of(census, {"where": [{"variable": "sex", "codes": ["w"]}]}).universe_units()
    assert set(men.tolist()) | set(women.tolist()) == set(everybody.tolist())
    assert not set(men.tolist()) & set(women.tolist())
    records, column = census.records("person")
    keys = records.lazy().select(column).collect().to_native()[column].to_list()
    assert not set(keys) & set(everybody.tolist())


@pytest.mark.parametrize(
    "document",
    [
        {"by": ["sex"]},
        {"by": ["sex", "age5"], "where": [{"variable": "marital_status", "codes": ["married"]}]},
        {"by": [{"variable": "region", "level": [1, 2]}, "sex"]},
        {"by": ["sex", {"variable": "region", "codes": ["01", "02", "01001"], "level": [1, 2]}]},
        {"by": [{"variable": "nationality", "level": 1}], "where": [{"variable": "region",
                                                                     "codes": ["01"]}]},
        {"by": [{"variable": "age5", "codes": ["20-24", "0-4"]}]},
        {"by": []},
    ],
)  # fmt: skip
def test_policies_look_at_the_cells_that_tables_of_their_own_have(
    census: DataVersion, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = evidence_of(census, document)
    asked: list[Any] = []
    made = found.table_of
    watched = replace(found, table_of=lambda query: asked.append(query) or made(query))  # type: ignore[func-returns-value]
    counted, inner = watched.universe_count(), watched.published_counts()
    assert {query.by for query in asked} == {found.query.by}, "one table is made"
    monkeypatch.setattr("discreet_service.queries.evidence._MOST_CELLS", 0)
    apart = evidence_of(census, document)
    assert counted == apart.universe_count() > 0
    assert inner.tolist() == apart.published_counts().tolist()


@for_all_rows(
    "document",
    [
        {"by": []},
        {"by": ["sex"], "totals": "none"},
        {"by": [{"variable": "age5", "codes": ["20-24", "0-4"]}]},
        {"by": [{"variable": "region", "level": [1, 2, 3]}, "sex"]},
        {"by": [{"variable": "region", "level": [1, 2], "codes": ["02", "01001"]}, "sex"]},
        {"by": [{"variable": "nationality", "level": [1, 2]}],
         "where": [{"variable": "region", "codes": ["01001"]}, {"variable": "sex", "codes": "m"}]},
    ],
)  # fmt: skip
def test_figures_of_whole_levels_are_those_of_answers(
    census: DataVersion, ask: Ask, document: dict[str, Any]
) -> None:
    """Whatever part of a level is asked for; of areas, all that lie in the same one are there."""
    evidence, asked = evidence_of(census, document), planned(census, document).asked
    shape, shown = asked.shape, 0
    for layer in evidence.layer_figures(evidence.whole(shape), every=True):
        by = [{"variable": axis.variable, "level": axis.level} for axis in layer.box]
        table = ask({"unit": "person", "by": by, "totals": "all"})
        axes = [evidence.axis(axis.variable) for axis in layer.box]
        cuts = [axis.cuts[level] for axis, level in zip(axes, layer.levels, strict=True)]
        places = CellIndex(tuple(map(len, cuts))).positions(layer.cells)
        for at, (figure, noisy) in enumerate(zip(layer.figures, layer.noisy, strict=True)):
            every = zip(layer.box, axes, cuts, places, strict=True)
            codes = {
                box.variable: axis.tree.codes[cut[place[at]]] for box, axis, cut, place in every
            }
            value = table.get(**codes)
            assert value == figure
            # The population of areas is official.
            assert noisy == (figure != 0 and not all(axis.geography for axis in layer.box))
        for axis, whole, cut, place in zip(layer.box, axes, cuts, places, strict=True):
            level = dict(layer.key)[axis.variable]
            there, up = np.isin(np.arange(len(cut)), place), whole.up(level, level - 1)
            assert (there | ~np.isin(up, up[there])).all()
            assert axis.geography or there.all()
        shown += len(layer.cells)
    assert shown >= asked.cells


def test_parts_that_answers_hide_expose_nothing(census: DataVersion) -> None:
    """They are left out where no other policy ever showed them."""
    document = {"by": [{"variable": "region", "level": [1, 2]}, "sex"]}
    hidden = np.zeros((3, 2, 1), dtype=np.bool_)
    hidden[2, 1] = True
    evidence = replace(evidence_of(census, document), hidden_of=lambda query: hidden)
    shape = evidence.whole(planned(census, document).asked.shape)
    every, shown = (
        {layer.key for layer in evidence.layer_figures(shape, every=each)} for each in (True, False)
    )
    assert every - shown == {(("region", 2), ("sex", 1))}
    assert len(every) == 6
