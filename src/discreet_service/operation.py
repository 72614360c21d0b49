"""Operation: figures about the service, and its log: one JSON object a line on stderr, of closed
words and numbers. No path with its codes, no query, no body, no message of an exception is logged.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """The figures of a service.

    >>> metrics = ServiceMetrics()
    >>> metrics.refusals.labels(rule="P1").inc()
    >>> b'discreet_refusals_total{rule="P1"} 1.0' in metrics.page()
    True
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "discreet_requests", "Requests", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "discreet_request_seconds", "Time of requests", ["route"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.stages = Histogram(
            "discreet_query_seconds", "Time of steps of answers", ["stage"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.cells = Counter("discreet_cells", "Published cells", ["mode"], registry=registry)
        self.refusals = Counter("discreet_refusals", "Refusals", ["rule"], registry=registry)
        self.cache_hits = Counter("discreet_cache_hits", "Cached answers", registry=registry)
        self.alerts = Counter("discreet_alerts", "Suspicious patterns", ["kind"], registry=registry)
        self.jobs = Gauge("discreet_jobs", "Jobs by state", ["state"], registry=registry,
                          multiprocess_mode="mostrecent")  # fmt: skip
        self.chain = Gauge(
            "discreet_audit_chain_ok", "Whether the last verification found a complete audit trail",
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip

    def page(self) -> bytes:
        """All figures as Prometheus reads them; where several processes answer, those of all."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        every = CollectorRegistry()
        MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        return generate_latest(every)


_FIELDS = "fields"


class JsonLines(logging.Formatter):
    """Log records as JSON objects."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; of exceptions the type and the place only."""
        told: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if not record.exc_info else "failure",
        }
        told |= getattr(record, _FIELDS, {})
        if record.exc_info and record.exc_info[1] is not None:
            told |= place_of_failure(record.exc_info[1])
        return json.dumps(told, ensure_ascii=True)


def place_of_failure(error: BaseException) -> dict[str, str]:
    """The type of an exception and the lines it came through, without its words.

    >>> try:
    ...     int("secret")
    ... except ValueError as error:
    ...     place_of_failure(error)["error"]
    'ValueError'
    """
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = [f"{frame.filename.rpartition('/src/')[2]}:{frame.lineno}" for frame in frames]
    return {"error": type(error).__name__, "at": " < ".join(reversed(places))}


def service_log() -> logging.Logger:
    """The log of the service."""
    return logging.getLogger("discreet.service")


def log_event(event: str, **fields: str | int | float | bool) -> None:
    """Write one line."""
    service_log().info(event, extra={_FIELDS: fields})


def start_log(stream: TextIO | None = None) -> None:
    """Write to a stream from now on; requests are logged once, by the service itself."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    log = service_log()
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        other = logging.getLogger(name)
        other.handlers, other.propagate = [handler], False
        other.setLevel(logging.WARNING)
