"""Do two checkouts publish the same bytes? ``same_bytes.py OLD NEW``.

Each checkout makes the same outputs, with its own `src` and this Python, in a process of its
own: the whole demonstration (eight formats, packages, hidden firms), reference tables protected
by noise and by suppression, 200 patterns of random tables, and the programs, logs and runs of
output checking. Then every file of one is held against the same file of the other.

Uses the public names and the command only, so that it runs on any version of the project.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Problems small enough to be solved in seconds by every method.
PROBLEMS = ("table8", "osorio", "targus", "tau_Region_P10", "tau_Size_P10", "tau_SizeInd_P10")
PATTERNS = 200
#: Key pairs, and what is sealed with them, are drawn anew in each run.
DRAWN = {"office.key", "office.pub", "package.key", "census.dcparams"}
#: Files that say how long something took.
TIMED = {"suppression-internal.txt", "suppression-internal.json", "printed.txt"}


def command(*arguments: str, folder: Path) -> None:
    """One call of the command; what it prints is an output too, but for names of folders."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    said = f"{arguments}\n{done.returncode}\n{done.stdout}\n{done.stderr}"
    log = folder / "printed.txt"
    old = log.read_text() if log.exists() else ""
    log.write_text(old + said.replace(str(folder), "FOLDER"))


def demonstration(out: Path) -> None:
    """The demonstration and what its tables tell an attacker."""
    command("demo", "--out", "demo", "--persons", "6000", folder=out)


def reference_folder() -> Path:
    """The published examples beside the repository."""
    named = os.environ.get("DISCREET_REFERENCE")
    return Path(named) if named else ROOT.parent / "shared" / "reference"


def problems(out: Path) -> None:
    """Reference problems of suppression, by each method."""
    for found in sorted((reference_folder() / "suppression").glob("*.jj.gz")):
        name = found.name.removesuffix(".jj.gz")
        if name not in PROBLEMS:
            continue
        (out / f"{name}.jj").write_bytes(gzip.decompress(found.read_bytes()))
        for method in ("fast", "auto", "modular"):
            made = f"{name}-{method}.jj"
            command(
                "suppress", f"{name}.jj", "--method", method, "--out", made, "--repair", folder=out
            )
            command("audit", made, folder=out)


def reference_noise(out: Path) -> None:
    """Reference records with the noise of each kind of perturbation table."""
    import polars as pl

    import discreet as dc

    folder = reference_folder() / "cellkey"
    for ptable in sorted(folder.glob("A*_ptable*.csv.gz")):
        case = ptable.name[:2]
        text = gzip.decompress(ptable.read_bytes()).decode()
        (out / "ptable.csv").write_text(text)
        read = dc.PerturbationTable.read(out / "ptable.csv")
        for suffix in ("csv",):
            read.write(out / f"{ptable.name}.again.{suffix}")
        records = folder / f"{case}_microdata.csv.gz"
        frame = pl.read_csv(gzip.decompress(records.read_bytes())).with_row_index("id")
        frame = dc.with_record_keys(frame, id="id", secret="an example, no secret")  # noqa: S106
        words = [c for c in frame.columns if frame[c].n_unique() < 30][:3]
        table = dc.tabulate(frame, words, record_key="record_key")
        for kind in ("csv", "xlsx", "html", "json", "px"):
            dc.perturb(table, read).write(out / f"{ptable.name}-noisy.{kind}")


def patterns(out: Path) -> None:
    """Random tables with hidden cells: methods, rules, sizes and hierarchies by turns."""
    import polars as pl

    import discreet as dc

    parents: dict[str, str | None] = {"N": None, "S": None, **{f"N{i}": "N" for i in range(3)}}
    parents |= {f"S{i}": "S" for i in range(4)}
    region = dc.Classification.from_parents("region", parents)
    leaves = [code for code in parents if len(code) > 1]
    rules: dict[int, Callable[[], list[Any]]] = {
        0: lambda: [dc.rules.MinimumFrequency(3)],
        1: lambda: [dc.rules.PPercent(10)],
        2: lambda: [dc.rules.Dominance(n=2, k=85), dc.rules.MinimumFrequency(2)],
        3: lambda: [dc.rules.Dominance(n=1, k=70)],
    }
    methods: Sequence[Any] = ("auto", "fast", "optimal", "modular", "hypercube")
    for number in range(PATTERNS):
        draw = random.Random(number)  # noqa: S311
        rows = draw.choice((20, 40, 80, 300))
        data = {
            "region": [draw.choice(leaves) for _ in range(rows)],
            "size": [draw.choice("abc") for _ in range(rows)],
            "kind": [draw.choice("xyzw") for _ in range(rows)],
            "amount": [round(draw.lognormvariate(3, 1.5)) for _ in range(rows)],
        }
        by: list[Any] = [region, "size", "kind"][: draw.choice((2, 2, 3))]
        table = dc.tabulate(pl.DataFrame(data), by, values=["amount"], contributions=3)
        primary = dc.primary(table, rules[number % 4](), value="amount")
        try:
            safe = dc.suppress(table, primary, method=methods[number % 5])
            safe.write(out / f"pattern{number:03}.csv")
            (out / f"audit{number:03}.txt").write_text(str(dc.audit(safe, table)))
        except dc.DiscreetError as error:
            (out / f"pattern{number:03}.txt").write_text(str(error))


def corpus(tests: Path) -> list[Path]:
    """The programs, scripts and logs that lie among the tests of a checkout."""
    ends = (".do", ".py.txt", ".R", ".Rmd", ".R.txt", ".qmd", ".log", ".smcl")
    return sorted(path for path in tests.rglob("*") if path.name.endswith(ends))


def output_checking(out: Path) -> None:
    """Do-files and scripts rewritten, undone, run; logs cleaned."""
    for given in corpus(Path(os.environ["SAME_BYTES_PROGRAMS"])):
        taken = out / given.parent.name / given.name.removesuffix(".txt")
        taken.parent.mkdir(exist_ok=True)
        shutil.copy(given, taken)
    for path in sorted(p for p in out.rglob("*") if p.suffix in {".do", ".py", ".R", ".Rmd"}):
        command("fire", "pre", str(path.relative_to(out)), folder=out)
    for path in sorted(out.rglob("*.log")) + sorted(out.rglob("*.smcl")):
        command("fire", "post", str(path.relative_to(out)), folder=out)
    import polars as pl

    draw = random.Random(7)  # noqa: S311
    people = {
        "pid": [k // 4 for k in range(4000)],
        "year": [2000 + k % 4 for k in range(4000)],
        "sex": [draw.choice((1, 2)) for _ in range(4000)],
        "region": [draw.randrange(1, 9) for _ in range(4000)],
        "wage": [round(draw.lognormvariate(7, 0.6), 2) for _ in range(4000)],
        "age": [draw.randrange(18, 70) for _ in range(4000)],
    }
    pl.DataFrame(people).write_csv(out / "people.csv")
    (out / "run.do").write_text(RUN)
    command("fire", "pre", "run.do", folder=out)
    command("fire", "run", "run_FiRe.do", "--data", "people.csv", "--entity", "pid", folder=out)


RUN = """summarize wage
summarize wage, detail
tabulate region sex
tabstat wage age, by(region) statistics(mean sd n)
generate lw = ln(wage)
regress lw age i.sex, vce(robust)
predict fitted
xtset pid year
xtsum wage
bysort region: egen top = max(wage)
display top[1]
collapse (mean) wage, by(region)
list
foreach v in wage {
    quietly summarize `v'
    display r(mean)
}
"""

TASKS = (demonstration, problems, reference_noise, patterns, output_checking)


def produce(checkout: Path, programs: Path, out: Path) -> None:
    """Let a checkout make everything, in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout / "src"),
        "SAME_BYTES_OUT": str(out),
        "SAME_BYTES_PROGRAMS": str(programs),
        "TERM": "dumb",
        "COLUMNS": "100",
    }
    subprocess.run([sys.executable, __file__, "--here"], env=environment, check=True)


def here(out: Path) -> None:
    """Make everything with the `discreet` that Python finds."""
    for task in TASKS:
        folder = out / task.__name__
        folder.mkdir()
        task(folder)


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file, but for what no two runs have in common."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(lasting(path)).hexdigest()
        for path in files
        if path.name not in DRAWN
    }


def lasting(path: Path) -> bytes:
    """What is in a file, without seconds."""
    text = path.read_bytes()
    if path.name in TIMED:
        text = re.sub(rb"\d+(\.\d+)?(?= seconds?\b)|(?<=\"seconds\": )[\d.e-]+", b"N", text)
    return text


def main() -> int:
    """Compare, and say which files differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, metavar="OLD NEW")
    parser.add_argument("--keep", type=Path, help="keep what was made in this folder")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        here(Path(os.environ["SAME_BYTES_OUT"]))
        return 0
    if len(asked.checkouts) != 2:
        parser.error("name two checkouts")
    with tempfile.TemporaryDirectory() as made:
        folder = asked.keep or Path(made)
        found = []
        for name, checkout in zip(("old", "new"), asked.checkouts, strict=True):
            out = folder / name
            if not out.exists():
                out.mkdir(parents=True)
                produce(checkout.resolve(), asked.checkouts[0].resolve() / "tests", out)
            found.append(digests(out))
    old, new = found
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for name in differ:
        print(f"differs: {name}")
    print(f"{len(old)} files, {len(differ)} differ")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
