"""Plugins: what other packages add, found by entry points of the group `discreet.plugins`.

In: the name of a hook and a key, such as "suppress" and "xyz". Out: what the package of the entry
point `suppress.xyz` offers; nothing is imported before it is used. `HOOKS` lists all hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

GROUP = "discreet.plugins"

#: Each hook: what its keys are, and what an entry point of it names.
HOOKS: Mapping[str, str] = {
    "module": "another name of a module in Python, such as `discreet.xyz`: the module",
    "batch": "suffix: (path, language=, progress=) carries the file out; words and plain values",
    "suppress": "suffix, or `other`: (path, out, ...) hides cells of the file; words, plain values",
    "audit": "suffix, or `other`: (path, metadata=, intervals=) audits it; words and plain values",
    "pattern": "suffix: (problem with suppressed cells, path) writes the pattern, CONFIDENTIAL",
    "marks": "suffix: (path, spanning variables, separator=) reads what is decided about cells",
    "records": "a format of `discreet.microdata`: a module with `read_records_file` and "
    "`description_of`",
    "fire": "any name: (program, queue) adds commands to `discreet fire` or `discreet fire queue`",
    "facade": "a façade of the service: the router with its endpoints",
}


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def plugin(hook: str, key: str, otherwise: str = "") -> Any:
    """The plugin of a hook under a key, or under another key; None without one.

    >>> plugin("suppress", "unknown")
    """
    points = _entry_points()
    point = points.get(f"{hook}.{key}") or points.get(f"{hook}.{otherwise}")
    return None if point is None else point.load()


def plugins(hook: str) -> list[str]:
    """The keys that packages add to a hook, in order."""
    return sorted(
        key for name in _entry_points() for own, _, key in [name.partition(".")] if own == hook
    )


class _Alias:
    """Gives a module a second name."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, _: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


def module_spec(name: str) -> ModuleSpec | None:
    """Import specification of a module of a plugin; None without one."""
    module = plugin("module", name)
    return None if module is None else ModuleSpec(name, _Alias(module))  # type: ignore[arg-type]


def suffix_of(path: Path) -> str:
    """The suffix that hooks go by, without that of compression.

    >>> suffix_of(Path("cells.XYZ.gz"))
    'xyz'
    """
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]
