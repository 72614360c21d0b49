"""Submissions as jobs: programs run in the process of a worker, never in that of the pages.

In: a sealed upload (CONFIDENTIAL). Out: its number in the review queue, and nothing else.
"""

from __future__ import annotations

import json

from discreet.errors import OutputCheckError
from discreet_fire.queue import Submission, open_queue, submit
from discreet_service.jobs import JobContext, JobOutput
from discreet_service.problems import ServiceError
from discreet_service.reviews.uploads import unpacked
from discreet_service.settings import ReviewSettings


def run_submission(context: JobContext) -> JobOutput:
    """Run a program and put it into the queue: the function of jobs of the kind "submission"."""
    settings: ReviewSettings | None = context.service.settings.reviews
    if settings is None:
        raise ServiceError("there is no review queue here", code="not-found")
    asked, folder = context.job.asked(), context.folder
    content = context.service.job_inputs.get(asked["input"])
    bounds = {"most_bytes": settings.upload_bytes, "most_files": settings.upload_files}
    program = unpacked(content, asked["file"], asked["main"], asked.get("log", ""), **bounds)
    context.report(5, "running")
    handed = Submission(
        program=program.write(folder / "program"),
        main=None if program.alone or program.session is not None else program.main,
        researcher=context.job.owner,
        project=asked["project"],
        data=(settings.folder / settings.data[asked["data"]],) if asked["data"] else (),
        log=program.write_log(folder / "log"),
        unit=settings.units.get(asked["data"]),
        seconds=float(settings.seconds),
        replaces=asked.get("replaces"),
    )
    with open_queue(settings.queue) as queue:
        try:
            number = submit(queue, handed)
        except OutputCheckError as error:
            number = _entered_before(error, context)
    text = json.dumps({"submission": number})
    return JobOutput(
        file_name="submission.json", media_type="application/json", content=text.encode()
    )


def _entered_before(error: OutputCheckError, context: JobContext) -> int:
    """The number, if an earlier attempt of this job had put it into the queue."""
    number = error.where.removeprefix("submission ")
    if error.code == "duplicate" and context.job.attempt > 1 and number.isdecimal():
        return int(number)
    raise error
