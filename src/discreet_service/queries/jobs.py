"""Large answers as jobs: the same table, made in the background.

In: a query that was admitted when it was handed in. Out: the file of its protected table.
"""

from __future__ import annotations

from discreet_service.jobs import JobContext, JobOutput
from discreet_service.queries.answers import Answers, PreparedQuery
from discreet_service.queries.formats import ANSWER_FORMATS, AnswerFormat, write_answer


def run_query(context: JobContext) -> JobOutput:
    """Make the table of a query, and write it in its format."""
    request = context.job.asked()
    answers: Answers = context.service.answers
    prepared = answers.again_of(request)
    form = ANSWER_FORMATS[request["format"]]
    context.report(5, "counting")
    table = answers.answer(prepared).table
    context.report(80, "writing")
    place = write_answer(table, form, request["language"], prepared.plan.geography, context.folder)
    return JobOutput(file_name=file_name_of(prepared, form), media_type=form.media, path=place)


def file_name_of(prepared: PreparedQuery, form: AnswerFormat) -> str:
    """A name for the file of an answer, of letters that every system takes."""
    query, digest = prepared.query, prepared.plan.asked.digest[:12]
    return f"{query.dataset}-{query.unit}-{digest}{form.suffix}"
