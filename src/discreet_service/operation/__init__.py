"""Operation: figures about the service, its log, backups. Nothing here tells of contents."""

from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .metrics import ServiceMetrics as ServiceMetrics

lazy_face(__name__)
