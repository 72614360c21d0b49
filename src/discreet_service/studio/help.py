"""Help: steps, signs and the glossary, for everybody."""

from __future__ import annotations

from fastapi import APIRouter, Response

from discreet.publication import legend
from discreet_service.studio.home import first_table
from discreet_service.web import OpenVisit, page, words

router = APIRouter(tags=["studio"], include_in_schema=False)


@router.get("/help")
def show_help(visit: OpenVisit) -> Response:
    """Help: tasks and glossary."""
    language = visit.language
    titles, texts = words("glossary_titles", language), words("glossary", language)
    return page(
        visit,
        "help",
        terms=sorted((titles[name], name, text) for name, text in texts.items()),
        signs=legend(None, language),
        example=first_table(visit.service, visit.principal),
    )
