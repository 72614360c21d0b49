"""Some codes of a variable, side by side: nothing takes the first for the total of the others."""

import pytest

from discreet.classifications import Classification
from discreet.publication import non_additivity, write
from tests.helpers.protected_tables import protected_table


@pytest.fixture
def three(request):
    tree = Classification.flat("age", ["20", "30"], total="10")

    def made(chosen):
        return protected_table([tree], [5, 6, 7], chosen=chosen)

    return made


def test_no_sum_is_held_against_the_first_code(three):
    assert non_additivity(three(chosen=False)) is not None
    assert non_additivity(three(chosen=True)) is None


def test_no_file_marks_a_total(three, tmp_path):
    for suffix, mark in (("px", "ELIMINATION"), ("html", 'class="total"')):
        whole, some = (
            write(three(chosen=chosen), tmp_path / f"{chosen}.{suffix}").read_text("utf-8")
            for chosen in (False, True)
        )
        assert mark in whole
        assert mark not in some
    for suffix in ("xlsx", "json", "json-stat", "sdmx-csv", "parquet", "csv"):
        write(three(chosen=True), tmp_path / f"some.{suffix}")


def test_codes_stand_on_one_level(three):
    dimension = three(chosen=True).dimensions[0]
    assert dimension.levels.tolist() == [0, 0, 0]
    assert dimension.parents.tolist() == [-1, -1, -1]
    assert dimension.is_leaf.all()
