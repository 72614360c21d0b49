"""The first ten minutes: what is installed, and how long first commands take in fresh processes.

Each way is run by the interpreter of an environment that has discreet and nothing else, so that
an older release can stand beside this one:

    python bench/first_contact.py NEW_ENVIRONMENT [OLD_ENVIRONMENT]

Seconds are those of the processor, the median of nine runs that take turns; a first run of each,
which writes what later ones find compiled, is left out. Behind them stands the ratio to
``import polars``.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 9
#: Way → what runs in the environment, in a folder with the files that `prepared` puts there.
WAYS = {
    "import polars": ["-c", "import polars"],
    "import discreet": ["-c", "import discreet"],
    "discreet --help": ["-m", "discreet", "--help"],
    "discreet suppress, 200 cells of 1,500 records": [
        "-m", "discreet", "suppress", "small.csv", "--by", "region,branch", "--rule", "n=3",
        "--method", "fast", "--out", "hidden.csv",
    ],
    "discreet protect, the same cells with noise": [
        "-m", "discreet", "protect", "small.csv", "--by", "region,branch", "--id", "id",
        "--secret", "secret.key", "--ptable", "ptable.json", "--out", "noisy.csv",
    ],
    "first small table (1,500 records of CSV, 200 cells)": ["small.py"],
    "first large table (2 million records of Parquet, 12,000 cells)": ["large.py"],
    "reading these two million records only": ["read.py"],
    "programme over a CSV file of 50,000 records": [
        "-m", "discreet", "protect", "programme.toml", "--out", "release",
    ],
}  # fmt: skip
FILES = {
    "small.py": """
import polars as pl
import discreet as dc
from discreet.microdata import Secret
secret = Secret.from_file("secret.key")
firms = dc.with_record_keys(pl.read_csv("small.csv"), id="id", secret=secret)
table = dc.tabulate(firms, by=["region", "branch"], record_key="record_key")
print(len(dc.perturb(table, dc.PerturbationTable.read("ptable.json")).to_polars()))
""",
    "large.py": """
import polars as pl
import discreet as dc
records = pl.read_parquet("large.parquet")
table = dc.tabulate(records, by=["region", "branch", "sex"], record_key="record_key")
print(len(dc.perturb(table, dc.PerturbationTable.read("ptable.json"))))
""",
    "read.py": """
import polars as pl
pl.read_parquet("large.parquet")
""",
    "programme.toml": """
[data]
source = "middle.csv"
[keys]
id = "id"
secret_file = "secret.key"
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
[tables.T1]
by = ["region", "branch"]
[tables.T2]
by = ["region", "sex"]
""",
}
RECORDS = """
import numpy as np, polars as pl
import discreet as dc
from discreet.microdata import Secret
draw = np.random.default_rng(1)
for name, size, region in (("small", 1_500, 20), ("middle", 50_000, 50), ("large", 2_000_000, 400)):
    codes = {"region": draw.integers(1, region, size), "branch": draw.integers(1, 10, size)}
    codes |= {"sex": draw.integers(1, 3, size)}
    records = pl.DataFrame({"id": np.arange(size), **codes})
    if name == "large":
        records = records.with_columns(record_key=draw.integers(0, 10**15, size))
        records.write_parquet("large.parquet")
    else:
        records.write_csv(f"{name}.csv")
Secret.generate().write("secret.key")
dc.design_perturbation(max_noise=3, variance=1).write("ptable.json")
"""
_TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")


def installed(python: Path) -> tuple[float, int]:
    """MB of an environment without what pip itself needs, and number of packages."""
    (packages,) = python.parent.parent.glob("lib/python*/site-packages")
    size = count = 0
    for place in packages.iterdir():
        if place.name.startswith(_TOOLS):
            continue
        count += place.suffix == ".dist-info"
        files = [place] if place.is_file() else [f for f in place.rglob("*") if f.is_file()]
        size += sum(file.stat().st_size for file in files)
    return size / 1e6, count


def seconds(python: Path, way: list[str], folder: Path) -> float:
    """Seconds of the processor that one fresh process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run(
        [str(python), *way], cwd=folder, env=environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(pythons: list[Path], way: list[str], folder: Path) -> list[float]:
    """The median of each environment; they take turns."""
    times: list[list[float]] = [[] for _ in pythons]
    for run in range(RUNS + 1):
        for python, found in zip(pythons, times, strict=True):
            subprocess.run(["rm", "-rf", "release"], cwd=folder, check=True)
            took = seconds(python, way, folder)
            if run:
                found.append(took)
    return [statistics.median(found) for found in times]


def main() -> None:
    """Print a row for each way, a column for each environment."""
    pythons = [Path(each).absolute() / "bin" / "python" for each in sys.argv[1:]]
    if not pythons:
        raise SystemExit(__doc__)
    sizes = [installed(python) for python in pythons]
    print("| |", " | ".join(python.parent.parent.name for python in pythons), "|")
    print("| installed, MB |", " | ".join(f"{mb:.0f}" for mb, _ in sizes), "|")
    print("| packages, itself included |", " | ".join(str(n) for _, n in sizes), "|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        seconds(pythons[0], ["-c", RECORDS], folder)
        polars: list[float] = []
        for title, way in WAYS.items():
            times = measured(pythons, way, folder)
            polars = polars or times
            columns = [f"{a:.2f} ({a / b:.1f})" for a, b in zip(times, polars, strict=True)]
            print(f"| {title}, s |", " | ".join(columns), "|", flush=True)


if __name__ == "__main__":
    main()
