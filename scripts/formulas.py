"""Formulas of documentation pages, for browsers: LaTeX becomes MathML when the site is built.

In: pages as `pymdownx.arithmatex` marks formulas in them. Out: pages that need neither scripts
nor a network. A formula that cannot be understood stops the build.
"""

from __future__ import annotations

import html
import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
#: The sign of absolute values, which has no room around it as an operator has.
_BAR = '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;'


def on_page_content(content: str, **_: Any) -> str:
    """The page with its formulas drawn; as LaTeX where the package for them is missing."""
    if find_spec("latex2mathml") is None:
        return content
    convert = import_module("latex2mathml.converter").convert

    def drawn(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        made = convert(html.unescape(found[2]), display=display)
        made = made.replace("<mo>&#x0007C;", _BAR).replace('<mo stretchy="false">&#x0007C;', _BAR)
        # Wide ones are moved within the page, not the page.
        return f'<div style="overflow-x: auto">{made}</div>' if display == "block" else made

    return _FORMULA.sub(drawn, content)
