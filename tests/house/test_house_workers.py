"""Workers of `make test-more`: what shares a scene, a session of Spark or a browser goes to one."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_xdist_make_scheduler
from tests.helpers.places import ROOT

CONFIG: Any = SimpleNamespace(getoption=lambda _: "loadfile", getvalue=lambda _: ["popen"] * 2)


@pytest.mark.parametrize(
    ("test", "group"),
    [
        ("tests/cli/test_suppress.py::test_cells[a@b]", "tests/cli/test_suppress.py"),
        ("tests/tabulation/test_engines_agree.py::test_spark_counts[a]", "spark"),
        ("tests/release/test_spark_programmes.py::test_tables", "spark"),
        ("tests/service/studio/browser/test_every_page.py::test_pages[b]", "browser"),
    ],
)
def test_each_has_its_group(test: str, group: str) -> None:
    assert pytest_xdist_make_scheduler(CONFIG, None)._split_scope(test) == group


def test_it_is_asked_for_where_scenes_are_dear() -> None:
    (command,) = [
        line
        for line in (ROOT / "Makefile").read_text("utf-8").splitlines()
        if "--hypothesis-profile exhaustive" in line
    ]
    assert "--dist loadfile" in command
    plain: Any = SimpleNamespace(getoption=lambda _: "worksteal")
    assert pytest_xdist_make_scheduler(plain, None) is None
