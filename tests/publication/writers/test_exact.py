"""Files that hold all of a table: what is read back is what was written."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from discreet.errors import PublicationError
from discreet.publication import read_exact, write
from discreet.publication.exact_tables import described
from discreet.tables import CellNote, CellStatus, Note, Withheld


def same(one, other):
    """Whether nothing tells two tables apart."""
    assert described(one) == described(other)
    assert one.value.dtype == other.value.dtype
    for mine, theirs in zip(
        (*one.index, one.value, one.status), (*other.index, other.value, other.status), strict=True
    ):
        assert np.array_equal(mine, theirs)
    return True


def test_nothing_is_lost(mixed, rents, tmp_path):
    for table in (mixed, rents):
        assert same(read_exact(write(table, tmp_path / "a.exact.parquet")), table)
    marked = dataclasses.replace(
        mixed,
        titles={"en": "People", "de": "Personen"},
        universe={"en": "all", "de": "alle"},
        suppressed_parts=frozenset({(0, 0)}),
        cell_notes=(CellNote((None, "m"), Note("cells", {"en": "men"})),),
    )
    assert same(read_exact(write(marked, tmp_path / "b.exact.parquet", language="de")), marked)


def test_reasons_of_hidden_cells_are_kept(make_table, sex, tmp_path):
    hidden = make_table(
        [sex], {("Total",): (9, CellStatus.published), ("m",): (0, CellStatus.suppressed)}
    )
    told = Withheld(
        index=(np.array([1], dtype=np.int32),),
        reason=np.array([1], dtype=np.int8),
        reasons=(Note("secondary", {"en": "second", "de": "Gegensperrung"}),),
        low=np.array([0.0]),
        high=np.array([np.inf]),
    )
    table = dataclasses.replace(hidden, withheld=told)
    again = read_exact(write(table, tmp_path / "a.exact.parquet"))
    assert again.to_polars().equals(table.to_polars())
    assert again.withheld.reasons == told.reasons


def test_other_files_are_refused_without_their_names(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"no table")
    for name in ("a.parquet", "b.parquet", "none.parquet"):
        with pytest.raises(PublicationError, match="not a protected table") as error:
            read_exact(tmp_path / name)
        assert name not in str(error.value)
