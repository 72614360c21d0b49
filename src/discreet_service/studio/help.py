"""Help: steps, signs and the glossary, for everybody.

In: nothing. Out: a page; its words stand in a file that pages use in place, too.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from discreet.publication import legend
from discreet_service.studio.home import first_table
from discreet_service.web import OpenToAll, ServiceDep, language_of, page, principal_of, words

router = APIRouter(tags=["studio"], include_in_schema=False)


@router.get("/help", dependencies=[OpenToAll])
def show_help(request: Request, service: ServiceDep) -> Response:
    """What can be done here, and what the words mean."""
    language = language_of(request)
    titles, texts = words("glossary_titles", language), words("glossary", language)
    return page(
        request,
        "help",
        terms=sorted((titles[name], name, text) for name, text in texts.items()),
        signs=legend(None, language),
        example=first_table(service, principal_of(request)),
    )
