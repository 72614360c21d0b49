"""A format, a rule and an engine each come from the files that CONTRIBUTING names, no other.

They are added to one copy of the package, which shows that each works.
"""

import dataclasses
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.plugins import GROUP, HOOKS
from discreet.publication.formats import FORMATS
from discreet.rules import Reason, known_rules
from discreet.tabulation.engine import known_engines
from tests.helpers.places import ROOT
from tests.helpers.rows import for_all_rows

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

ROW = """\
    OutputFormat(
        name="lines", suffixes=("lines",), writer=f"{_WRITERS}.lines:write_file", workbook=None,
        columns=None, dataflow=False,
        page=PageLimits(cells=100, rows=None, columns=None, headroom=0, whole_grid=False),
    ),
"""

FORMATTED = """\
from pathlib import Path
import polars as pl
import discreet as dc
from typer.testing import CliRunner
from discreet.cli.commands import app
from discreet.publication import check_shape
from discreet.publication.examples import census_example

folder = Path(sys.argv[1])
print(census_example().write(folder / "a.lines").read_text().split()[:2])
people = {"sex": ["m", "w", "w"], "record_key": [10**14, 2 * 10**14, 3 * 10**14]}
pl.DataFrame(people).write_parquet(folder / "persons.parquet")
dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}).write(folder / "ptable.json")
(folder / "lines.toml").write_text(sys.argv[2])
dc.protect(folder / "lines.toml", out=folder / "lines")
print((folder / "lines" / "T1.lines").read_text().split())
words = ["protect", str(folder / "lines.toml"), "--out", str(folder / "again")]
print(CliRunner().invoke(app, words).exit_code, (folder / "again" / "T1.lines").exists())
try:
    check_shape("lines", 101, 1)
except dc.errors.PublicationError as error:
    print("lines holds at most 100 cells" in str(error))
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a module where it can be imported: added("name", "text")."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def add(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text, encoding="utf-8")

    return add


# -- a format: its writer and its row --------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_format_is_a_writer_and_a_row(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["format"] == ["['371', '47']", "['3', '1', '2']", "0 True", "True"]


@for_all_rows(
    ("row", "field"),
    [
        (row, field.name)
        for row in (FORMATS["html"], FORMATS["html"].page, FORMATS["csv"].columns)
        for field in dataclasses.fields(row)
    ],
)
def test_a_forgotten_field_of_a_format_is_an_error(row: Any, field: str) -> None:
    said = {each.name: getattr(row, each.name) for each in dataclasses.fields(row)}
    del said[field]
    with pytest.raises(TypeError, match=field):
        type(row)(**said)


# -- a rule: one module in rules/ ----------------------------------------------------------------

RULE = '''\
"""Cells in which too many take part."""

from dataclasses import dataclass

from discreet.rules.evidence import CellEvidence, RuleInference, RuleJudgement
from discreet.rules.protocol import Per, Reason, Rule, whole


@dataclass(frozen=True, repr=False)
class Crowd(Rule):
    """A cell with at least n contributors is sensitive."""

    key = "crowd"
    bare = ("n",)
    filters = {}
    reason = Reason.declare(9, "crowd", en="too many", de="zu viele")
    contributions = 1
    of_counts = True

    n: int
    per: Per = "record"

    def __post_init__(self) -> None:
        self.check(whole("n", self.n, 1))

    def judge(self, cells: CellEvidence) -> RuleJudgement:
        """Which cells are sensitive."""
        return cells.both(cells.count("records", self.name) >= self.n, cells.share(20))

    def inference(self, cells: CellEvidence) -> RuleInference:
        """Nothing that anyone could use."""
        return RuleInference.nothing()
'''

RULED = """\
from pathlib import Path
import polars as pl
import discreet as dc
from discreet.protection.suppression import Suppression, report_on

people = pl.DataFrame({"sex": ["m", "w", "w", "w", "w"] * 4, "area": ["a", "b"] * 10})
table = dc.tabulate(people, by=["sex", "area"])
primary = dc.primary(table, [dc.rules.Crowd(9)])
print(dc.rules.Crowd(9), primary.numbers())
print(report_on(Suppression.of((table, primary), method="fast")).reasons)

folder = Path(sys.argv[1])
people.write_parquet(folder / "people.parquet")
for number in ("-1", "9"):
    (folder / "programme.toml").write_text(sys.argv[3].replace("NUMBER", number))
    try:
        dc.protect(folder / "programme.toml", out=folder / "release")
    except dc.errors.ProgrammeError as error:
        print(error.problems[0].what)
print(sorted(set(pl.read_csv(folder / "release" / "T1.csv", separator=";")["reason"].drop_nulls())))
print("crowd: zu viele" in (folder / "release" / "T1.html").read_text())
"""

SUPPRESSING = """\
languages = ["de"]
[data]
source = "people.parquet"
[suppression]
method = "fast"
reasons = "rule"
[rules.all]
crowd = NUMBER
[tables.T1]
by = ["sex", "area"]
protect = "suppress"
rules = "all"
value = "count"
formats = ["csv", "html"]
"""


@pytest.mark.exhaustive
def test_a_rule_is_one_module(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["rule"] == [
        "<Crowd: secret> {'crowd': 4}",
        "{'crowd': 4}",
        "n must be a whole number of at least 1",
        "['crowd', 'secondary']",
        "True",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('    key = "crowd"\n', "lacks key"),
        ('    bare = ("n",)\n', "lacks bare"),
        ("    filters = {}\n", "lacks filters"),
        (
            '    reason = Reason.declare(9, "crowd", en="too many", de="zu viele")\n',
            "rule Crowd lacks reason",
        ),
        (', de="zu viele"', "'de'"),
        ("    contributions = 1\n", "rule Crowd lacks contributions"),
        ("    of_counts = True\n", "lacks of_counts"),
        ('    per: Per = "record"\n', "lacks per"),
        (RULE[RULE.index("    def inference") :], "lacks inference"),
    ],
)
def test_a_rule_that_forgets_something_is_an_error_at_import(
    line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reason, "_known", {int(reason): reason for reason in Reason.all()})
    assert line in RULE
    with pytest.raises(TypeError, match=message):
        exec(compile(RULE.replace(line, ""), "crowd", "exec"), {"__name__": "crowd"})
    assert "crowd" not in known_rules()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('key = "crowd"', 'key = "dominance"'),
        ("declare(9", "declare(3"),
        ('"crowd", en', '"none", en'),
    ],
)
def test_rules_share_neither_key_nor_reason(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reason, "_known", {int(reason): reason for reason in Reason.all()})
    with pytest.raises(TypeError, match="reason"):
        exec(compile(RULE.replace(old, new), "crowd", "exec"), {"__name__": "crowd"})


# -- an engine: one module in tabulation/ --------------------------------------------------------

ENGINE = '''\
"""Counting one record after the other, for pyarrow tables."""

from collections import Counter
from collections.abc import Iterator, Sequence

import narwhals as nw
import numpy as np
import polars as pl

from discreet.keygrid import LIMB, grid_keys
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine import Engine, Pass, TabulationTask


class LoopEngine(Engine):
    """One record after the other."""

    name = "loop"
    rank = 0

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Eager pyarrow tables."""
        return task.records.implementation is nw.Implementation.PYARROW

    def suits(self, one: Pass) -> bool:
        """Counts and keys of all records."""
        return one.where is None and not one.numbers and not any(a.bounds for a in one.axes)

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """One cube per pass."""
        frame = self.task.records.to_polars()
        column = self.task.record_key
        keys = grid_keys(frame[column], self.task.grid, column=column)
        for one in passes:
            print("loop", len(one.axes))
            rows = list(zip(*(frame[axis.column].to_list() for axis in one.axes), strict=True))
            if "boom" in frame.columns:
                raise ValueError(f"cannot count {rows[0]}")
            cells = sorted(set(rows), reverse=True)
            counts, sums = Counter(rows), Counter()
            for row, key in zip(rows, keys.tolist(), strict=True):
                sums[row] += key
            values = [pl.Series(sorted({c[at] for c in cells})) for at in range(len(one.axes))]
            yield Cube(
                axes=one.axes,
                codes=tuple(
                    np.array([list(known).index(cell[at]) for cell in cells], dtype=np.int32)
                    for at, known in enumerate(values)
                ),
                values=tuple(values),
                measures=np.array(
                    [[counts[c], sums[c] // LIMB, sums[c] % LIMB] for c in cells]
                ).T,
                layout=one.layout,
            )
'''

COUNTED = """\
import polars as pl
import discreet as dc
from discreet.tabulation import Query, tabulate_many

people = pl.DataFrame({
    "sex": ["m", "w", "w", "m", "w"], "area": ["a", "b", "b", "a", "a"],
    "income": [1, 2, 3, 4, 5], "key": [7, 10**15 - 1, 3, 4, 5],
})
queries = [
    Query(by=["sex", "area"], name="loop"),
    Query(by=["sex"], values=["income"], where="area == 'a'", name="memory"),
]
tables = [tabulate_many(each, queries, record_key="key") for each in (people, people.to_arrow())]
for one, other in zip(*tables):
    print(one.name, one.to_polars().equals(other.to_polars()))
for column in (pl.lit(10**15).alias("key"), pl.lit(1).alias("boom")):
    try:
        dc.tabulate(people.with_columns(column).to_arrow(), by=["sex"], record_key="key")
    except dc.errors.DiscreetError as error:
        print(error)
"""


#: What each addition is, and what shows that it works.
ADDED = {
    "format": {"publication/writers/lines.py": WRITER, "publication/formats.py": "\n_ROWS = (\n"},
    "rule": {"rules/crowd.py": RULE},
    "engine": {"tabulation/loop.py": ENGINE},
}
SHOWN = {"format": FORMATTED, "rule": RULED, "engine": COUNTED}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the package does in a copy with these files; everything else is what it is."""
    folder = tmp_path_factory.mktemp("grown")
    package, home = Path(dc.__file__).parent, folder / "src" / "discreet"
    for files in ADDED.values():
        for name, text in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            whole = (package / name).read_text("utf-8") if (package / name).exists() else ""
            assert text in whole or not whole
            (home / name).write_text(whole.replace(text, text + ROW) or text, encoding="utf-8")
    for place in [home, *(one for one in home.rglob("*") if one.is_dir())]:
        for item in (package / place.relative_to(home)).iterdir():
            if not (place / item.name).exists():
                (place / item.name).symlink_to(item)
    code = "import sys\n" + "".join(f"print('-- {name}')\n{SHOWN[name]}" for name in SHOWN)
    environment = {
        **os.environ, "PYTHONPATH": str(home.parent), "PYTHONDONTWRITEBYTECODE": "1"
    }  # fmt: skip
    command = [sys.executable, "-c", code, str(folder), PROGRAMME, SUPPRESSING]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    parts = [part.splitlines() for part in done.stdout.split("-- ")[1:]]
    return {name: lines for name, *lines in parts}


@for_all_rows(("name", "most"), [("format", 2), ("rule", 1), ("engine", 3)])
def test_so_many_files_are_touched(name: str, most: int) -> None:
    assert len(ADDED[name]) <= most


@pytest.mark.exhaustive
def test_an_engine_is_one_module(outcomes: dict[str, list[str]]) -> None:
    assert [line for line in outcomes["engine"] if "Hint" not in line] == [
        "loop 2",
        "loop True",
        "memory True",
        "[key-off-grid] key: 5 of 5 records have a key off the grid 10^15",
        "loop 1",
        "[engine-failed] the data engine failed on these records "
        "(ValueError in discreet.tabulation.loop)",
    ]


@pytest.mark.parametrize("word", ["name", "rank", "takes", "cubes"])
def test_an_engine_that_forgets_something_is_an_error_at_import(word: str) -> None:
    renamed = ENGINE.replace(f"    {word} =", "    other =").replace(f"def {word}(", "def other(")
    with pytest.raises(TypeError, match=f"lacks {word}"):
        exec(compile(renamed, "loop", "exec"), {"__name__": "loop"})
    assert "loop" not in [engine.name for engine in known_engines()]


# -- a plugin: its package and its entry points ----------------------------------------------------

PLUGIN = '''\
"""Files of cells, one "code value" per line; a hidden cell has the value x."""


def audit(path, *, metadata, intervals):
    """Count hidden cells."""
    hidden = sum(line.endswith(" x") for line in path.read_text().splitlines())
    return f"{hidden} hidden", {"table": path.name, "hidden": hidden, "safe": hidden > 1}


def add_commands(program, queue):
    """Add `discreet fire greet`."""

    @program.command("greet")
    def greet() -> None:
        """Greet."""
        print("good morning")
'''
ENTRY_POINTS = """\
[discreet.plugins]
audit.plain = plain_cells:audit
fire.greet = plain_cells:add_commands
module.discreet.plain = plain_cells
"""


@pytest.mark.exhaustive
def test_a_plugin_is_a_package_with_entry_points(
    added: Callable[[str, str], None], tmp_path: Path
) -> None:
    added("plain_cells", PLUGIN)
    about = tmp_path / "added" / "plain_cells-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-cells\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "a.plain").write_text("m 5\nw x\nd x\n")

    def run(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "added")}
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("-m", "discreet", "audit", "a.plain") == "2 hidden\n"
    (tmp_path / "b.plain").write_text("m 5\nw x\n")
    with pytest.raises(subprocess.CalledProcessError):
        run("-m", "discreet", "audit", "b.plain")
    assert run("-m", "discreet", "fire", "greet") == "good morning\n"
    assert run("-c", "import discreet.plain as p; print(p.audit.__module__)") == "plain_cells\n"


def test_the_core_names_no_plugin_and_each_entry_point_has_a_hook() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = points["project"]["entry-points"][GROUP]
    assert {name.partition(".")[0] for name in named} == set(HOOKS)
    packages = ("discreet_argus", "discreet_fire.extras", "discreet_service.facades")
    naming = [
        path
        for path in (ROOT / "src").rglob("*.py")
        for package in packages
        if package in path.read_text("utf-8")
        and not path.is_relative_to(ROOT / "src" / package.replace(".", "/"))
    ]
    assert naming == []
