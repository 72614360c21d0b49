"""What every format has in common: who may pass, same bytes, nothing secret, bad input."""

import dataclasses
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet.publication
from discreet.errors import PublicationError
from discreet.publication import (
    FORMATS,
    check_shape,
    formats,
    suffix_of,
    write,
    write_report,
    write_workbook,
)  # fmt: skip
from discreet.publication.examples import census_example
from discreet.tables import CellStatus, Table

SCRIPT = """
import sys
from discreet.publication import FORMATS, suffix_of, write, write_report, write_workbook
from discreet.publication.examples import census_example
for form in FORMATS:
    write(census_example(), f"{sys.argv[1]}/T1{suffix_of(form)}", columns=["sex", "age"])
write_report([census_example()], sys.argv[1] + "/index.html", title="T")
write_workbook([census_example()], sys.argv[1] + "/book.xlsx", title="T")
"""


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_table_gives_the_same_bytes(mixed, rents, tmp_path, suffix):
    for table in (mixed, rents):  # of counts, and of several figures
        shuffled = np.random.default_rng(1).permutation(table.stored)
        again = dataclasses.replace(
            table,
            index=tuple(part[shuffled] for part in table.index),
            value=table.value[shuffled],
            status=table.status[shuffled],
        )
        first = write(table, tmp_path / f"a.{suffix}", language="de").read_bytes()
        assert write(again, tmp_path / f"b.{suffix}", language="de").read_bytes() == first
        assert write(table, tmp_path / f"a.{suffix}", language="de").read_bytes() == first


@pytest.mark.exhaustive
def test_the_same_bytes_in_every_process(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", SCRIPT, str(there)], check=True, env=environment)
    for suffix in FORMATS:
        path = here / f"T1{suffix_of(suffix)}"
        write(census_example(), path, columns=["sex", "age"])
    write_report([census_example()], here / "index.html", title="T")
    write_workbook([census_example()], here / "book.xlsx", title="T")
    for path in here.iterdir():
        assert path.read_bytes() == (there / path.name).read_bytes(), path.name


def test_writing_loads_nothing_that_it_does_not_need(tmp_path):
    """Most of all not pandas, which Arrow loads where it is installed."""
    heavy = {"pandas", "rich", "ssl", "duckdb", "numba", "pydantic", "pyarrow", "openpyxl"}
    code = (
        "import sys\n"
        "from discreet.publication import write\n"
        "from discreet.publication.examples import census_example\n"
        "for suffix in sys.argv[2:]:\n"
        "    write(census_example(), f'{sys.argv[1]}.{suffix}')\n"
        f"    print(suffix, *sorted({heavy!r} & set(sys.modules)))\n"
    )
    suffixes = sorted(FORMATS, key="xlsx".__eq__)  # which needs more comes last
    command = [sys.executable, "-c", code, str(tmp_path / "T1"), *suffixes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    needed = [[suffix] for suffix in suffixes[:-1]] + [["xlsx", "openpyxl"]]
    assert [line.split() for line in done.stdout.splitlines()] == needed


def contents(path: Path) -> bytes:
    """The bytes of a file and of everything packed in it."""
    parts = [path.read_bytes()]
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            parts += [archive.read(name) for name in archive.namelist()]
    if path.suffix in (".parquet", ".exact"):
        frame = pl.read_parquet(path)
        parts.append(str(frame.rows()).encode())
    return b"\n".join(parts)


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_original_key_or_noise_is_in_any_file(make_table, sex, tmp_path, suffix):
    """The confidential table is at hand, but no writer can see more than what was published."""
    true = {"Total": 730_001, "m": 410_003, "w": 319_998}
    keys = {"Total": 123456789012345, "m": 567891234567891, "w": 555565554444454}
    cells = pl.DataFrame({"sex": list(true), "n": true.values(), "k": keys.values()})
    secret = Table.from_cells(cells, by=[sex], count="n", cell_key="k")
    noise = {"Total": 3, "m": -2, "w": 1}
    shown = {(code,): (count + noise[code], CellStatus.published) for code, count in true.items()}
    safe = make_table([sex], shown)
    path = write(safe, tmp_path / f"t.{suffix}")
    found = contents(path).replace(b",", b"")
    for count, key in zip(true.values(), keys.values(), strict=True):
        assert str(count).encode() not in found
        assert str(key).encode() not in found
        for width in (4, 8):
            raw = path.read_bytes()
            assert count.to_bytes(width, "little") not in raw
        assert key.to_bytes(8, "little") not in raw
    assert str(730_004).encode() in found
    with pytest.raises(PublicationError, match="a Table is confidential"):
        write(secret, tmp_path / f"s.{suffix}")  # type: ignore[arg-type]
    assert not (tmp_path / f"s.{suffix}").exists()


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("complete", [True, False])
def test_counts_changed_to_zero_leave_no_trace(make_table, sex, tmp_path, suffix, complete):
    """A count changed to zero, an original zero and an absent cell give the same bytes."""
    total = {("Total",): (9, CellStatus.published)}
    zero = (0, CellStatus.zero_or_changed_to_zero)
    changed = make_table([sex], {**total, ("m",): zero})
    absent = make_table([sex], total)
    written = [
        write(table, tmp_path / f"{name}.{suffix}", complete=complete).read_bytes()
        for name, table in (("a", changed), ("b", absent))
    ]
    assert written[0] == written[1]


@pytest.mark.parametrize("frame", [pl.DataFrame({"a": [1]}), None, "T1"])
def test_only_protected_tables_pass(frame, tmp_path):
    with pytest.raises(PublicationError, match="only a ProtectedTable") as error:
        write(frame, tmp_path / "x.csv")
    assert error.value.code == "not-protected"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("T1.doc", {}, "unknown format 'doc'"),
        ("T1", {}, "the file name lacks a suffix"),
        ("T1.csv", {"format": "sas"}, "formats: csv, parquet, json, xlsx, html"),
        ("T1.csv", {"language": "fr"}, "unknown language 'fr'"),
        ("T1.csv", {"rows": ["colour"]}, "variable 'colour' not found"),
        ("nowhere/T1.csv", {}, "the output folder does not exist"),
        ("place.csv", {}, "not a file but a folder"),
        (None, {}, "expected the name of a file, got a NoneType"),
        ("T1.csv", {"geo": ["colour"]}, "variable 'colour' not found"),
        ("T1.csv", {"geo": "region"}, "expected a list of names"),
        ("T1.csv", {"structure": 3}, "structure must be a text"),
        ("T1.csv", {"structure": "no agency"}, "does not name a dataflow"),
        ("T1.csv", {"structure": "OFFICE:POP(2.1)"}, "format csv has no dataflow"),
        ("T1.csv", {"sdmx": "3"}, "unknown version of SDMX-CSV"),
        ("T1.csv", {"complete": "yes"}, "complete must be True, False or None"),
        ("T1.csv", {"labels": None}, "labels must be True or False"),
    ],
)
def test_bad_input_writes_nothing(mixed, tmp_path, name, options, message):
    (tmp_path / "place.csv").mkdir()
    with pytest.raises(PublicationError, match=message):
        write(mixed, name and tmp_path / name, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["place.csv"]


def test_the_format_may_be_named(mixed, tmp_path):
    assert write(mixed, tmp_path / "T7.txt", format="json").read_text().startswith("{")
    assert write(mixed, tmp_path / "T7.HTM").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_its_suffix(mixed, tmp_path, form):
    named = write(mixed, tmp_path / "named.txt", format=form).read_bytes()
    path = write(mixed, tmp_path / f"a{suffix_of(form)}")
    assert path.read_bytes() == named


def test_a_failing_writer_leaves_the_old_file(mixed, make_table, tmp_path, monkeypatch):
    path = write(mixed, tmp_path / "T7.csv")
    before = path.read_bytes()

    def fail(*arguments: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("discreet.publication.writers.csv._frame", fail)
    with pytest.raises(OSError, match="no space"):
        write(mixed, path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["T7.csv"]


def test_shapes_can_be_checked_before_any_work():
    check_shape("xlsx", 1_000_000, 5)
    check_shape("csv", 10**12, 40)
    with pytest.raises(PublicationError, match="1,048,576 rows"):
        check_shape("xlsx", 1_048_577, 2, where="T1")
    with pytest.raises(PublicationError, match="html holds at most 5,000,000 cells"):
        check_shape("html", 2_000_000, 3)


def test_every_format_has_names_of_its_own_and_is_documented():
    words = [word for row in FORMATS.values() for word in {row.name, *row.suffixes}]
    assert len(words) == len(set(words))
    assert list(FORMATS) == [row.name for row in formats._ROWS]
    root = Path(__file__).parents[2]
    for page in ("docs/how-to/publish.md", "src/discreet/release/programme/keys.toml"):
        text = (root / page).read_text("utf-8")
        assert [name for name in FORMATS if f"`{name}`" not in text] == []


def test_public_names_are_sorted_and_exist():
    names = discreet.publication.__all__
    assert names == sorted(names)
    assert all(hasattr(discreet.publication, name) for name in names)
