"""Suppression: a table of one's own, rules, and which cells are hidden, why and at what cost.

In: forms with cells (CONFIDENTIAL) and rules (SECRET). Out: pages for whoever sent them, which
nothing keeps; the protected table as a file; or a job for large tables, whose cells are sealed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from discreet.errors import DiscreetError, Problem
from discreet.publication.notation import number_text
from discreet.tables import CellStatus, ProtectedTable
from discreet_service.cells.results import RESULT_TYPES, chosen_format, table_result
from discreet_service.cells.suppression import (
    SuppressionRequest,
    judged_cells,
    suppressed_cells,
)
from discreet_service.cells.suppression_study import HiddenCell, SuppressionStudy, studied_cells
from discreet_service.permissions import Permission, Principal
from discreet_service.studio.pasted_tables import FORMATS, published_cells, rows_and_columns
from discreet_service.studio.suppression_form import SuppressionForm, example_form, form_of
from discreet_service.web.access import ServiceDep, check_allowed, principal_with
from discreet_service.web.pages import FormPrincipal, back_to, page
from discreet_service.web.problem_pages import language_of
from discreet_service.web.suppression import hand_in_cells

router = APIRouter(prefix="/suppression", tags=["studio"], include_in_schema=False)

_Producer = Annotated[Principal, Depends(principal_with(Permission.tables_protect))]
_Form = Annotated[SuppressionForm, Depends(form_of)]
#: Cells that are looked at while somebody waits, and seconds that a search takes meanwhile.
MOST_AT_ONCE, _SECONDS = 500, 8.0


@router.get("")
def show_suppression(
    request: Request, principal: _Producer, example: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """An empty form, or one with an example."""
    return _shown(request, example_form() if example == "firms" else SuppressionForm())


@router.post("")
def run_suppression_form(
    request: Request, service: ServiceDep, principal: FormPrincipal, form: _Form
) -> Response:
    """Hide cells and show what came of it; as a file or a job if asked for."""
    check_allowed(principal, Permission.tables_protect)
    try:
        frame, asked = form.read(service.settings.limits.cells_protect, language_of(request))
        if form.act == "job" or _cells(frame, asked) > MOST_AT_ONCE:
            check_allowed(principal, Permission.jobs_own)
            return back_to(
                f"/jobs/{hand_in_cells(service, principal, 'suppress', frame, asked).id}"
            )
        asked = _hasty(asked)
        if form.act == "download":
            return _file(frame, asked)
        return _shown(request, form, TriedSuppression.of(frame, asked))
    except DiscreetError as error:
        problems = error.problems or (Problem(error.what, error.where, error.hint),)
        return _shown(request, form, problems=problems)


def _cells(frame: pl.DataFrame, asked: SuppressionRequest) -> int:
    """How many cells are handed in; of records, how many interior cells they fall into."""
    if not asked.records or not set(asked.by) <= set(frame.columns):
        return frame.height
    return frame.select(asked.by).n_unique()


def _hasty(asked: SuppressionRequest) -> SuppressionRequest:
    """Nobody waits long: what is found until then is proven, too."""
    search = asked.suppression.model_copy(update={"time_limit": _SECONDS})
    return asked.model_copy(update={"suppression": search})


def _file(frame: pl.DataFrame, asked: SuppressionRequest) -> Response:
    table, found = judged_cells(frame, asked)
    form = chosen_format(asked.format, "*/*", table=True)
    made = table_result(suppressed_cells(table, found, asked), form, asked.language)
    name = f"{asked.name}.{FORMATS[form]}"
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return Response(made.content, media_type=made.media_type, headers=headers)


# What came of it --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TriedSuppression:
    """What became of a table, with decisions on single cells and without. CONFIDENTIAL.

    Args:
        asked: What was asked for.
        study: What became of it.
        before: The same without decisions on single cells; None if there are none.
    """

    asked: SuppressionRequest
    study: SuppressionStudy
    before: SuppressionStudy | None

    @classmethod
    def of(cls, frame: pl.DataFrame, asked: SuppressionRequest) -> TriedSuppression:
        """Hide cells, with and without what was decided.

        Args:
            frame: The cells.
            asked: What is asked of them.
        """
        before = None
        if asked.marks:
            before = studied_cells(frame, asked.model_copy(update={"marks": []}))
        return cls(asked=asked, study=studied_cells(frame, asked), before=before)

    def decided(self) -> Mapping[tuple[str, ...], dict[str, Any]]:
        """What was decided, by the codes of the cell."""
        return {
            tuple(each.cells[name] for name in self.asked.by): {
                "waived": each.status == "safe",
                "cost": each.cost,
            }
            for each in self.asked.marks
        }

    def __repr__(self) -> str:
        return "<TriedSuppression: confidential>"


def _shown(
    request: Request,
    form: SuppressionForm,
    tried: TriedSuppression | None = None,
    problems: Sequence[Problem] = (),
) -> HTMLResponse:
    return page(
        request,
        "suppression",
        status=422 if problems else 200,
        secret=True,
        form=form,
        problems=problems,
        tried=tried,
        most=MOST_AT_ONCE,
        formats=[name for name in RESULT_TYPES if name in FORMATS],
        **({} if tried is None else _outcome(tried, language_of(request))),
    )


def _outcome(tried: TriedSuppression, language: str) -> dict[str, Any]:
    """What a page shows of an outcome: rows of the table, and of hidden cells."""
    table, decimals = tried.study.table, tried.asked.decimals
    decided = dict(tried.decided())
    listed = []
    for each in tried.study.hidden:
        mark = decided.pop(each.codes, {"waived": False, "cost": None})
        listed.append(_row(each, mark, decimals, language))
    # Cells that a decision has opened can be closed again.
    listed += [_row(None, mark, decimals, language, codes) for codes, mark in decided.items()]
    numbers = {each.codes: at for at, each in enumerate(tried.study.hidden, start=1)}
    return {"listed": listed, **_laid_out(table, tried.asked, numbers, language)}


def _row(
    cell: HiddenCell | None,
    mark: Mapping[str, Any],
    decimals: int,
    language: str,
    codes: tuple[str, ...] = (),
) -> dict[str, Any]:
    cost = mark["cost"]
    told: dict[str, Any] = {
        "codes": cell.codes if cell is not None else codes,
        "waived": mark["waived"],
        "cost": "" if cost is None else f"{cost:g}",
        "hidden": cell is not None,
        "primary": cell is not None and cell.primary,
        "reason": cell.reason.get(language, "") if cell is not None else "",
        "low": "" if cell is None else number_text(cell.low, decimals, language),
        "high": "" if cell is None else number_text(cell.high, decimals, language),
    }
    return {**told, "address": json.dumps(list(told["codes"]), ensure_ascii=False)}


def _laid_out(
    table: ProtectedTable,
    asked: SuppressionRequest,
    numbers: Mapping[tuple[str, ...], int],
    language: str,
) -> dict[str, Any]:
    """The table as rows and columns: per cell its figure, or the number of the hidden one."""
    hidden, decimals = CellStatus.suppressed.name, asked.decimals if asked.value else 0

    def shown(codes: tuple[str, ...], told: Mapping[str, Any]) -> dict[str, Any]:
        value = told["value"]
        return {
            "figure": "·" if value is None else number_text(value, decimals, language),
            "number": numbers.get(codes, 0) if told["status"] == hidden else 0,
        }

    cells = published_cells(table, asked.by)
    return rows_and_columns(asked.by, ((codes, shown(codes, told)) for codes, told in cells))
