"""SDMX REST over released tables: structures and data. Public."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .endpoints import router as router

lazy_face(__name__)
