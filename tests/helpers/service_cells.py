"""A service for cells in tests: a parameter set in use, and callers with keys."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fastapi import FastAPI

import discreet as dc
from discreet.microdata import Secret
from discreet.release.packages import Parameters, pack_parameters, parameters_of, write_key_pair
from discreet_service.application import create_app
from discreet_service.people import ProposalKind
from discreet_service.permissions import Grant, Principal
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers import package_parameters
from tests.helpers.package_parameters import MAGNITUDES, PTABLE
from tests.helpers.service_people import LOCAL, SetClock

SECTIONS: dict[str, Any] = {
    "perturbation": {"found_codes": "list"},
    "magnitudes": package_parameters.SECTIONS["magnitudes"],
    "parts": {"min_average_size": 60},
    "figures": {"bracket_above": 0.02},
    "keys": {"grid": "10^15"},
}  # fmt: skip


def parameters(**sections: Any) -> Parameters:
    """What the package holds; sections replace those there are, None leaves them out."""
    said = {name: each for name, each in {**SECTIONS, **sections}.items() if each is not None}
    magnitudes = {"rent": MAGNITUDES} if "magnitudes" in said else {}
    return parameters_of(said, PTABLE, magnitudes)


@dataclass
class CellService:
    """A service on a folder, and what its parameter set was made of."""

    service: Service
    folder: Path
    clock: SetClock
    limits: LimitSettings

    @classmethod
    def of(
        cls, folder: Path, limits: LimitSettings | None = None, database: str = ""
    ) -> CellService:
        Secret.generate().write(folder / "package.key")
        write_key_pair(folder / "office")
        (folder / "service.secret").write_text("s" * 64)
        (folder / "service.secret").chmod(0o600)
        settings = cls.settings(folder, limits, database)
        clock = SetClock()
        return cls(Service(settings, clock), folder, clock, settings.limits)

    @classmethod
    def settings(
        cls, folder: Path, limits: LimitSettings | None = None, database: str = ""
    ) -> ServiceSettings:
        """What such a folder is served with."""
        return ServiceSettings(
            folder=folder,
            database=database,
            parameters=folder / "parameters",
            package_key_file=folder / "package.key",
            trusted_signers=(folder / "office.pub",),
            secret_file=folder / "service.secret",
            limits=limits or LimitSettings(requests_per_second=10_000, burst=100_000),
        )

    def package(
        self, version: str = "1", name: str = "census", signer: str = "office", **sections: Any
    ) -> bytes:
        """The bytes of a package."""
        path = self.folder / f"{name}-{version}-{signer}.dcparams"
        pack_parameters(
            parameters(**sections),
            path,
            statistic=name,
            version=version,
            sign_key=self.folder / f"{signer}.key",
            key=self.folder / "package.key",
            overwrite=True,
        )
        return path.read_bytes()

    def in_use(self, version: str = "1", name: str = "census", **sections: Any) -> None:
        """Bring a set into use."""
        sets = self.service.parameter_sets
        with self.service.database.writing() as connection:
            sets.propose(connection, self.package(version, name, **sections), "anna")
        self.agree(ProposalKind.parameter_activation, version, name)

    def agree(self, kind: ProposalKind, version: str = "1", name: str = "census") -> None:
        """Let two persons agree on what becomes of a set."""
        approvals, found = self.service.approvals, self.service.parameter_sets.show(name, version)
        grants = (Grant("custodian"),)
        one, two = (Principal(name=who, kind="key", grants=grants) for who in ("anna", "otto"))
        with self.service.database.writing() as connection:
            why, file = "the census is due", found.file
            proposal = approvals.propose(connection, kind, found.subject, file, one, why)
            approvals.approve(connection, proposal.id, two, digest=file)

    def key(self, role: str = "service", name: str = "tool") -> str:
        """A key for a caller."""
        person = role in ("custodian", "producer")
        self.service.users.add(LOCAL, name, "person" if person else "system")
        self.service.users.grant(LOCAL, name, Grant(role))
        made = self.service.api_keys.create(
            LOCAL, name=f"{name}-key", grants=[Grant(role)], owner=name, days=1
        )
        return str(made.token)

    def app(self, *resources: str) -> FastAPI:
        return create_app(self.service, resources or ("status", "operations", "parameter_sets"))


def some_cells(size: int = 500, seed: int = 3) -> pl.DataFrame:
    """Counts and keys as records make them."""
    draw = np.random.default_rng(seed)
    count = draw.integers(0, 12, size)
    key = np.where(count == 0, 0, draw.integers(0, 10**15, size))
    return pl.DataFrame({"n": count, "key": key})


def homes(size: int = 400) -> pl.DataFrame:
    """Records with keys."""
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "id": range(size),
            "region": draw.choice(["a", "b", "c", "d"], size, p=[0.6, 0.25, 0.13, 0.02]),
            "tenure": draw.choice(["own", "rented"], size),
            "vacant": draw.random(size) < 0.2,
            "rent": pl.Series(draw.integers(200, 1500, size).astype(float)),
        }
    )
    return dc.with_record_keys(frame, id="id", secret="an example, no secret")


def arrow_bytes(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc_stream(file)
    return file.getvalue()


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


Written = tuple[str, Callable[[pl.DataFrame], bytes]]
#: How frames are handed in: media type and writer.
WRITERS: Mapping[str, Written] = {
    "arrow": ("application/vnd.apache.arrow.stream", arrow_bytes),
    "parquet": ("application/vnd.apache.parquet", parquet_bytes),
    "csv": ("text/csv", lambda frame: frame.write_csv().encode()),
    "json": (
        "application/json",
        lambda frame: ('{"cells": ' + frame.write_json() + "}").encode(),
    ),
}
