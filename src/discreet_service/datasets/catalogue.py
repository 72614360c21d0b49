"""`DatasetCatalogue`: data sets, their versions (CONFIDENTIAL once opened), and in which state each
is. A version is published whole or not at all; what was changed since is not used.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from discreet.errors import DiscreetError, nearest
from discreet.publication import Boundaries
from discreet.tables import ProtectedTable
from discreet_service.audit import AuditKind, AuditTrail
from discreet_service.database import (
    DATA_VERSIONS,
    ServiceDatabase,
    change_rows,
    insert_row,
    record_of,
    row_of,
)
from discreet_service.datasets.versions import (
    DESCRIPTION,
    DataVersion,
    ParametersOf,
    open_version,
    read_description,
)
from discreet_service.problems import ServiceError

VersionState = Literal["draft", "published", "retired"]


@dataclass(frozen=True, kw_only=True)
class VersionRecord:
    """Facts about a version without opening it. Public."""

    dataset: str  # The data set
    version: str
    state: VersionState  # "draft", "published" or "retired"
    facts: Mapping[str, Any]  # Titles, period, units: nothing that records tell
    published_at: int = 0  # When it was published, in milliseconds since 1970; 0 for a draft
    published_by: str = ""  # Who published it; staff only
    folder: str = ""  # Name of its folder; staff only
    fingerprint: str = ""  # Keyed digest of all that determines answers


class DatasetCatalogue:
    """The data sets of a service. CONFIDENTIAL."""

    def __init__(
        self,
        folder: Path,
        *,
        database: ServiceDatabase,
        trail: AuditTrail,
        clock: Callable[[], int],
        key: bytes,
        parameters_of: ParametersOf | None = None,
    ) -> None:
        self.folder, self.database, self.trail, self.clock = folder, database, trail, clock
        self._key, self._parameters_of = key, parameters_of
        self._opened: dict[tuple[str, str], DataVersion] = {}
        self._lock = threading.Lock()

    def drafts(self) -> dict[tuple[str, str], Path]:
        """The folders that hold a readable DATASET.toml, by data set and version."""
        paths: dict[tuple[str, str], Path] = {}
        places = [*self.folder.glob(f"*/{DESCRIPTION}"), *self.folder.glob(f"*/*/{DESCRIPTION}")]
        for place in sorted(places):
            try:
                entry = read_description(place.parent).dataset
            except DiscreetError:
                continue
            paths.setdefault((entry.id, entry.version), place.parent)
        return paths

    def records(self, dataset: str = "") -> list[VersionRecord]:
        """Versions that are or were published, the latest first."""

        def read(connection: sa.Connection) -> list[VersionRecord] | None:
            columns = DATA_VERSIONS.c
            order = sa.select(DATA_VERSIONS).order_by(
                columns.published_at.desc(), columns.dataset, columns.version.desc()
            )
            if dataset:
                order = order.where(columns.dataset == dataset)
            rows = [(json.loads(row.facts), row) for row in connection.execute(order)]
            return [
                record_of(VersionRecord, row, folder=facts.pop("folder"), facts=facts)
                for facts, row in rows
            ] or None

        return [*(self.database.remembered(("versions", dataset), read) or ())]

    def boundaries(
        self, table: ProtectedTable, origin: tuple[str, str] | None, may: Callable[[str], bool]
    ) -> Mapping[str, Boundaries]:
        """Boundaries of the areas of a table, per variable, of the data that it was made of; of any
        data that are published and have all of its areas if nobody knows which these were.

        Args:
            table: A protected table.
            origin: Data set and version that it was made of; None if nobody knows.
            may: Whether somebody may see the codes of a data set.
        """
        known = [(one.dataset, one.version) for one in self.records() if one.state == "published"]
        for dataset, version in [origin] if origin else known:
            inputs = self.version(dataset, version).inputs if may(dataset) else None
            fitting = {
                one.name: inputs.boundaries[one.name]
                for one in table.spanning
                if inputs is not None
                and one.name in inputs.boundaries
                and set(one.codes) <= set(inputs.trees[one.name].codes)
            }
            if fitting:
                return fitting
        return {}

    def record(self, dataset: str, version: str | None = None) -> VersionRecord:
        """A version that is or was published; the latest published one if none is named."""
        known = self.records(dataset)
        if not known:
            message = f"data set {dataset[:60]!r} not found"
            raise ServiceError(message, "unknown-dataset", "dataset")
        if version is None:
            found = next((item for item in known if item.state == "published"), None)
            if found is None:
                message = "no version of this data set is published"
                raise ServiceError(message, "version-retired", "version")
            return found
        named = {item.version: item for item in known}
        if version not in named:
            message, hint = f"version {version[:60]!r} not found", nearest(version, list(named))
            raise ServiceError(message, "unknown-dataset", "version", hint)
        return named[version]

    def version(self, dataset: str, version: str | None = None) -> DataVersion:
        """A published version, opened. CONFIDENTIAL."""
        record = self.record(dataset, version)
        if record.state == "retired":
            hint = "omit version to use the current one"
            message = f"the version {record.version!r} is no longer used"
            raise ServiceError(message, "version-retired", "version", hint)
        name = (record.dataset, record.version)
        with self._lock:
            opened = self._opened.get(name)
            if opened is None or opened.fingerprint != record.fingerprint:
                self._opened[name] = opened = self._open(record)
        self._check_parameters(opened)
        return opened

    def _check_parameters(self, opened: DataVersion) -> None:
        """Its set of parameters is the one in use: another one makes other figures of the data."""
        named = opened.description.dataset.parameter_set
        if named is None or self._parameters_of is None:
            return
        try:
            same = self._parameters_of(named).package == opened.inputs.package
        except ServiceError as error:
            if error.code not in ("version-retired", "unknown-parameter-set"):
                raise
            same = False
        if not same:
            message = "the parameter set of this version is retired"
            hint = "the office must publish a version that names the set in use"
            raise ServiceError(message, "data-not-ready", "version", hint)

    def _open(self, found: VersionRecord) -> DataVersion:
        message = "the data of this version are not ready"
        try:
            opened = open_version(self.folder / found.folder, self._key, self._parameters_of)
        except (DiscreetError, OSError):
            raise ServiceError(message, "data-not-ready", "version") from None
        same = hmac.compare_digest(opened.fingerprint, found.fingerprint)
        if not same or (opened.dataset, opened.version) != (found.dataset, found.version):
            hint = "the office must publish changed data as a new version"
            raise ServiceError(message, "data-not-ready", "version", hint)
        return opened

    def publish(self, dataset: str, version: str, person: str) -> VersionRecord:
        """Open a version, find it fit, and let everybody ask it. An error says what is wrong."""
        folder = self.drafts().get((dataset, version))
        if folder is None:
            message = f"no folder holds version {version[:60]!r} of the data set {dataset[:60]!r}"
            raise ServiceError(
                message, "unknown-dataset", "version", f"both are named in {DESCRIPTION}"
            )
        opened = open_version(folder, self._key, self._parameters_of)
        entry, package = opened.description.dataset, opened.inputs.package
        facts = {  # none comes from records
            "folder": folder.relative_to(self.folder).as_posix(),
            "title": dict(entry.title),
            "description": dict(entry.description),
            "period": entry.period,
            "source": dict(entry.source),
            "parameters": package and {name: package[name] for name in ("statistic", "version")},
            "units": [
                {"name": unit.name, "label": dict(unit.label)} for unit in opened.units.values()
            ],
        }
        row = {"dataset": dataset, "version": version, "fingerprint": opened.fingerprint}
        row |= {"facts": json.dumps(facts, ensure_ascii=False, sort_keys=True)}
        act = {"state": "published", "published_at": self.clock(), "published_by": person}
        with self.database.writing() as connection:
            if row_of(connection, DATA_VERSIONS, dataset=dataset, version=version) is not None:
                message, hint = "the version is published already", "use a new version"
                raise ServiceError(message, "conflict", "version", hint)
            insert_row(connection, DATA_VERSIONS, **row, **act, retired_at=None)
            kind = AuditKind.dataset_published
            stated = {"version": version, "fingerprint": opened.fingerprint}
            self.trail.append(connection, kind, person, dataset, stated)
        with self._lock:
            self._opened[dataset, version] = opened
        return self.record(dataset, version)

    def retire(self, dataset: str, version: str, person: str) -> VersionRecord:
        """Let nobody ask a version any more."""
        self.record(dataset, version)
        with self.database.writing() as connection:
            key = {"dataset": dataset, "version": version, "state": "published"}
            values = {"state": "retired", "retired_at": self.clock()}
            if not change_rows(connection, DATA_VERSIONS, key, **values):
                raise ServiceError("this version is not published", "conflict", "version")
            facts = {"version": version}
            self.trail.append(connection, AuditKind.dataset_retired, person, dataset, facts)
        with self._lock:
            self._opened.pop((dataset, version), None)
        return self.record(dataset, version)
