"""Areas of a data version: each record lies where its values say."""

import itertools

import numpy as np

from discreet.record_batches import collected
from discreet_service.datasets import DataVersion
from discreet_service.datasets.areas import _compared, _levels, compared_areas


def test_geographies_and_groupings_of_one_column_are_compared(census: DataVersion) -> None:
    names = {one.name for one in _compared(census, "person")}
    assert {"region", "age5", "legal_age"} <= names
    assert "sex" not in names


def test_each_record_lies_in_its_class(census: DataVersion) -> None:
    records, _ = census.records("person")
    ages = collected(records.lazy().select("age"))["age"].to_numpy()
    for name, bounds in (("legal_age", [0, 6, 14, 16, 18, 21, 67]), ("age5", range(0, 90, 5))):
        variable = census.units["person"].variables[name]
        finest = _levels(census, "person", variable)[-1]
        lower = np.array([int(label.split("-")[0].rstrip("+")) for label in finest.labels])
        starts = np.array(list(bounds))
        expected = starts[np.searchsorted(starts, ages, side="right") - 1]
        assert np.array_equal(lower[finest.codes], expected)


def test_levels_are_nested(census: DataVersion) -> None:
    variable = census.units["person"].variables["region"]
    levels = _levels(census, "person", variable)
    assert len(levels) == 3
    for coarse, fine in itertools.pairwise(levels):
        for code in np.unique(fine.codes):
            assert len(np.unique(coarse.codes[fine.codes == code])) == 1
    report = compared_areas(census, "person", 5)
    assert not any(one.first.split()[0] == one.second.split()[0] for one in report.differences)
