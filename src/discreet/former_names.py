"""Import paths of the release before this one, kept for one release.

In: an import of a path that the documentation once named. Out: the names at their new place,
with a `DeprecationWarning`. Only documented paths are here.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

__all__ = ["FORMER", "FormerNames", "install", "present_name"]

#: Each former path, and where its names are now.
FORMER: dict[str, tuple[str, ...]] = {
    "discreet.output_checking": ("discreet_fire",),
    "discreet.output_checking.quality": ("discreet_fire.remote_analysis",),
    "discreet.output_checking.safe": ("discreet_fire.statistics",),
    "discreet.output_checking.sanitising": ("discreet_fire.logs",),
    # Rewritten scripts of researchers import it.
    "discreet.output_checking.scripts": ("discreet_fire.scripts",),
    "discreet.output_checking.scripts.runtime": ("discreet_fire.scripts.runtime",),
    "discreet.perturbation": ("discreet.protection.noise",),
    "discreet.perturbation.design": ("discreet.protection.noise.design",),
    "discreet.release.quality": ("discreet.release.report",),
    "discreet.rules.judging": ("discreet.rules",),
    "discreet.rules.reasons": ("discreet.rules",),
    "discreet.suppression": (
        "discreet.protection.suppression",
        "discreet.protection.parts",
        "discreet.argus",
    ),
    "discreet.suppression.batches": ("discreet.argus.runs",),
}


def present_name(name: str) -> str:
    """The full name of today for one of the release before this one, and any other as it is.

    >>> present_name("discreet.output_checking.safe.summarize")
    'discreet_fire.statistics.summarize'
    """
    parts = name.split(".") if name.startswith("discreet.") else []
    for length in range(len(parts), 1, -1):
        homes = FORMER.get(".".join(parts[:length]), ())
        if len(homes) == 1:
            return ".".join([homes[0], *parts[length:]])
    return name


class _FormerLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Python's own kind of module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module hand on the names of its new places."""
        former, homes = module.__name__, FORMER[module.__name__]
        warnings.warn(
            f"{former} is now {' and '.join(homes)}; the old path goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )

        def handed_on(name: str) -> object:
            if not name.startswith("__"):
                for home in homes:
                    found = getattr(importlib.import_module(home), name, None)
                    if found is not None:
                        return found
            raise AttributeError(f"module {former!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = handed_on


class FormerNames(MetaPathFinder):
    """Finds former import paths; all others are left to Python."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of a former path, or None for any other name.

        >>> FormerNames().find_spec("discreet.suppression", None).name
        'discreet.suppression'
        """
        if fullname not in FORMER or PathFinder.find_spec(fullname, path) is not None:
            return None
        return ModuleSpec(fullname, _FormerLoader(), is_package=True)


def install() -> None:
    """Let Python find former paths, once."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.append(FormerNames())
