"""Parameter use: which parameter set a published data version uses, by name or in its own files."""

from __future__ import annotations

from discreet_service.datasets import VersionRecord
from discreet_service.parameter_sets import ParameterSet, SetState
from discreet_service.problems import ServiceError
from discreet_service.web import Visit, words


def _states(visit: Visit, record: VersionRecord, one: ParameterSet) -> bool:
    """Whether the programme of a data version states the parameters of a set in use itself."""
    if one.state is not SetState.active or record.facts.get("parameters"):
        return False
    service = visit.service
    try:
        version = service.datasets.version(record.dataset, record.version)
        opened = service.parameter_sets.parameters(one.name, one.version)[1]
    except ServiceError:  # it cannot be opened, and answers nothing
        return False
    return version.parameters.perturbation_table == opened.perturbation_table


def _names(record: VersionRecord, one: ParameterSet) -> bool:
    named = record.facts.get("parameters") or {}
    return (named.get("statistic"), named.get("version")) == (one.name, one.version)


def used_parameters(visit: Visit, record: VersionRecord) -> str:
    """Which parameters a published data version uses, in words."""
    spoken = words("parameter_use", visit.language)
    for one in visit.service.parameter_sets.sets():
        if _names(record, one):
            return f"{one.name} {one.version}"
        if _states(visit, record, one):
            return spoken["same"].format(f"{one.name} {one.version}")
    return spoken["own"]


def users_of(visit: Visit, one: ParameterSet) -> tuple[list[str], list[str]]:
    """The published data versions that name a set, and those that state its parameters.

    Such as "census 2022-1".
    """
    records = [record for record in visit.service.datasets.records() if record.state == "published"]
    named = [f"{record.dataset} {record.version}" for record in records if _names(record, one)]
    stated = [f"{record.dataset} {record.version}"
              for record in records if _states(visit, record, one)]  # fmt: skip
    return named, stated
