"""Bodies and addresses of queries: everything that is wrong is said, and nothing else happens."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_service.datasets import DataVersion
from discreet_service.problems import PROBLEM_TYPES, ServiceError
from discreet_service.queries import canonical_query, read_query
from discreet_service.web.queries import read_address
from tests.helpers.rows import for_all_rows


@for_all_rows(
    ("document", "problems"),
    [
        ({"wher": []}, [("wher", "unknown member", "closest match: 'where'")]),
        ([], [("", "must be an object with members", "")]),
        (None, [("", "must be an object with members", "")]),
        ({"by": 3}, [("by", "must be a list", "")]),
        (
            {"by": [{"varible": "sex"}]},
            [
                ("by[0].variable", "required", ""),
                ("by[0].varible", "unknown member", "closest match: 'variable'"),
            ],
        ),
        (
            {"where": [{"variable": "age", "codes": []}]},
            [("where[0].codes", "at least 1 required", "")],
        ),
        (
            {"by": ["x" * 201]},
            [("by[0].variable", "longer than 200 characters", "")],
        ),
        (
            {"by": ["a"] * 13, "measures": [{"mean": "rent", "sum": "rent"}]},
            [
                ("by", "at most 12 allowed", ""),
                ("measures[0]", "exactly one of sum, mean, share, median, quantile, figure", ""),
            ],
        ),
        (
            {"by": [{"variable": "age", "where": "n > 3"}], "language": "fr"},
            [
                ("by[0].where", "unknown member", ""),
                ("language", "must be one of 'en' or 'de'", ""),
            ],
        ),
    ],
)
def test_each_mistake_is_told_with_its_place(
    document: Any, problems: list[tuple[str, str, str]]
) -> None:
    with pytest.raises(ServiceError) as caught:
        read_query(document)
    told = [(one.where, one.what, one.hint) for one in caught.value.problems]
    assert [each[:2] for each in told] == [each[:2] for each in problems]
    for (_, _, hint), (_, _, wanted) in zip(told, problems, strict=True):
        assert hint == wanted or not wanted


@for_all_rows(
    ("address", "document"),
    [
        ([("by", "sex")], {"by": ["sex"]}),
        (
            [("by", "region:1"), ("by", "region:district"), ("by", "sex")],
            {"by": [{"variable": "region", "level": ["1", "district"]}, "sex"]},
        ),
        (
            [("by", "age"), ("codes.age", "a,b"), ("where.sex", "m"), ("totals", "age,")],
            {
                "by": [{"variable": "age", "codes": ["a", "b"]}],
                "where": [{"variable": "sex", "codes": ["m"]}],
                "totals": ["age"],
            },
        ),
        (
            [("where.x", "a,b"), ("where.x", "c"), ("measures", "count,mean:rent,share:count:a+b")],
            {
                "where": [{"variable": "x", "codes": ["a,b", "c"]}],
                "measures": ["count", {"mean": "rent"}, {"share": "count", "over": ["a", "b"]}],
            },
        ),
        (
            [("by", "r"), ("within.r", "01"), ("unit", "person"), ("version", "1")],
            {"by": [{"variable": "r", "within": ["01"]}], "unit": "person", "version": "1"},
        ),
    ],
)
def test_an_address_says_what_a_body_says(
    address: list[tuple[str, str]], document: dict[str, Any]
) -> None:
    assert read_address(address) == read_query(document)


@for_all_rows(
    ("address", "where"),
    [
        ([("buy", "sex")], "buy"),
        ([("unit", "a"), ("unit", "b")], "unit"),
        ([("codes.sex", "m")], "codes.sex"),
        ([("where.", "m")], "where."),
        ([("format", "csv"), ("api_key", "dsc_1")], "api_key"),
    ],
)
def test_addresses_have_no_other_parameters(address: list[tuple[str, str]], where: str) -> None:
    with pytest.raises(ServiceError) as caught:
        read_address(address)
    assert caught.value.problems[0].where == where


_NASTY = (
    *("", "sex", "region", "01", "Total", "m", "age5", "'; DROP TABLE x;--", "../../etc", "\x00"),
    *("\ud800", "int", "str", "list[x", "constrained-str", "literal[", "𝕏" * 50, "`", "' or '1"),
    *(None, True, -1, 0, 1.5, float("nan"), 10**30, [], {}, ["sex"], {"variable": "sex"}),
)


def mutated(document: Any, draw: random.Random) -> Any:
    """A query with some members changed."""
    if isinstance(document, dict):
        found = {key: mutated(value, draw) for key, value in document.items()}
        if draw.random() < 0.2:
            found[draw.choice([each for each in _NASTY if isinstance(each, str)])] = 1
        if found and draw.random() < 0.15:
            del found[draw.choice(sorted(found))]
        return found
    if isinstance(document, list):
        found = [mutated(each, draw) for each in document]
        return [*found, draw.choice(_NASTY)] if draw.random() < 0.2 else found
    return draw.choice(_NASTY) if draw.random() < 0.25 else document


@given(seed=st.integers(0, 2**40))
def test_whatever_is_asked_is_a_query_or_a_problem(census: DataVersion, seed: int) -> None:
    document = {
        "unit": "person",
        "by": [{"variable": "region", "level": 2, "within": ["01"]}, "sex", {"variable": "age5"}],
        "where": [{"variable": "education", "codes": ["low"], "level": 1}],
        "measures": ["count", {"share": "count", "over": ["sex"]}, {"mean": "rent"}],
        "totals": ["sex"],
        "language": "de",
    }
    told: ServiceError | None = None
    try:
        canonical_query(read_query(mutated(document, random.Random(seed))), census)
    except ServiceError as error:
        told = error
    if told is not None:
        assert told.code in PROBLEM_TYPES
        texts = [told.what, *((one.where, one.what, one.hint) for one in told.problems)]
        json.dumps(texts, ensure_ascii=False).encode()
        assert len(str(told)) < 20_000


def test_names_that_are_no_text_can_be_told() -> None:
    with pytest.raises(ServiceError) as caught:
        read_query({"\ud800": 1, "by": ["\ud800"]})
    assert str(caught.value).encode()
