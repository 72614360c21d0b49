"""SDMX REST over released tables: structures and data. Public."""

from discreet_service.facades.sdmx.endpoints import router

__all__ = ["router"]
