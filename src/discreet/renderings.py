"""Renderings of protected tables: the functions that write, draw and show them, by name.

In: names, each with the package that has the function. Out: the function, loaded when it is used.
Tables know these names only: writers, pictures and notebooks stand above them, and `discreet`
itself, which is above all, registers them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from discreet.errors import DiscreetError

_PACKAGES: dict[str, str] = {}


def register_renderings(**packages: str) -> None:
    """Make renderings known: the name of a function, and the package whose face has it.

    A second package for a name is an error.

    >>> register_renderings(write="discreet.publication")
    >>> register_renderings(write="elsewhere")
    Traceback (most recent call last):
        ...
    discreet.errors.DiscreetError: [rendering] write: two packages register this rendering ...
    """
    for name, package in packages.items():
        if _PACKAGES.setdefault(name, package) != package:
            raise DiscreetError(
                "two packages register this rendering",
                code="rendering",
                where=name,
                hint="keep one",
            )


def rendering(name: str) -> Callable[..., Any]:
    """The function of a name, which takes a protected table first.

    >>> rendering("write").__module__
    'discreet.publication.table_files'
    >>> rendering("shout")
    Traceback (most recent call last):
        ...
    discreet.errors.DiscreetError: [rendering] shout: rendering not registered ...
    """
    if name not in _PACKAGES:
        hint = f"registered: {', '.join(_PACKAGES)}"
        raise DiscreetError("rendering not registered", code="rendering", where=name, hint=hint)
    function: Callable[..., Any] = getattr(importlib.import_module(_PACKAGES[name]), name)
    return function
