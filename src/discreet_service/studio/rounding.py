"""Rounding: a table of counts of one's own, how it is rounded, what that costs and still tells.

In: forms with cells (CONFIDENTIAL). Out: pages for whoever sent them, which nothing keeps; the
rounded table as a file; or a job for large tables, whose cells are sealed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from discreet.errors import DiscreetError, Problem
from discreet.publication.notation import number_text
from discreet_service.cells.requests import read_request
from discreet_service.cells.results import RESULT_TYPES, chosen_format, table_result
from discreet_service.cells.rounding import (
    MOST_TOGETHER,
    RoundingRequest,
    RoundingStudy,
    counted_table,
    rounded_cells,
    studied_rounding,
)
from discreet_service.permissions import Permission, Principal
from discreet_service.service import Service
from discreet_service.studio.call_texts import file_call_texts
from discreet_service.studio.pasted_tables import (
    FORMATS,
    listed_names,
    long_texts,
    pasted_rows,
    published_cells,
    refused_form,
    rows_and_columns,
    sent_texts,
    stated_number,
    stated_trees,
)
from discreet_service.studio.suppression_form import example_form
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.pages import FormPrincipal, back_to, page
from discreet_service.web.problem_pages import language_of
from discreet_service.web.rounding import hand_in_rounding, seed_for

router = APIRouter(prefix="/rounding", tags=["studio"], include_in_schema=False)

_Producer = Annotated[Principal, Depends(principal_with(Permission.tables_protect))]
#: What rounding never does.
_NEVER = ("hidden", "official", "zeros_changed")
#: Counts that can be worked out and are named on the page.
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True, repr=False)
class RoundingForm:
    """The fields as they were filled in. CONFIDENTIAL.

    Args:
        cells: The cells as text, the first line names the columns.
        by: Spanning variables, commas between.
        trees: A line per code: variable, code, code above it.
        count: Column of the counts.
        weight: Column of sums of weights.
        cell_key: Column of cell keys.
        key_grid: Size of their grid.
        method: How counts are rounded.
        base: To multiples of what.
        margins: Another base for totals.
        ties: Where a count halfway between goes.
        unbiased: "on" for controlled rounding at random.
        steps: By how many further multiples figures may miss.
        name: Name of the table.
        format: Format of its file.
        act: "run", "download" or "job".
    """

    cells: str = ""
    by: str = ""
    trees: str = ""
    count: str = "n"
    weight: str = ""
    cell_key: str = ""
    key_grid: str = "10^15"
    method: str = "controlled"
    base: str = "5"
    margins: str = ""
    ties: str = "up"
    unbiased: str = ""
    steps: str = "3"
    name: str = "table"
    format: str = "csv"
    act: str = "run"

    def read(self, most: int, language: str) -> tuple[pl.DataFrame, RoundingRequest]:
        """The cells, and what is asked of them. CONFIDENTIAL.

        Args:
            most: The largest number of cells.
            language: "en" or "de".
        """
        problems: list[Problem] = []
        if not self.cells.strip():
            hint = "choose a file in UTF-8, or paste them"
            problems.append(Problem("there are no cells", "cells", hint))
        problems += long_texts(self, ("cells", "trees"))
        numbers = {
            name: stated_number(getattr(self, name), name, problems, int)
            for name in ("base", "margins", "steps")
        }
        stated = {"method": self.method, "ties": self.ties, "unbiased": self.unbiased == "on"}
        asked = {
            "by": listed_names(self.by),
            "classifications": stated_trees(self.trees, problems),
            "count": self.count.strip(),
            "weight": self.weight.strip() or None,
            "cell_key": self.cell_key.strip() or None,
            "key_grid": self.key_grid.strip(),
            "rounding": stated | {k: each for k, each in numbers.items() if each is not None},
            "name": self.name.strip(),
            "format": self.format,
            "language": language,
        }
        if self.format not in FORMATS:
            problems.append(Problem("this format is not offered", "format"))
        if problems:
            raise refused_form(problems)
        return pasted_rows(self.cells, most), read_request(RoundingRequest, asked)

    def __repr__(self) -> str:
        return "<RoundingForm: confidential>"


async def form_of(request: Request) -> RoundingForm:
    """A dependency: the fields of a form that was sent, with the text of its file."""
    names = [each.name for each in fields(RoundingForm)]
    return RoundingForm(**await sent_texts(await request.form(), names, file="cells"))


_Form = Annotated[RoundingForm, Depends(form_of)]


@cache
def rounding_example() -> RoundingForm:
    """A form with numbers of the invented firms of the demonstration.

    >>> rounding_example().by
    'branch, state'
    """
    firms = example_form()
    cells = pl.read_csv(firms.cells.encode(), infer_schema=False).select("branch", "state", "n")
    return RoundingForm(cells=cells.write_csv(), by=firms.by, trees=firms.trees, name="firms")


@router.get("")
def show_rounding(
    request: Request, principal: _Producer, example: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """An empty form, or one with an example."""
    return _shown(request, rounding_example() if example == "firms" else RoundingForm())


@router.post("")
def run_rounding_form(
    request: Request, service: ServiceDep, principal: FormPrincipal, form: _Form
) -> Response:
    """Round cells and show what came of it; as a file or a job if asked for."""
    check_allowed(principal, Permission.tables_protect)
    try:
        frame, asked = form.read(service.settings.limits.cells_protect, language_of(request))
        large = frame.height > MOST_TOGETHER
        if form.act == "job" or (large and (asked.together or form.act != "download")):
            check_allowed(principal, Permission.jobs_own)
            return back_to(f"/jobs/{hand_in_rounding(service, principal, frame, asked).id}")
        table, seed = counted_table(frame, asked), seed_for(service, principal.name, asked)
        if form.act == "download":
            form_named = chosen_format(asked.format, "*/*", table=True)
            made = table_result(rounded_cells(table, asked, seed), form_named, asked.language)
            name = f"{asked.name}.{FORMATS[form_named]}"
            headers = {
                "Cache-Control": "no-store",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
            return Response(made.content, media_type=made.media_type, headers=headers)
        study = studied_rounding(table, asked, seed)
        return _shown(request, form, outcome=_outcome(service, asked, study))
    except DiscreetError as error:
        problems = error.problems or (Problem(error.what, error.where, error.hint),)
        return _shown(request, form, problems=problems)


def _shown(
    request: Request,
    form: RoundingForm,
    *,
    outcome: Mapping[str, Any] | None = None,
    problems: Sequence[Problem] = (),
) -> HTMLResponse:
    return page(
        request,
        "rounding",
        status=422 if problems else 200,
        secret=True,
        form=form,
        problems=problems,
        outcome=outcome,
        most=MOST_TOGETHER,
        formats=[name for name in RESULT_TYPES if name in FORMATS],
    )


# What came of it --------------------------------------------------------------------------------


def _outcome(service: Service, asked: RoundingRequest, study: RoundingStudy) -> dict[str, Any]:
    """What a page shows of an outcome. CONFIDENTIAL."""
    language, figure = asked.language, study.compared.figures[0]
    before = {
        tuple(row[:-4]): row[-4:-1]
        for row in study.compared.to_polars()
        .select(*asked.by, "true", "protected", "difference", "status")
        .iter_rows()
    }

    def shown(codes: tuple[str, ...], told: Mapping[str, Any]) -> dict[str, str]:
        true, _, difference = before.get(codes, (0, 0, 0))
        decimals = 0 if float(true).is_integer() else 1
        sign = "+" if difference > 0 else ""
        return {
            "value": number_text(told["value"], 0, language),
            "true": number_text(true, decimals, language),
            "difference": sign + number_text(difference, decimals, language) if difference else "",
        }

    cells = published_cells(study.table, asked.by)
    left_out = {"format", "language"} | (set() if asked.cell_key else {"key_grid"})
    stated = asked.model_dump(exclude_defaults=True, exclude=left_out)
    stated["rounding"] = asked.rounding.model_dump(exclude_defaults=True)
    stated["rounding"] |= {"method": asked.rounding.method, "base": asked.rounding.base}
    base, functions = service.settings.base_url, ("round_table", "dc_service_round")
    return {
        **rows_and_columns(asked.by, ((codes, shown(codes, told)) for codes, told in cells)),
        "study": study,
        "named": list(study.told[:_MOST_NAMED]),
        "measures": study.compared.told(figure, language, _NEVER),
        "largest": max((abs(each[2]) for each in before.values()), default=0),
        "draws": asked.draws,
        "averaged": asked.rounding.method == "random",
        "optimal": asked.rounding.method in ("controlled", "small-counts")
        and not asked.rounding.unbiased,
        "code": file_call_texts(base, "/api/v1/protect/rounding", functions, "cells.csv", stated),
    }
