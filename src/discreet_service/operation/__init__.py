"""Operation: figures about the service, its log, backups. Nothing here tells of contents."""

from discreet_service.operation.metrics import ServiceMetrics

__all__ = ["ServiceMetrics"]
