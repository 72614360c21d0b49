"""Clients: the service from Python, as functions on frames.

In: frames of cells (CONFIDENTIAL, sent to the service and nowhere else) and queries. Out: protected
frames and files, public. The figures are those of the library, which need not be told apart.
"""

from discreet_service.client.calls import ServiceJob
from discreet_service.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "ServiceJob"]
