"""What benchmarks and scripts import exists: they run too seldom to show it by failing."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
