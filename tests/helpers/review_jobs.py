"""Jobs of submissions, done in this process as a worker does them."""

from __future__ import annotations

from typing import Any

from discreet_service.jobs.child import problem_of
from discreet_service.jobs.context import JobContext
from discreet_service.reviews.desk import run_submission
from discreet_service.service import Service


def do_submissions(service: Service) -> list[Any]:
    """Do all jobs that wait, which are submissions; their problems."""
    jobs, problems = service.jobs, []
    while (job := jobs.claim("test")) is not None:
        folder = jobs.work_folder(job)
        context = JobContext(
            service=service,
            job=job,
            folder=folder,
            report=lambda *_: None,
            cancelled=lambda: False,
        )
        try:
            jobs.finish(job, run_submission(context).written(folder))
        except Exception as error:
            problems.append(problem_of(error, job.id))
            jobs.fail(job, problems[-1])
    return problems
