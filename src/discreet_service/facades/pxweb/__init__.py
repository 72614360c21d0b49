"""PxWebApi 2 over released tables, to be read by clients of PxWeb. Public."""

from discreet_service.facades.pxweb.endpoints import router

__all__ = ["UNLIMITED", "router"]

#: What may be read however often somebody calls.
UNLIMITED = ("/pxapi/v2/config",)
