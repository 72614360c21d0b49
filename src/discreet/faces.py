"""Faces of packages: the names that other packages import, each loaded when it is first used.

In: the block ``if TYPE_CHECKING:`` of an ``__init__.py``, whose lines
``from .module import Name as Name`` are the one list of what a package offers. Type checkers
read the block, programs get the same names from `lazy_face`. Nothing here knows any data.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from functools import cache
from types import ModuleType

#: A line of that block.
_NAME = re.compile(r"^    from ([\w.]+) import (?:\(\s*)?(\w+) as \2\b", re.MULTILINE)


@cache
def _homes(package: str) -> dict[str, str]:
    """The names of a face, each with the module that it stands in; "" for a module itself."""
    source = (pkgutil.get_data(package, "__init__.py") or b"").decode()
    return {name: module if module.strip(".") else "" for module, name in _NAME.findall(source)}


class _Face(ModuleType):
    """A package that loads the names of its face when they are used."""

    def __getattr__(self, name: str) -> object:
        homes = _homes(self.__name__)
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home = importlib.import_module(homes[name] or f".{name}", self.__name__)
        return getattr(home, name) if homes[name] else home

    def __setattr__(self, name: str, value: object) -> None:
        # A loaded module becomes an attribute of its package, but not in place of a function
        # of its name.
        if not (isinstance(value, ModuleType) and _homes(self.__name__).get(name)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(_homes(self.__name__))


def lazy_face(package: str) -> None:
    """Give a package the names that its ``if TYPE_CHECKING:`` block imports under their own name.

    Other packages import them from the package, never from its modules: a contract of
    import-linter holds this.

    >>> import discreet.tables
    >>> "Table" in dir(discreet.tables), discreet.tables.Table.__module__
    (True, 'discreet.tables.table')
    """
    sys.modules[package].__class__ = _Face
