"""Clients: the service from Python, as functions on frames.

In: frames of cells (CONFIDENTIAL, sent to the service and nowhere else) and queries. Out: protected
frames and files, public. The figures are those of the library, which need not be told apart.
"""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .clients import AsyncClient as AsyncClient
    from .clients import Client as Client
    from .clients import ServiceJob as ServiceJob

lazy_face(__name__)
