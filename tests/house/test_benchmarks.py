"""What benchmarks and scripts import exists: they run too seldom to show it by failing."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from run import is_kept  # noqa: E402


@pytest.mark.parametrize("folder", ["bench", "scripts"])
def test_names_imported_from_the_packages_exist(folder: str) -> None:
    """A name renamed in `src` is renamed where it is measured as well."""
    missing = []
    for file in sorted((ROOT / folder).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
                package = importlib.import_module(str(node.module))
                missing += [
                    f"{file.name}: {node.module}.{alias.name}"
                    for alias in node.names
                    if not hasattr(package, alias.name)
                    and importlib.util.find_spec(f"{node.module}.{alias.name}") is None
                ]
    assert not missing


def test_benchmarks_run_by_the_commands_of_the_pages() -> None:
    """``python bench/NAME.py`` finds the helpers among the tests by itself."""
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    named = set(re.findall(r"\bbench/(\w+)\.py", "\n".join(pages)))
    texts = {name: (ROOT / "bench" / f"{name}.py").read_text("utf-8") for name in named}
    helped = {
        name: text for name, text in texts.items() if re.search(r"^\s*from tests\b", text, re.M)
    }
    assert helped
    for name, text in helped.items():
        assert "sys.path.insert(0" in re.split(r"^\s*from tests\b", text, flags=re.M)[0], name


def test_a_goal_is_missed_only_where_every_round_misses_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    second = [(9.0, 1.0), (9.0, 2.0)]
    assert is_kept(1.3, [[(1.0, 1.2), (1.0, 4.0)], second])
    assert not is_kept(1.3, [[(1.0, 1.4), (1.0, 4.0)], second])
    assert "1.40 to 2.00: MISSED" in capsys.readouterr().out
    assert not is_kept(1.3, [[], second])  # a task that failed
    assert is_kept(0.0, [[], second])
