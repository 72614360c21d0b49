"""Show the doctests of docstrings as code in the documentation.

In: the docstrings that mkdocstrings has read. Out: the same ones, where a
doctest stands in an "Examples:" section, which the documentation prints as code.
"""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

__all__ = ["ExampleSections", "with_section"]

PROMPT = ">>> "


def with_section(text: str) -> str:
    r"""Move everything from the first doctest on into a section of its own.

    >>> with_section("Add.\n\n>>> 1 + 1\n2")
    'Add.\n\nExamples:\n    >>> 1 + 1\n    2'
    """
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith(PROMPT)), None)
    if first is None:
        return text
    indented = [f"    {line}".rstrip() for line in lines[first:]]
    return "\n".join([*lines[:first], "Examples:", *indented])


class ExampleSections(Extension):
    """The hook that mkdocstrings calls for every class, function and module."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = with_section(obj.docstring.value)
