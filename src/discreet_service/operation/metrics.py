"""Metrics: how the service is doing, for Prometheus.

In: requests, answers, jobs. Out: counters and times. Labels are closed sets: no codes, no
callers, no data; numbers of cells are of published tables.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """The figures of one process.

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
        self.cells = Counter("discreet_cells", "Cells given out", ["mode"], registry=registry)
        self.refusals = Counter("discreet_refusals", "Refusals", ["rule"], registry=registry)
        self.cache_hits = Counter("discreet_cache_hits", "Answers kept", registry=registry)
        self.alerts = Counter("discreet_alerts", "Odd patterns", ["kind"], registry=registry)
        self.jobs = Gauge("discreet_jobs", "Jobs by state", ["state"], registry=registry)
        self.chain = Gauge(
            "discreet_audit_chain_ok", "Whether the trail was whole when last verified",
            registry=registry,
        )  # fmt: skip

    def page(self) -> bytes:
        """All figures as Prometheus reads them."""
        return generate_latest(self.registry)
