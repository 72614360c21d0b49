"""Jobs done in this process, as a worker does them."""

from pathlib import Path
from typing import Any

from discreet_service.jobs.context import JobContext, JobOutput
from discreet_service.jobs.kinds import function_of, kind_of
from discreet_service.jobs.records import Job
from discreet_service.jobs.worker import problem_of
from discreet_service.service import Service


def context_of(service: Service, job: Job, folder: Path) -> JobContext:
    """What the function of a job gets."""
    return JobContext(
        service=service,
        job=job,
        folder=folder,
        report=lambda _progress, _step: None,
        cancelled=lambda: False,
    )


def do_next_job(service: Service) -> tuple[Job, JobOutput]:
    """Do the next job that waits; it must succeed."""
    job = service.jobs.claim("tests")
    assert job is not None
    folder = service.jobs.work_folder(job)
    output: JobOutput = function_of(kind_of(job.kind))(context_of(service, job, folder))
    assert service.jobs.finish(job, output.written(folder))
    return job, output


def do_jobs(service: Service) -> list[Any]:
    """Do all jobs that wait; their problems."""
    problems = []
    while (job := service.jobs.claim("tests")) is not None:
        folder = service.jobs.work_folder(job)
        try:
            output = function_of(kind_of(job.kind))(context_of(service, job, folder))
            service.jobs.finish(job, output.written(folder))
        except Exception as error:
            problems.append(problem_of(error, job.id))
            service.jobs.fail(job, problems[-1])
    return problems
