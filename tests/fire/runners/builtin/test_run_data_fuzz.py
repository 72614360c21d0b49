"""Data commands with arbitrary arguments: a result or a clear error, and nothing leaks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet_fire.runners.builtin.data.data_files import dta_bytes, read_data
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.language.values import MISSING, WHOLE, extended
from discreet_fire.runners.builtin.registry import commands
from tests.helpers.run_data import Run

SECRET = 7654321.0
DATA = {"g": [2, 1, 2, 1, 1], "x": [1.5, SECRET, None, 2.0, 2.0],
        "s": ["b", "", "Secretson", "a", "a"]}  # fmt: skip
NAMES = [
    one.name
    for one in commands()
    if one.facts.section in ("data", "program") and one.name not in ("sleep", "mkdir")
]
WORDS = [
    "g", "x", "s", "new", "_all", "x*", "g-s", "1", "-3", ".", "(mean)", "(1=2)", "(x g)", "=",
    "= x + 1", "= s", "if x > 1", "if s", "in 1/2", "in 9", "using other", "[aw=x]", "[fw=g]",
    ",", ", by(g)", ", replace", ", generate(new)", ", i(g) j(s) string", ", i(g) j(x)", ", force",
    "1:1 g", "m:1 g", "long x", "wide x", "drop", "tag", "report", "variable x", "define l 1",
    '"text"', '"', "(", ")", "`x'", "%9.2f", "float", "new = total(x)", "new = group(s)", "scalar",
    "obs 3", "seed x", "delimited x.csv", ", missing", ", at(1 2)", ", p(", ", nq(4)", ", nq(x)",
    ", mv(1)", ", limit(q)", ", at(x)", "new = cut(x), group(q)", "new = rank(s)", ", into(z)",
    "new = concat(g s)", "list", "n", "not", "all", "x = g", "=x", ", long", ", wide", "g x",
    "`=x[2]'",
]  # fmt: skip


@given(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.sampled_from(["", "", "by g: ", "bysort g: ", "quietly "]),
)
def test_any_arguments_are_a_result_or_a_clear_error(name, words, prefix):
    run = Run("", DATA)
    failed = ""
    try:
        run.more(f"save other\n{prefix}{name} {' '.join(words)}\ndescribe\nlabel list")
    except DiscreetError as error:
        failed = str(error)
    for text in (failed, run.text):
        assert "7654321" not in text
        assert "Secretson" not in text
    assert all(len(one.values) == run.session.data.rows for one in
               run.session.data.variables.values())  # fmt: skip


numbers = st.one_of(
    st.just(MISSING), st.sampled_from("abcz").map(extended), st.floats(-1e6, 1e6, width=32)
)
whole = st.one_of(st.just(MISSING), st.just(extended("z")), st.integers(-100, 100).map(float))


@given(st.data(), st.integers(0, 6))
def test_written_files_are_read_back_as_they_were(data, rows):
    made = DataSet(rows=rows)
    for kind in (*WHOLE, "float", "double"):
        source = whole if kind in WHOLE else numbers
        values = data.draw(st.lists(source, min_size=rows, max_size=rows))
        made.variables[f"v_{kind}"] = DataVariable(np.array(values, dtype=np.float64), kind)
    texts = np.empty(rows, dtype=object)
    texts[:] = data.draw(st.lists(st.text("aü€ b", max_size=5).map(str.rstrip), min_size=rows,
                                  max_size=rows))  # fmt: skip
    made.variables["s"] = DataVariable(texts, "str20", label=data.draw(st.text("aé ", max_size=30)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.dta"
        path.write_bytes(dta_bytes(made))
        back = read_data(path)
    for name, one in made.variables.items():
        assert list(back.variables[name].values) == list(one.values)
    assert {name: one.kind for name, one in back.variables.items() if name != "s"} == {
        name: one.kind for name, one in made.variables.items() if name != "s"
    }


def test_the_same_data_make_the_same_bytes():
    one, other = (DataSet.of(Run("", DATA).session.data.frame()) for _ in range(2))
    assert dta_bytes(one) == dta_bytes(other)
    assert dta_bytes(one).startswith(b"<stata_dta>")
