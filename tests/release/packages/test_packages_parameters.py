"""Parameters are checked as a whole, and their digests name them without telling them."""

from dataclasses import replace
from typing import Any

import pytest

from discreet.errors import PackageError
from discreet.release.packages import Parameters, parameters_of
from tests.helpers.package_parameters import DIGEST_KEY, FINE, MAGNITUDES, PTABLE, SECRET, SECTIONS
from tests.helpers.rows import for_all_rows


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return parameters_of(SECTIONS, PTABLE, {"rent": MAGNITUDES})


# -- digests -------------------------------------------------------------------------------


def test_digests_depend_on_parameters_and_on_nothing_else(parameters: Parameters) -> None:
    same = replace(parameters, secret=SECRET, statistic="x", version="2")
    assert same.digest(DIGEST_KEY) == parameters.digest(DIGEST_KEY)
    assert parameters.digest(b"another key") != parameters.digest(DIGEST_KEY)
    renamed = parameters_of(SECTIONS, replace(PTABLE, name="other"), {"rent": MAGNITUDES})
    assert renamed.digests(DIGEST_KEY) == parameters.digests(DIGEST_KEY)


@for_all_rows(
    ("section", "change"),
    [
        ("perturbation", {"perturbation": {"suppress_below": 11}}),
        ("figures", {"figures": {"bracket_above": 0.18}}),
        ("parts", {"parts": {"max_share_small": 0.4, "min_cells": 11}}),
        ("parts", {"parts": {"max_share_small": 0.4, "min_cells": 10, "enabled": False}}),
        ("official", {"official": "sex == 'm'"}),
        ("grid", {"keys": {"grid": "10^14"}}),
        (
            "magnitudes.rent",
            {"magnitudes": {"rent": {"strength": {"kind": "simple", "share": 0.1}}}},
        ),
    ],
)
def test_a_change_changes_the_digest_of_its_section_alone(
    section: str, change: dict[str, Any]
) -> None:
    given = {**SECTIONS, "perturbation": {}}
    before = parameters_of(given, PTABLE, {"rent": MAGNITUDES}).digests(DIGEST_KEY)
    after = parameters_of({**given, **change}, PTABLE, {"rent": MAGNITUDES}).digests(DIGEST_KEY)
    assert [name for name in before if before[name] != after[name]] == [section]


def test_the_files_of_the_office_are_no_parameters() -> None:
    """Nor is how a number is written, or a default that is written out."""
    bare = parameters_of({}, PTABLE)
    stated = parameters_of(
        {
            "perturbation": {"table": "a.csv", "format": "intervals", "zeros": "keep"},
            "keys": {"secret_file": "secret.key"},
            "figures": {"bracket_above": 0.15},
            "official": " ",
        },
        PTABLE,
    )
    assert stated.digests(DIGEST_KEY) == bare.digests(DIGEST_KEY)
    numbers = [parameters_of({"figures": {"bracket_above": number}}, PTABLE) for number in (1, 1.0)]
    assert numbers[0].digest(DIGEST_KEY) == numbers[1].digest(DIGEST_KEY)


# -- parameters that cannot be used ----------------------------------------------------------


def test_all_mistakes_are_listed_at_once_and_no_value_is_quoted() -> None:
    wrong = {
        "perturbation": {"suppress_below": -77, "zeros": "often"},
        "magnitudes": {"rent": {"strenght": {}}, "area": {}},
        "figures": ["bracket"],
        "official": "sex = 'm'",
        "tables": {},
    }
    with pytest.raises(PackageError) as caught:
        parameters_of(wrong, PTABLE, {"rent": MAGNITUDES, "income": MAGNITUDES})
    places = [problem.where for problem in caught.value.problems]
    assert places == [
        "tables",
        "perturbation.zeros",
        "perturbation.suppress_below",
        "figures",
        "magnitudes.income",
        "magnitudes.rent.strenght",
        "magnitudes.area",
        places[-1],
    ]
    assert places[-1].startswith("official")
    assert "77" not in str(caught.value)


def test_rules_that_do_not_fit_the_tables() -> None:
    with pytest.raises(PackageError, match="no noise for zeros"):
        parameters_of({"perturbation": {"zeros": "table"}}, PTABLE)
    with pytest.raises(PackageError) as caught:
        parameters_of({"keys": {"grid": 256}}, FINE)
    assert caught.value.where.startswith("keys.grid")
    weak = {"kind": "flex", "point": 1000, "small": 0.02, "large": 0.3, "exponent": 2}
    with pytest.raises(
        PackageError, match="the share for large contributions exceeds that for small ones"
    ) as caught:
        parameters_of({"magnitudes": {"rent": {"strength": weak}}}, PTABLE, {"rent": MAGNITUDES})
    assert caught.value.problems[0].where.startswith("magnitudes.rent")
    with pytest.raises(PackageError, match="strength is missing"):
        parameters_of({"magnitudes": {"rent": {}}}, PTABLE, {"rent": MAGNITUDES})


def test_thresholds_for_parts_are_checked_by_their_rules() -> None:
    for parts, place in (
        ({"max_share_smal": 0.5}, "parts.max_share_smal"),
        ({"max_share_small": 1.5}, "parts.max_share_small"),
        ({"min_cells": 2.5}, "parts.min_cells"),
    ):
        with pytest.raises(PackageError) as caught:
            parameters_of({"parts": parts}, PTABLE)
        assert caught.value.where == place
    assert parameters_of({"parts": {"min_cells": 20}}, PTABLE).thresholds == {"min_cells": 20}
