"""Run tests in a given order, each within its time, and write down what each one enters.

In: the plan that `mutate.py` writes and names in DISCREET_MUTANTS. Out: one line for each test,
before it begins and after it has ended, so that it is known which one a crash has ended. A plugin
of pytest.
"""

from __future__ import annotations

import ast
import importlib.abc
import json
import os
import signal
import sys
import time
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from mutate import is_compiled

PLAN: dict[str, Any] = json.loads(Path(os.environ["DISCREET_MUTANTS"]).read_text("utf-8"))
_MARK = "_entered_in_a_test"

entered: set[tuple[str, str]] = set()


class Marking(SourceFileLoader):
    """Loads a module so that each of its functions says when it is entered."""

    def get_code(self, fullname: str) -> CodeType:
        """The code with one call more at the head of each function; never one kept before."""
        tree = ast.parse(self.get_data(self.path))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not is_compiled(node):
                call = ast.Call(ast.Name(_MARK, ast.Load()), [ast.Constant(node.name)], [])
                mark = ast.copy_location(ast.Expr(call), node.body[0])
                says_something = ast.get_docstring(node, clean=False) is not None
                node.body.insert(int(says_something), mark)
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module what its functions call, and run it."""
        setattr(module, _MARK, lambda function: entered.add((self.path, function)))
        super().exec_module(module)


class MarkedModules(importlib.abc.MetaPathFinder):
    """Finds the modules whose functions say when they are entered."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing but for the modules of the plan."""
        found = PathFinder.find_spec(name, path, target)
        if found is not None and found.origin in PLAN["marked"]:
            found.loader = Marking(name, str(found.origin))
            return found
        return None


def _write(**line: object) -> None:
    with Path(PLAN["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def pytest_configure() -> None:
    """Before anything of the project is imported."""
    sys.meta_path.insert(0, MarkedModules())
    signal.alarm(PLAN["limit"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests most likely to notice come first; some are left out."""
    out = [item for item in items if item.nodeid in PLAN["without"]]
    config.hook.pytest_deselected(items=out)
    place = {name: at for at, name in enumerate(PLAN["order"])}
    items[:] = [item for item in items if item.nodeid not in PLAN["without"]]
    items.sort(key=lambda item: place.get(item.nodeid, -1))
    if PLAN["only"]:
        items[:] = [item for item in items if item.nodeid in PLAN["only"]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that takes far too long ends the process, even within a compiled loop."""
    name = item.nodeid
    signal.alarm(int(PLAN["limit"] + 5 * PLAN["seconds"].get(name, 10)))
    entered.clear()
    _write(begins=name)
    begin = time.monotonic()
    result = yield
    seconds = time.monotonic() - begin
    places = sorted(entered)
    _write(ends=name, seconds=seconds, entered=places)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Which test has failed."""
    if report.failed:
        _write(fails=report.nodeid)


def pytest_sessionfinish() -> None:
    """The interpreter has its time to end, too."""
    signal.alarm(PLAN["limit"])
