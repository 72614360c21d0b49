"""`import discreet` is light, and modules import only what lies below them."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import MicrodataError
from discreet.record_batches import arrow_package
from tests.helpers.places import ROOT

HEAVY = (
    "cryptography", "duckdb", "narwhals", "numba", "numpy", "openpyxl", "pandas",
    "polars", "pyarrow", "pydantic", "pyspark", "rich", "typer",
)  # fmt: skip

# Processor time, not wall time: other work on the machine must not fail the test.
MEASURE = """
import sys, time
start = time.process_time()
import discreet
print(time.process_time() - start)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def fresh(code: str) -> list[str]:
    """The lines that `code` prints in an interpreter of its own."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_import_is_light_and_loads_no_engine() -> None:
    measured = [fresh(MEASURE) for _ in range(3)]
    assert min(float(seconds) for seconds, _ in measured) < 1  # usually 0.08
    loaded = set(measured[0][1].split())
    assert "discreet" in loaded
    assert loaded & set(HEAVY) == set()


SUPPRESS = """
from discreet.cli import main
try:
    main("suppress firms.csv --by region,branch --value turnover --rule p=10 --out t.csv".split())
except SystemExit as end:
    assert end.code == 0
"""
PROTECT = """
from discreet import PerturbationTable
from discreet.cli import main
from discreet.microdata import Secret
Secret.generate().write("secret.key")
PerturbationTable.from_rows({0: {0: 1}, 1: {0: 0.5, 1: 0.5}}).write("ptable.json")
try:
    main("protect firms.csv --by region,branch --id id --secret secret.key --ptable ptable.json "
         "--found-codes hide --out t.csv".split())
except SystemExit as end:
    assert end.code == 0
"""
PERTURB = """
import polars as pl, discreet as dc
cells = pl.DataFrame({"sex": ["m", "w"], "n": [5, 7], "key": [3, 4]})
table = dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
dc.perturb(table, dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}})).write("t.csv")
"""
LOADED = """
print(*sorted(name for name in sys.modules if name not in before))
"""


@pytest.mark.parametrize(("code", "most"), [(SUPPRESS, 340), (PROTECT, 375), (PERTURB, 130)])
def test_a_use_loads_only_what_it_needs(
    code: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = itertools.product("ab", "xy", range(1, 9))
    rows = [f"{at},{region},{branch},{n}" for at, (region, branch, n) in enumerate(cells)]
    Path("firms.csv").write_text("\n".join(["id,region,branch,turnover", *rows]))
    start = "import atexit, gc, sys, polars, numpy\nbefore = set(sys.modules)\n"
    start += "atexit.register(lambda: print(gc.get_freeze_count()))\n"
    *_, names, frozen = fresh(start + code + LOADED)
    loaded = set(names.split())
    # Commands do not look for rubbish among all modules once more when they end.
    assert bool(int(frozen)) == (code != PERTURB)
    needless = {"duckdb", "numba", "openpyxl", "pandas", "pyarrow", "rich"}
    if code == PROTECT:  # which hides no cells and has no key that signs
        needless |= {
            "highspy",
            "discreet.disclosure.relations",
            "discreet.protection.suppression.problem",
        }
        needless |= {"cryptography.hazmat.primitives.serialization"}
    needless |= {"cryptography"} if code != PROTECT else set()  # which seals the quality
    assert loaded & needless == set()
    assert "discreet" in loaded
    assert len(loaded) < most
    assert Path("t.csv").read_text()


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Hold the contracts of pyproject.toml against the package under `root`."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


BREACHES = [
    ("tables/cells.py", "import discreet.protection.noise", "Upper layers"),
    ("publication/__init__.py", "import discreet.tabulation", "Publication"),
    ("tables/dimension.py", "import discreet.tables.table", "No import cycles"),
    ("stray.py", "", "- discreet.stray"),
]


@pytest.mark.exhaustive
def test_breaches_of_the_layers_are_found(tmp_path: Path) -> None:
    """That the code itself has none is what `make check` looks for."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, line, _ in BREACHES:
        with (tmp_path / "src" / "discreet" / module).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    lines = (done.stdout + done.stderr).splitlines()
    for _, _, contract in BREACHES:
        found = [text for text in lines if contract in text and "KEPT" not in text]
        assert found, done.stdout + done.stderr


WITHOUT_EXTRAS = """
import sys
sys.modules |= dict.fromkeys(("duckdb", "pandas", "pyarrow"))
import polars as pl
import discreet as dc
from discreet.demo import write_census
from discreet.microdata import Secret

write_census(".", persons=1_000)
persons = dc.read_microdata("persons.parquet")
persons = dc.with_record_keys(persons, id="person_id", secret=Secret.generate())
noise = dc.design_perturbation(max_noise=2, variance=1)
table = dc.tabulate(persons, by=["sex", "marital_status"], record_key="record_key")
safe = dc.perturb(table, noise)
for suffix in ("parquet", "xlsx", "html", "csv"):
    safe.write(f"table.{suffix}")
assert pl.read_parquet("table.parquet").height == len(safe.to_polars())
primary = dc.primary(table, [dc.rules.MinimumFrequency(3)])
assert dc.audit(dc.suppress(table, primary), table, primary).safe
persons.collect().write_parquet("keyed.parquet")
"""


def test_extras_are_not_needed(tmp_path: Path) -> None:
    """Neither DuckDB nor pyarrow nor pandas, by the way from records to files."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


WITH_DUCKDB = """
import sys
sys.modules |= dict.fromkeys(("pandas", "pyarrow"))
import duckdb, polars as pl
import discreet as dc
from discreet.microdata import Secret

secret = Secret.generate()
people = pl.DataFrame({"id": range(300), "sex": ["m", "w", "d"] * 100, "age": range(300)})
people.write_csv("people.csv")
people.write_ipc("people.arrow")
with duckdb.connect("people.duckdb") as database:
    database.sql("create table people as from 'people.csv'")
found = []
for records in (
    people, people.lazy(), duckdb.sql("from 'people.csv'"), "people.csv", "people.arrow",
    dc.read_microdata("people.duckdb", table="people"),
):
    records = dc.read_microdata(records) if isinstance(records, str) else records
    keyed = dc.with_record_keys(records, id="id", secret=secret)
    call = dict(values=["age"], contributions=2, record_key="record_key")
    found.append(dc.tabulate(keyed, by=["sex"], **call).to_polars())
assert all(each.equals(found[0]) for each in found)
"""


@pytest.mark.exhaustive
def test_duckdb_and_polars_exchange_columns_by_themselves(tmp_path: Path) -> None:
    """Without pyarrow between them, and without words of DuckDB on leaks at the end."""
    command = [sys.executable, "-c", WITH_DUCKDB]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_an_extra_reads_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "census.duckdb").write_bytes(b"12345678DUCK" + bytes(100))
    code = "import sys; sys.modules['duckdb'] = None; import discreet as dc\n"
    command = [sys.executable, "-c", code + "dc.read_microdata('census.duckdb', table='people')"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "missing-package" in done.stderr
    assert "discreet[duckdb]" in done.stderr
    with pytest.raises(MicrodataError, match=r"discreet\[pandas\]"), arrow_package():
        raise ImportError("pyarrow is required")
