"""Façades that plugins add to the service; nobody here knows their names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType

from discreet.plugins import plugin, plugins


@cache
def facades() -> Mapping[str, ModuleType]:
    """The façades by name, each a package with its `router`."""
    return {name: plugin("facade", name) for name in plugins("facade")}
