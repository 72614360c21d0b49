"""Decisions: what is done with a parameter set when two persons agreed.

In: a proposal that was approved. Out: the set in use, or out of it, in the same transaction; and
the SHA-256 of the package that it was done with, which must be the one they saw.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from discreet_service.parameter_sets.registry import AgreedChange, ParameterSet, ParameterSets
from discreet_service.people import Approvals, Execution, Proposal, ProposalKind


def register_decisions(approvals: Approvals, sets: ParameterSets) -> None:
    """Let approved proposals about parameter sets be carried out."""
    for kind, change in {
        ProposalKind.parameter_activation: sets.activate,
        ProposalKind.parameter_retirement: sets.retire,
    }.items():
        approvals.register(kind, _execution(approvals, change))


def _execution(
    approvals: Approvals, change: Callable[[sa.Connection, AgreedChange], ParameterSet]
) -> Execution:
    def done(connection: sa.Connection, proposal: Proposal) -> str:
        name, _, version = proposal.subject.partition("@")
        agreed = AgreedChange(
            name=name,
            version=version,
            persons=(proposal.proposer, approvals.proposal(connection, proposal.id).decider),
            proposal=proposal.id,
        )
        return change(connection, agreed).file

    return done
