"""Permissions: named actions, roles that are sets of them, and grants for one data set or all. What
is not granted is not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

#: Stands for all data sets.
ALL = "*"


class Permission(StrEnum):
    """Everything that can be allowed."""

    catalogue_read = "catalogue:read"
    releases_read = "releases:read"
    query_check = "query:check"
    query_run = "query:run"
    cells_protect = "cells:protect"
    jobs_own = "jobs:own"
    tables_protect = "tables:protect"
    records_protect = "records:protect"
    programmes_run = "programmes:run"
    releases_publish = "releases:publish"
    outputs_submit = "outputs:submit"
    outputs_review = "outputs:review"
    parameters_propose = "parameters:propose"
    parameters_activate = "parameters:activate"
    parameters_design = "parameters:design"
    values_see = "values:see"
    policies_propose = "policies:propose"
    policies_approve = "policies:approve"
    refusals_explain = "refusals:explain"
    refusals_override = "refusals:override"
    datasets_publish = "datasets:publish"
    quality_read = "quality:read"
    log_read = "log:read"
    audit_read = "audit:read"
    audit_verify = "audit:verify"
    people_manage = "people:manage"
    limits_manage = "limits:manage"
    status_read = "status:read"


@dataclass(frozen=True, slots=True)
class Role:
    """A set of permissions."""

    en: str  # Its name in English
    de: str  # Its name in German
    permissions: frozenset[Permission]  # What it allows


_P = Permission
_READS = frozenset({_P.catalogue_read, _P.releases_read})
_ASKS = _READS | {_P.query_check, _P.query_run, _P.jobs_own}

#: The roles there are. Nobody who can act reads the audit trail of it alone; who manages people
#: sees neither parameters nor data.
ROLES: Mapping[str, Role] = {
    "reader": Role("reader", "Leser", _READS),
    "requester": Role("requester", "Auswerter", _ASKS),
    "service": Role("trusted system", "Fachsystem", _READS | {_P.cells_protect, _P.jobs_own}),
    "producer": Role("producer", "Produzent", _ASKS | {
        *(_P.tables_protect, _P.records_protect, _P.programmes_run, _P.releases_publish),
        *(_P.refusals_explain, _P.refusals_override, _P.quality_read, _P.datasets_publish),
    }),
    "researcher": Role("researcher", "Forscher", frozenset({_P.releases_read, _P.outputs_submit})),
    "reviewer": Role("reviewer", "Prüfer", frozenset({_P.releases_read, _P.outputs_review})),
    "custodian": Role("custodian", "Verwahrer", _READS | {
        *(_P.parameters_propose, _P.parameters_activate, _P.parameters_design),
        *(_P.policies_propose, _P.policies_approve, _P.refusals_explain, _P.quality_read),
    }),
    # Who tries designs on true values keeps neither the policies nor the last word on parameters.
    "methodologist": Role("methodologist", "Methodiker", _READS | {
        _P.parameters_design, _P.parameters_propose, _P.values_see, _P.quality_read,
    }),
    "auditor": Role("auditor", "Revisor", _READS | {
        _P.log_read, _P.audit_read, _P.audit_verify, _P.refusals_explain, _P.status_read,
    }),
    "admin": Role("administrator", "Administrator", _READS | {
        _P.people_manage, _P.limits_manage, _P.status_read,
    }),
}  # fmt: skip


#: What everybody may with a data set that is open to the public; no key has this role.
VISITOR = "visitor"
_VISITS = frozenset({_P.catalogue_read, _P.query_check, _P.query_run})


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A role for one data set, or for all.

    >>> Grant.of("reader"), str(Grant.of("requester@census"))
    (Grant(role='reader', dataset='*'), 'requester@census')
    """

    role: str
    dataset: str = ALL  # The data set; `ALL` for all

    @classmethod
    def of(cls, text: str) -> Grant:
        """The grant that is spelled role or role@dataset."""
        role, _, dataset = text.partition("@")
        return cls(role, dataset or ALL)

    def __str__(self) -> str:
        return f"{self.role}@{self.dataset}"

    @property
    def permissions(self) -> frozenset[Permission]:
        """Its permissions; none for an unknown role."""
        if self.role == VISITOR:
            return _VISITS
        return ROLES[self.role].permissions if self.role in ROLES else frozenset()

    @property
    def facts(self) -> dict[str, str]:
        """As plain values."""
        return {"role": self.role, "dataset": self.dataset}


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """Somebody who asks.

    >>> anna = Principal(name="anna", kind="session", grants=(Grant("reader", "census"),))
    >>> anna.may(Permission.catalogue_read, "census"), anna.may(Permission.catalogue_read, "labour")
    (True, False)
    """

    name: str  # How log and audit trail name them: the person, also where a key asks for them
    kind: str  # "key", "session" or "local" for the command line
    grants: tuple[Grant, ...]  # Their roles
    key: str = ""  # The visible part of the key that asks for them; empty without
    # When that key ends, in milliseconds; None if there is none
    until: int | None = field(default=None, compare=False)
    origin: str = ""  # What stands for the address of somebody whom nobody knows

    @property
    def caller(self) -> str:
        """Under which name it is counted how they ask: of the public, each address by itself."""
        return f"{self.name} ~{self.origin}" if self.origin else self.name

    def may(self, permission: Permission, dataset: str = "") -> bool:
        """Whether they may do something."""
        return any(
            permission in grant.permissions and (not dataset or grant.dataset in (ALL, dataset))
            for grant in self.grants
        )
