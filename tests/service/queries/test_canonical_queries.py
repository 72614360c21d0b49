"""Two ways of asking for the same table give one query and one digest."""

import random
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet_service.datasets import CatalogueVariable, DataVersion
from discreet_service.problems import ServiceError
from discreet_service.queries import CanonicalQuery, canonical_query, read_query
from tests.helpers.rows import for_all_rows

_NAMES = ("region", "sex", "age5", "nationality", "education", "occupation")


def meant(census: DataVersion, document: dict[str, Any]) -> CanonicalQuery:
    return canonical_query(read_query(document), census)[0]


def spelled_codes(variable: CatalogueVariable, codes: list[str], draw: random.Random) -> list[str]:
    """The same codes in another order, some twice."""
    again = [*codes, *draw.choices(codes, k=draw.randrange(3))]
    draw.shuffle(again)
    return again


def spelled_level(variable: CatalogueVariable, number: int, draw: random.Random) -> int | str:
    return draw.choice([number, str(number), variable.level(number).name])


def spelled_filter(
    variable: CatalogueVariable, number: int, codes: list[str], draw: random.Random
) -> dict[str, Any]:
    """A condition on another level, or with its level named or not."""
    tree, entry = variable.tree, {"variable": variable.name}
    finer = draw.choice(range(number, variable.finest + 1))
    inside = variable.within([tree.index[code] for code in codes])
    mine = [code for code in variable.codes_of(finer) if inside[tree.index[code]]]
    if draw.random() < 0.5:
        entry["level"] = spelled_level(variable, finer, draw)  # type: ignore[assignment]
    return {**entry, "codes": spelled_codes(variable, mine, draw)}


def spelled_spanning(variable: CatalogueVariable, numbers: list[int], draw: random.Random) -> Any:
    """Whole levels: by their names, or by all of their codes."""
    if numbers == [variable.finest] and draw.random() < 0.4:
        return variable.name if draw.random() < 0.5 else {"variable": variable.name}
    entry: dict[str, Any] = {"variable": variable.name}
    levels = [spelled_level(variable, number, draw) for number in numbers]
    draw.shuffle(levels)
    entry["level"] = levels[0] if len(levels) == 1 and draw.random() < 0.5 else levels
    if draw.random() < 0.5:
        every = list(dict.fromkeys(code for k in numbers for code in variable.codes_of(k)))
        entry["codes"] = spelled_codes(variable, every, draw)
    return entry


@given(seed=st.integers(0, 2**32), other=st.integers(0, 2**32))
def test_every_way_of_asking_gives_one_digest(census: DataVersion, seed: int, other: int) -> None:
    variables, draw = census.units["person"].variables, random.Random(seed)
    names = draw.sample(_NAMES, draw.randrange(1, 5))
    split = draw.randrange(len(names) + 1)
    by = {
        n: sorted({draw.randrange(1, variables[n].finest + 1) for _ in "ab"}) for n in names[:split]
    }
    where = {}
    for name in names[split:]:
        number = draw.randrange(1, variables[name].finest + 1)
        codes = list(variables[name].codes_of(number))
        where[name] = number, draw.sample(codes, draw.randrange(1, len(codes) + 1))
    free = [name for name in _NAMES if name not in names]
    totals = draw.sample(sorted(by), draw.randrange(len(by) + 1))
    plain = {
        "unit": "person",
        "by": [{"variable": name, "level": levels} for name, levels in by.items()],
        "where": [{"variable": n, "codes": codes} for n, (_, codes) in where.items()],
        "totals": totals,
    }

    again = random.Random(other)
    single = [n for n, (_, codes) in where.items() if len(codes) == 1 and again.random() < 0.5]
    spanning = [spelled_spanning(variables[name], levels, again) for name, levels in by.items()]
    spanning += [{"variable": name, "codes": where[name][1]} for name in single]
    conditions = [
        spelled_filter(variables[name], number, codes, again)
        for name, (number, codes) in where.items()
        if name not in single
    ]
    if free and again.random() < 0.5:  # a condition that lets everybody through
        name = again.choice(free)
        number = again.randrange(1, variables[name].finest + 1)
        conditions.append({"variable": name, "codes": list(variables[name].codes_of(number))})
    again.shuffle(spanning)
    again.shuffle(conditions)
    spelled = {
        "by": spanning,
        "where": conditions,
        "unit": "person",
        "measures": ["count", "count"],
    }
    spelled["totals"] = "all" if set(totals) == set(by) else again.sample(totals, len(totals)) * 2

    one, two = meant(census, plain), meant(census, spelled)
    assert one == two
    assert one.digest(b"key") == two.digest(b"key")
    assert CanonicalQuery.of_document(one.document()) == one


def test_other_tables_have_other_digests(census: DataVersion) -> None:
    asked = [
        {"by": ["sex"]},
        {"by": ["sex"], "totals": "none"},
        {"by": ["sex", "age5"]},
        {"by": ["sex"], "where": [{"variable": "age5", "codes": ["0-4"]}]},
        {"by": ["sex"], "where": [{"variable": "age5", "codes": ["0-4", "5-9"]}]},
        {"by": ["sex", {"variable": "age5", "codes": ["0-4", "5-9"]}]},
        {"by": [{"variable": "region", "level": 1}]},
        {"by": [{"variable": "region", "level": [1, 2]}]},
        {"by": ["sex"], "unit": "building"},
    ]
    asked = [{"unit": "person", **each} for each in asked[:-1]]
    digests = {meant(census, each).digest(b"key") for each in asked}
    assert len(digests) == len(asked)
    assert meant(census, asked[0]).digest(b"other") not in digests


def test_a_filter_on_a_spanning_variable_picks_cells(census: DataVersion) -> None:
    districts = [{"variable": "region", "level": 2}]
    found = meant(
        census,
        {"unit": "person", "by": districts, "where": [{"variable": "region", "codes": ["01"]}]},
    )
    assert found.where == ()
    assert not found.by[0].total
    assert found.by[0].codes is not None
    assert found.by[0].codes[0] == "01"
    assert all(code.startswith("01") for code in found.by[0].codes)


@for_all_rows(
    ("document", "code", "where", "hint"),
    [
        ({"by": ["sx"]}, "unknown-variable", "by[0].variable", "closest match: 'sex'"),
        ({"by": ["sex", "sex"]}, "invalid-query", "by[1]", "name it once"),
        (
            {"by": [{"variable": "sex", "codes": ["M"]}]},
            "unknown-code",
            "by[0].codes",
            "known: m, w",
        ),
        (
            {"by": [{"variable": "region", "level": "distrikt"}]},
            "invalid-query",
            "by[0].level",
            "closest match: 'district'",
        ),
        (
            {"by": ["sex"], "where": [{"variable": "region", "codes": ["01", "01001"]}]},
            "invalid-query",
            "where[0].codes",
            "use codes of one level in a condition",
        ),
        (
            {"by": ["age5", "legal_age"]},
            "invalid-query",
            "by",
            "query them separately",
        ),
        (
            {"by": ["age5"], "where": [{"variable": "legal_age", "codes": ["0-5"]}]},
            "invalid-query",
            "by",
            "query them separately",
        ),
        (
            {"by": [{"variable": "region", "level": 1}],
             "where": [{"variable": "region", "codes": ["01001"]}]},
            "invalid-query",
            "by[0]",
            "use a finer level in by, or coarser codes in where",
        ),
        ({"by": ["sex"], "totals": ["age5"]}, "invalid-query", "totals[0]", "known: sex"),
        (
            {"by": [{"variable": "sex", "codes": ["Total"]}]},
            "unknown-code",
            "by[0].codes",
            "remove the variable, or request its total: totals",
        ),
        ({"by": ["sex"], "measures": [{"mean": "rent"}]}, "invalid-query", "measures[0].mean", ""),
    ],
)  # fmt: skip
def test_names_that_there_are_not_are_told_with_their_place(
    census: DataVersion, document: dict[str, Any], code: str, where: str, hint: str
) -> None:
    with pytest.raises(ServiceError) as caught:
        meant(census, {"unit": "person", **document})
    assert (caught.value.code, caught.value.where, caught.value.hint) == (code, where, hint)


def test_all_mistakes_are_told_at_once(census: DataVersion) -> None:
    document = {
        "unit": "dwelling",
        "by": ["regio", {"variable": "region", "level": 9, "codes": ["99"]}],
        "where": [{"variable": "area_class", "codes": ["x"], "level": "none"}],
        "measures": [{"mean": "rents"}, "vacansy", {"share": "count", "over": ["area_class"]}],
        "totals": ["sex"],
    }
    with pytest.raises(ServiceError) as caught:
        meant(census, document)
    assert [problem.where for problem in caught.value.problems] == [
        "measures[0].mean",
        "measures[1]",
        "where[0].codes",
        "where[0].level",
        "totals[0]",
        "by[0].variable",
        "by[1].level",
        "by[1].codes",
        "measures[2]",
    ]


def test_alternatives_of_two_columns_do_not_go_together(census: DataVersion) -> None:
    """What the programme joins is crossed with nothing, whatever columns it is read from."""
    unit = census.units["person"]
    joined = {
        name: replace(each, joined=("origin",)) if name in ("nationality", "education") else each
        for name, each in unit.variables.items()
    }
    other = copy(census)
    other.units = {**census.units, "person": replace(unit, variables=joined)}
    with pytest.raises(ServiceError, match="'education', 'nationality' describe the same"):
        meant(other, {"unit": "person", "by": ["nationality", "education"]})
    with pytest.raises(ServiceError) as refusal:
        meant(other, {"unit": "person", "by": ["origin"]})
    assert "use one of" in refusal.value.problems[0].hint


def test_who_asks_for_all_alternatives_is_told_their_names(census: DataVersion) -> None:
    with pytest.raises(ServiceError) as refusal:
        meant(census, {"unit": "person", "by": ["age", "sex"]})
    (problem,) = refusal.value.problems
    assert problem.hint == "the variable has several classifications; use one of age5, legal_age"
