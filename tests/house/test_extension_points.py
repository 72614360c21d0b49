"""A format, a rule and an engine each come from the files that CONTRIBUTING names, no other.

Every test adds only those: as a module in a folder of its own, or as the row of a table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.publication.examples import census_example
from discreet.publication.formats import FORMATS, OutputFormat, format_of

PROGRAMME = """\
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[tables.T1]
by = ["sex"]
formats = ["lines"]
"""

WRITER = '''\
"""A format of one line per cell."""

from pathlib import Path

from discreet.publication import WriteOptions
from discreet.publication.cells import cell_chunks
from discreet.tables import ProtectedTable


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """One value per line."""
    values = [str(value) for cells in cell_chunks(table) for value in cells.value.tolist()]
    path.write_text("\\n".join(values))
'''

LINES = OutputFormat(
    name="lines",
    suffixes=("lines",),
    writer="line_files:write_file",
    workbook=None,
    own_columns=(),
    label_columns=False,
    note_column=False,
    reason_columns=False,
    whole_grid=False,
    most_cells=100,
    most_rows=None,
    most_columns=None,
    headroom=0,
    dataflow=False,
)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a module where it can be imported: added("name", "text")."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def add(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text, encoding="utf-8")

    return add


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    """A programme with records and a perturbation table that adds no noise."""
    people = {"sex": ["m", "w", "w"], "record_key": [10**14, 2 * 10**14, 3 * 10**14]}
    pl.DataFrame(people).write_parquet(tmp_path / "persons.parquet")
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}).write(tmp_path / "ptable.json")
    (tmp_path / "programme.toml").write_text(PROGRAMME, encoding="utf-8")
    return tmp_path / "programme.toml"


def test_a_format_is_a_writer_and_a_row(
    added: Callable[[str, str], None],
    programme: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added("line_files", WRITER)
    monkeypatch.setitem(FORMATS, "lines", LINES)

    assert census_example().write(tmp_path / "a.lines").read_text().split()[:2] == ["371", "47"]
    dc.protect(programme, out=tmp_path / "release")
    assert (tmp_path / "release" / "T1.lines").read_text() == "3\n1\n2"
    done = CliRunner().invoke(app, ["protect", str(programme), "--out", str(tmp_path / "again")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "again" / "T1.lines").read_text() == "3\n1\n2"
    with pytest.raises(dc.errors.PublicationError, match="lines holds at most 100 cells"):
        dc.publication.check_shape("lines", 101, 1)


def test_a_format_without_a_row_is_unknown(programme: Path, tmp_path: Path) -> None:
    with pytest.raises(dc.errors.PublicationError, match="'lines' is not a format"):
        format_of(tmp_path / "a.lines")
    with pytest.raises(dc.errors.ProgrammeError, match="this value is not known"):
        dc.protect(programme, out=tmp_path / "release")


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(OutputFormat)])
def test_a_forgotten_field_of_a_format_is_an_error(field: str) -> None:
    row = {each.name: getattr(LINES, each.name) for each in dataclasses.fields(LINES)}
    del row[field]
    with pytest.raises(TypeError, match=field):
        OutputFormat(**row)
