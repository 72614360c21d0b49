"""Drafts: releases that nobody has published yet, with what attacks find in them."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.confidential import without_values
from discreet.errors import DiscreetError
from discreet.files import make_folder, write_text
from discreet.protection.noise import unused_noise
from discreet.release import attack, carry_out
from discreet_service.datasets import DataVersion
from discreet_service.jobs import JobContext, JobOutput
from discreet_service.problems import ServiceError
from discreet_service.releases.programmes import ProgrammeShelf, opened_inputs
from discreet_service.releases.release import ServedRelease, UnservedFolderError, open_release

#: The folder of the files of a draft, inside that of the draft.
RELEASE, _SUMMARY = "release", "draft.json"
#: Cells of a draft beyond which attacks would take too long.
_MOST_ATTACKED = 20_000_000
#: Findings that are seen in the published figures alone: they tell nothing of the noise.
_TOLD_ATTACKS = ("twins", "contradictions", "shared", "official", "whole", "uncounted")


def shelf_of(service: Any) -> ProgrammeShelf:
    """The programmes of a service."""
    return ProgrammeShelf(service.settings.folder / "programmes", service.clock)


@without_values
def run_programme(context: JobContext) -> JobOutput:
    """Carry out a programme as a draft: the function of jobs of the kind "programme".

    A run that was killed is taken up again, and tables that are there are not made anew.
    """
    service, asked = context.service, context.job.asked()
    shelf = shelf_of(service)
    record = shelf.get(str(asked["programme"]))
    version = service.datasets.version(record.dataset, record.version or None)
    inputs = opened_inputs(shelf.file(record.id), version)
    judged = sorted(
        {each.plan.asked.digest for _, each in service.answers.programme(inputs, version)}
    )
    if not service.policies.released(version.dataset, version.version, judged):
        message, hint = "the policies do not allow these tables", "run the programme again"
        raise ServiceError(message, "refused-by-policy", hint=hint)
    folder = shelf.draft(record.id, context.job.id)
    make_folder(folder, 0o700)

    def progress(done: int, steps: int, _: str) -> None:
        if context.cancelled():
            raise ServiceError("the job was stopped", "job-failed")
        context.report(90 * done // max(1, steps), "creating tables")

    summary = carry_out(inputs, folder / RELEASE, progress=progress)
    # What is the same only for the same noise; it says nothing of it.
    key = service.key_for("origins of releases")
    noise = version.parameters
    parts = [noise.perturbation_table.digest(key)]
    parts += [f"{name} {each.entry.model_dump_json()}" for name, each in noise.magnitudes.items()]
    told = {
        "programme": record.id,
        "draft": context.job.id,
        "dataset": version.dataset,
        "version": version.version,
        "parameters": hmac.digest(key, "\0".join(parts).encode(), "sha256").hex()[:32],
        "judged": judged,
        "seal": summary.seal,
        "tables": [
            {"name": table.name, "title": table.title, "cells": table.cells}
            for table in summary.tables
        ],
        "cells": summary.cells,
        "warnings": [
            warning.replace(str(inputs.programme.path.parent), "the data set")
            for warning in summary.warnings
            # Noise of the data set that these tables have no use for is nobody's mistake.
            if warning not in unused_noise(inputs.programme)
        ],
        "attacks": None,
    }
    if summary.cells <= _MOST_ATTACKED:
        context.report(90, "attacking the preview")
        told["attacks"] = found_by_attacks(folder / RELEASE, version)
    context.report(100, "saving the preview")
    text = json.dumps(told, ensure_ascii=False, indent=1)
    write_text(folder / _SUMMARY, text, private=True)
    return JobOutput(file_name=_SUMMARY, media_type="application/json", content=text.encode())


def found_by_attacks(folder: Path, version: DataVersion) -> dict[str, Any] | None:
    """Results of attacks on a draft, without information on the noise.

    The attacker is taken to know the perturbation table. None where nothing carries noise.
    """
    table = version.parameters.perturbation_table
    try:
        report = attack(folder, knows="table", ptable=table)
    except DiscreetError as error:
        if error.code != "attack":
            raise
        return None
    if not report.universes:  # sums with noise of units alone
        return None
    rates = report.rates()
    cells = sum(each.cells for one in report.universes for each in one.layers)
    average, determined = rates["average"], rates["determined"]
    # As on the library's page for everybody: in steps that hide what the noise is.
    return {
        "cells": cells,
        "average": None if average is None else math.ceil(10 * min(1.0, float(average))) / 10,
        "determined": None
        if determined is None or not cells
        else max(0.001, math.ceil(1000 * int(determined) / cells) / 1000),
        **{name: rates[name] for name in _TOLD_ATTACKS},
    }


@dataclass(frozen=True, kw_only=True)
class ReleaseDraft:
    """A draft that is done."""

    release: ServedRelease  # Its files and tables, found whole and signed
    summary: Mapping[str, Any]  # What the run said of it


def read_draft(folder: Path, keys: tuple[bytes, ...], name: str) -> ReleaseDraft:
    """A draft that is done, whole and signed."""
    try:
        summary = json.loads((folder / _SUMMARY).read_text("utf-8"))
    except (OSError, ValueError):
        message = "preview not found or not finished"
        raise ServiceError(message, "result-not-ready", "draft") from None
    try:
        release = open_release(folder / RELEASE, keys, name)
    except UnservedFolderError as error:
        raise ServiceError(error.what, "conflict", "draft", error.hint) from None
    return ReleaseDraft(release=release, summary=summary)
