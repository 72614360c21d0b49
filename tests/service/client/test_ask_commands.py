"""``discreet ask`` over a socket: the figures of the library in files, and no key in any word."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.release.cell_programme import CellProgramme, protect_by_programme
from tests.helpers.package_parameters import PTABLE
from tests.helpers.service_cells import CellService, homes, parameters, some_cells
from tests.helpers.service_server import served_on_port

BY = ["region", "tenure"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a service, and the file of a key."""
    served = CellService.of(tmp_path_factory.mktemp("asked"))
    served.in_use()
    key = served.folder / "caller.key"
    key.write_text(served.key() + "\n")
    key.chmod(0o600)
    with served_on_port(served.app()) as url:
        yield url, key
    served.service.close()


def ask(asked: tuple[str, Path], *words: str, code: int = 0) -> str:
    url, key = asked
    done = CliRunner().invoke(app, ["ask", *words, "--url", url, "--key-file", str(key)])
    assert done.exit_code == code, done.output
    assert key.read_text().strip() not in done.output
    return done.output


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_counts_in_files(asked: tuple[str, Path], tmp_path: Path, suffix: str) -> None:
    cells, source = some_cells(), tmp_path / f"cells.{suffix}"
    if suffix == "csv":
        cells.write_csv(source)
    else:  # as R writes it
        cells.cast(pl.Float64).write_parquet(source)
    out = tmp_path / "protected.csv"
    said = ask(asked, "counts", str(source), "--parameter-set", "census", "--out", str(out))
    assert "500 protected cells" in said
    count, key = cells["n"].to_numpy(), cells["key"].to_numpy()
    found = pl.read_csv(out)
    assert found["value"].to_list() == (count + PTABLE.lookup(count, key)).tolist()


def test_official_cells_are_named_by_a_column(tmp_path: Path) -> None:
    served = CellService.of(tmp_path)
    served.in_use(official="sex == 'Total'")
    key = tmp_path / "caller.key"
    key.write_text(served.key() + "\n")
    key.chmod(0o600)
    (tmp_path / "cells.csv").write_text("n,key,fixed\n7,1,TRUE\n7,1,FALSE\n")
    words = [str(tmp_path / "cells.csv"), "--parameter-set", "census", "--out"]
    with served_on_port(served.app()) as url:
        ask((url, key), "counts", *words, str(tmp_path / "x.csv"), "--official", "fixed")
        said = ask((url, key), "counts", *words, str(tmp_path / "y.csv"), code=2)
    served.service.close()
    assert pl.read_csv(tmp_path / "x.csv")["value"].to_list() == [7, 6]
    assert "official" in said


def test_tables_in_files(asked: tuple[str, Path], tmp_path: Path) -> None:
    table = dc.tabulate(homes(), BY, record_key="record_key")
    cells = table.to_polars().rename({"count": "n", "cell_key": "key"})
    layout = {"by": BY, "count": "n", "cell_key": "key"}
    cells.write_csv(tmp_path / "cells.csv")
    (tmp_path / "layout.json").write_text(json.dumps(layout))
    out = tmp_path / "T1.px"
    words = [str(tmp_path / "cells.csv"), str(tmp_path / "layout.json"), "--language", "de"]
    ask(asked, "table", *words, "--parameter-set", "census", "--kind", "parts", "--out", str(out))
    safe = protect_by_programme(cells, CellProgramme.of(layout, parameters(), name="T1"))
    assert out.read_bytes() == safe.write(tmp_path / "own.px", language="de").read_bytes()


def test_what_the_service_refuses_is_an_error_of_the_command(
    asked: tuple[str, Path], tmp_path: Path
) -> None:
    pl.DataFrame({"n": [-731731], "key": [1]}).write_csv(tmp_path / "cells.csv")
    words = [str(tmp_path / "cells.csv"), "--parameter-set", "census"]
    said = ask(asked, "counts", *words, "--out", str(tmp_path / "x.csv"), code=2)
    assert "below 0" in said
    assert "731731" not in said
    assert not (tmp_path / "x.csv").exists()


def test_keys_are_read_from_private_files_only(asked: tuple[str, Path], tmp_path: Path) -> None:
    open_to_all = tmp_path / "open.key"
    open_to_all.write_text("dsc_x")
    open_to_all.chmod(0o644)
    said = ask((asked[0], open_to_all), "datasets", code=2)
    assert "other users of this computer can open" in re.sub(r"\s+", " ", said)
