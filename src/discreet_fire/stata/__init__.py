"""Stata do-files taken apart, with every command word at its place.

In: the text of a do-file. Out: statements, findings. Nothing is run and nothing is
changed here.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .parser import BODIES as BODIES
    from .parser import parse_do as parse_do
    from .statements import DoFile as DoFile
    from .statements import DoStatement as DoStatement
    from .statements import Kind as Kind
    from .statements import Reading as Reading
    from .statements import Why as Why
    from .statements import Word as Word

lazy_face(__name__)
