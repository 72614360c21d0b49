"""Drafts: a design as a parameter set that two persons may bring into use.

In: a `DesignWish` (SECRET), a name and a version. Out: a signed and encrypted package in the
registry, in the state "proposed", if this service has a key that signs designs; else the table as a
file, and the commands that pack and sign it elsewhere. All but the perturbation table for counts is
taken over from the version in use.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from discreet.protection.noise import PerturbationTable
from discreet.release import LARGEST, Parameters, pack_parameters, parameters_of
from discreet_service.audit import AuditKind
from discreet_service.parameter_sets import ParameterSet, SetState
from discreet_service.permissions import Permission, Principal
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.studio.design_wishes import DesignWish
from discreet_service.web import Visit, check_allowed

#: What statistics and versions may be called.
WORD = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,79}"


def can_sign(service: Service) -> bool:
    """Whether designs are signed here."""
    settings = service.settings
    return settings.studio_key_file is not None and settings.package_key_file is not None


def save_design(visit: Visit, wish: DesignWish, name: str, version: str) -> ParameterSet:
    """Save a design as a parameter set that is proposed."""
    _check_may_save(visit.principal, name, version)
    if not can_sign(visit.service):
        what, hint = "this service has no key that signs designs", "studio_key_file in its settings"
        raise ServiceError(what, code="data-not-ready", where="statistic", hint=hint)
    made = _with_the_rest(visit.service, name, _ordered_anew(wish, name, version))
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        package = pack_parameters(
            made,
            Path(folder) / "design.dcparams",
            statistic=name,
            version=version,
            sign_key=visit.service.settings.studio_key_file,
            key=visit.service.settings.package_key_file,
        ).read_bytes()
    with visit.service.database.writing() as connection:
        found = visit.service.parameter_sets.propose(connection, package, visit.principal.name)
        visit.service.trail.append(
            connection,
            AuditKind.draft_signed,
            visit.principal.name,
            found.subject,
            {"version": found.version, "signer": found.signer},
        )
    return found


def export_design(visit: Visit, wish: DesignWish, name: str, version: str) -> bytes:
    """A design as a file of the library, to be packed and signed elsewhere. SECRET."""
    _check_may_save(visit.principal, name, version)
    table = _ordered_anew(wish, name, version)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        content = table.write(Path(folder) / "ptable.json").read_bytes()
    with visit.service.database.writing() as connection:
        # No digest: whoever reads the trail could try designs until one has it.
        visit.service.trail.append(
            connection,
            AuditKind.design_exported,
            visit.principal.name,
            f"{name}@{version}",
            {"version": version},
        )
    return content


def offline_commands(name: str, version: str) -> Sequence[str]:
    """How a table is packed and signed where the key of the office is.

    >>> print(offline_commands("census", "3")[0][:45])
    discreet params pack parameters.toml --out ce
    """
    package = f"{name}-{version}.dcparams"
    return (
        f"discreet params pack parameters.toml --out {package} --statistic {name} "
        f"--version {version} --sign-key office.key --key-file package.key",
        f"discreet params verify {package} --verify-key office.pub --key-file package.key",
    )


def take_package(visit: Visit, package: bytes) -> ParameterSet:
    """Take in a package that was signed elsewhere."""
    check_allowed(visit.principal, Permission.parameters_propose)
    if len(package) > LARGEST:
        raise ServiceError("no package is so large", code="too-large", limit=LARGEST)
    with visit.service.database.writing() as connection:
        return visit.service.parameter_sets.propose(connection, package, visit.principal.name)


def draft_of(visit: Visit, name: str, version: str) -> tuple[ParameterSet, PerturbationTable]:
    """The perturbation table of a draft, for those who decide about it. SECRET."""
    check_allowed(visit.principal, Permission.parameters_design)
    found, opened = visit.service.parameter_sets.draft(name, version)
    with visit.service.database.writing() as connection:
        visit.service.trail.append(
            connection,
            AuditKind.draft_looked_at,
            visit.principal.name,
            found.subject,
            {"version": found.version},
        )
    return found, opened.perturbation_table


def next_version(service: Service, name: str) -> str:
    """The version that a new set could have."""
    numbers = [int(item.version) for item in service.parameter_sets.sets()
               if item.name == name and re.fullmatch("[0-9]{1,9}", item.version)]  # fmt: skip
    return str(max(numbers, default=0) + 1)


def _check_may_save(principal: Principal, name: str, version: str) -> None:
    check_allowed(principal, Permission.parameters_design)
    check_allowed(principal, Permission.parameters_propose)
    for where, word in (("statistic", name), ("version", version)):
        if not re.fullmatch(WORD, word):
            message = "up to 80 letters, digits, dots, - and _ are needed here"
            raise ServiceError(message, code="invalid-input", where=where)


def _ordered_anew(wish: DesignWish, name: str, version: str) -> PerturbationTable:
    """The table of a wish, with intervals in an order that nobody has seen. SECRET."""
    return dataclasses.replace(wish.table(secrets.token_bytes(32)), name=f"{name} {version}")


def _with_the_rest(service: Service, name: str, table: PerturbationTable) -> Parameters:
    """A table with all else as in the version in use. SECRET."""
    taken = _in_use(service, name)
    if taken is None:
        return parameters_of({}, table)
    if taken.rules.zeros == "table":
        message = "the version in use changes zeros, which designs of the studio do not"
        hint = "make this set by command: discreet params pack"
        raise ServiceError(message, code="conflict", where="statistic", hint=hint)
    return dataclasses.replace(taken, perturbation_table=table, statistic="", version="", signer="")


def _in_use(service: Service, name: str) -> Parameters | None:
    """The parameters of a statistic that came into use last, opened. SECRET."""
    active = [item for item in service.parameter_sets.sets()
              if item.name == name and item.state is SetState.active]  # fmt: skip
    if not active:
        return None
    last = max(active, key=lambda each: each.activated or 0)
    return service.parameter_sets.parameters(name, last.version)[1]
