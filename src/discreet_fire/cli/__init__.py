"""The commands of output checking: ``discreet fire …``; no logic of their own."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .queue import Folder as Folder
    from .queue import Number as Number

lazy_face(__name__)
