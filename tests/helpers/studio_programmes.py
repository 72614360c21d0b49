"""Programmes over the census of a demonstration, handed in and carried out for those who look."""

import time

from discreet_service.jobs.worker import problem_of
from discreet_service.permissions import Grant, Principal
from discreet_service.releases.drafts import run_programme
from discreet_service.service import Service
from discreet_service.web.programmes import (
    PublicationRequest,
    begin_run,
    publish_programme,
    take_programme,
)
from tests.helpers.jobs_done import context_of
from tests.helpers.service_callers import visit_as

PAUL = Principal(name="paul", kind="session", grants=(Grant("producer"),))
#: Who agrees to what Paul proposes.
SECOND = Principal(name="petra", kind="session", grants=(Grant("producer"),))
PEOPLE = """dataset = "census"
title = { en = "People and their work", de = "Menschen und ihre Arbeit" }
languages = ["en", "de"]
date = "2026-12-01"

[defaults]
formats = ["csv", "html"]

[tables.population]
by = ["region", "sex"]
title = { en = "Population by region and sex", de = "Bevölkerung nach Region und Geschlecht" }

[tables.workers]
by = ["state", "sex"]
where = "marital_status == 'single'"
universe = { en = "Single persons", de = "Ledige" }
title = { en = "Single persons", de = "Ledige" }
"""
#: Fewer are counted, and one table is new.
LATER = (
    PEOPLE.replace("'single'", "'married'")
    .replace("Single", "Married")
    .replace("Ledige", "Verheiratete")
    + """
[tables.homes]
from = "dwellings"
by = ["region"]
title = { en = "Dwellings and their rents", de = "Wohnungen und ihre Mieten" }
[tables.homes.figures]
homes = { kind = "count", title = { en = "Dwellings", de = "Wohnungen" } }
rent = { kind = "mean", of = "rent", unit = "EUR", title = { en = "Mean rent", de = "Mittlere Miete" } }
"""  # noqa: E501
)
#: Mistakes of several kinds, in lines 10, 14 and 15.
WRONG = PEOPLE.replace('"region", "sex"', '"regoin", "sex"').replace(
    "where = \"marital_status == 'single'\"",
    'where = "not (occupation is nul) and age < 67"\nformats = ["csv", "docx"]',
)


def hand_in(service: Service, text: str, principal: Principal = PAUL) -> str:
    """Hand a programme in, and give its number."""
    return take_programme(visit_as(service, principal), text.encode()).id


def run(service: Service, programme: str, principal: Principal = PAUL) -> str:
    """Have a draft made by a worker that is there, and give its number."""
    job = begin_run(visit_as(service, principal), programme).id
    ends = time.monotonic() + 300
    while not service.jobs.job(job, None).state.final and time.monotonic() < ends:
        time.sleep(0.1)
    assert service.jobs.job(job, None).state.value == "done"
    return job


def work(service: Service) -> str:
    """Do the next job as a worker would, and give its number."""
    job = service.jobs.claim("tester", ("programme",))
    assert job is not None
    folder = service.jobs.work_folder(job)
    try:
        output = run_programme(context_of(service, job, folder))
        service.jobs.finish(job, output.written(folder))
    except Exception as error:
        service.jobs.fail(job, problem_of(error, job.id))
    return job.id


def publish(
    service: Service, programme: str, draft: str, release: str, principal: Principal = PAUL
) -> None:
    """Publish a draft: it is proposed, and a second person agrees."""
    asked = PublicationRequest(draft=draft, release=release)
    word = publish_programme(visit_as(service, principal), programme, asked)["confirm"]
    confirmed = asked.model_copy(update={"confirm": word, "reason": "it is due"})
    told = publish_programme(visit_as(service, principal), programme, confirmed)
    agree(service, told["proposal"], told["digest"])


def agree(service: Service, proposal: str, digest: str) -> None:
    """Agree as the second person: the release is published."""
    with service.database.writing() as connection:
        service.approvals.approve(connection, proposal, SECOND, digest=digest)
    service.publications.finish()
