"""PxWebApi 2 over released tables, to be read by clients of PxWeb. Public."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .endpoints import router as router

lazy_face(__name__)

#: What may be read however often somebody calls.
UNLIMITED = ("/pxapi/v2/config",)
