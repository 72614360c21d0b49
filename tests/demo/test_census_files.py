"""The synthetic census as Parquet files: chunks and threads leave no trace."""

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from discreet.demo import census as census_module
from discreet.demo import generate, write_census
from discreet.demo.census import map_of
from discreet.errors import DiscreetError, MicrodataError, PublicationError

UNITS = ("persons", "households", "dwellings", "buildings")
MANY = 130_000  # several blocks


def _read(folder, unit):
    return pl.read_parquet(folder / f"{unit}.parquet").with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    )


def _plain(frame):
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return write_census(folder, persons=MANY, seed=3)


def test_files_hold_what_generate_gives(whole):
    census = generate(persons=MANY, seed=3)
    for unit in UNITS:
        assert_frame_equal(_read(whole.folder, unit), _plain(getattr(census, unit)))
        assert whole.records[unit] == getattr(census, unit).height


def test_records_do_not_depend_on_chunks_or_threads(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(census_module, "_WORKERS", 1)
    write_census(tmp_path, persons=MANY, seed=3, chunk=1)
    for unit in UNITS:
        assert_frame_equal(_read(tmp_path, unit), _read(whole.folder, unit))
    assert pq.ParquetFile(tmp_path / "persons.parquet").num_row_groups > 1
    assert pq.ParquetFile(whole.persons).num_row_groups == 1


def test_the_same_call_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_census(tmp_path / name, persons=1_000, seed=1)
    for unit in UNITS:
        first, second = (tmp_path / name / f"{unit}.parquet" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_region_codes_are_texts_with_leading_zeros_in_a_dictionary(whole):
    schema = pq.read_schema(whole.persons)
    assert str(schema.field("municipality").type).startswith("dictionary<values=string")
    assert pl.read_parquet(whole.persons)["state"].cast(pl.String).str.starts_with("0").any()


def test_duckdb_reads_the_codes_as_texts(whole):
    import duckdb

    found = duckdb.sql(
        f"select municipality, grid_cell from '{whole.persons}' where person_id = 1"
    ).fetchall()
    assert found == [("01001001", _read(whole.folder, "persons")["grid_cell"][0])]


def test_progress_counts_persons_up_to_all(tmp_path):
    seen = []
    write_census(tmp_path, persons=MANY, chunk=1, progress=lambda *step: seen.append(step))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (MANY, MANY)


def test_the_map_is_found_again_from_the_file(whole):
    assert (
        map_of(whole.persons).municipalities == census_module.Geography.of(MANY, 3).municipalities
    )


def test_nothing_else_is_left_in_the_folder(whole):
    assert sorted(path.name for path in whole.folder.iterdir()) == sorted(
        f"{unit}.parquet" for unit in UNITS
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"persons": 10}, "demo-size"),
        ({"seed": -1}, "demo-seed"),
        ({"chunk": 0}, "demo-chunk"),
    ],
)
def test_bad_arguments_leave_no_file(tmp_path, arguments, code):
    with pytest.raises(MicrodataError) as caught:
        write_census(tmp_path, **arguments)
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PublicationError, match="does not exist"):
        write_census(tmp_path / "nowhere", persons=1_000)


def test_an_interrupted_run_leaves_no_half_file(tmp_path):
    def stop(done, persons):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_census(tmp_path, persons=MANY, chunk=1, progress=stop)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"no parquet"])
def test_a_file_that_is_no_synthetic_census_is_refused(tmp_path, content):
    path = tmp_path / "persons.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DiscreetError, match="Parquet file of persons not found"):
        map_of(path)


def test_a_parquet_file_of_other_persons_is_refused(tmp_path):
    pl.DataFrame({"person_id": [1]}).write_parquet(tmp_path / "persons.parquet")
    with pytest.raises(MicrodataError, match="not a synthetic census"):
        map_of(tmp_path / "persons.parquet")
