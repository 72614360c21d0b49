"""The designer of perturbation: sliders, pictures, effect, drafts of parameter sets. Forms are
SECRET: nothing of them stands in an address, which logs keep.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fastapi import APIRouter, Depends, Request, Response

from discreet import perturb
from discreet.assessment import Quality, actual_quality, expected_quality, published_values
from discreet.errors import DiscreetError, Problem
from discreet.protection.protocol import all_of
from discreet.tables import ProtectedTable, Table
from discreet.tabulation import Query
from discreet_service.audit import AuditKind, LogMode, LogVerdict
from discreet_service.permissions import Permission, Principal
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.queries import PreparedQuery, filter_texts, joint_filter, title_of
from discreet_service.studio.choices import TableChoices
from discreet_service.studio.design_charts import design_charts, figures_of
from discreet_service.studio.design_sets import (
    can_sign,
    export_design,
    next_version,
    offline_commands,
    save_design,
)
from discreet_service.studio.design_wishes import (
    LARGEST_NOISE,
    ORDERS,
    AssessedDesign,
    DesignFields,
    assessed,
    offered_variance,
    published_counts,
)
from discreet_service.web import (
    NavigationEntry,
    Visit,
    admitted,
    back_to,
    check_allowed,
    file_response,
    form_visit_with,
    note_query,
    page,
    visit_with,
    words,
)

#: Cells that are shown one by one.
SHOWN_CELLS = 100


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class DesignEffect:
    """Effect of designs on a table. CONFIDENTIAL."""

    title: str  # The table
    true: bool  # Whether true counts are behind it
    expected: Sequence[Quality]  # Per design, the quality to be expected
    # Per design, the quality of what is drawn; none without true counts
    actual: Sequence[Quality] = ()
    # Codes, true count and what each design makes of it; none without true counts
    cells: Sequence[tuple[Sequence[str], int, Sequence[int]]] = ()
    all_cells: int = 0  # How many cells there are

    def __repr__(self) -> str:
        return "<DesignEffect: confidential>"


def released_tables(visit: Visit, language: str) -> list[tuple[str, str]]:
    """Name and heading of the released tables of counts that somebody may see."""
    if not visit.principal.may(Permission.releases_read):
        return []
    listed = visit.service.releases.tables().values()
    return [(item.id, f"{item.release}: {item.title(language)}")
            for item in listed if not item.figures]  # fmt: skip


def may_see_true(principal: Principal, dataset: str = "") -> bool:
    """Whether somebody may see true values of a data set; no permission but this one implies it."""
    return principal.may(Permission.parameters_design) and principal.may(
        Permission.values_see, dataset
    )


def released_effect(
    visit: Visit, table: str, designs: Sequence[AssessedDesign], language: str
) -> DesignEffect:
    """Expected effect on a released table."""
    check_allowed(visit.principal, Permission.releases_read)
    listed = visit.service.releases.listed(table)
    return _expected(listed.title(language), visit.service.releases.table(table), designs)


def _expected(title: str, table: ProtectedTable, designs: Sequence[AssessedDesign]) -> DesignEffect:
    if table.figures or table.value.dtype.kind != "i":
        raise ServiceError("not a table of counts", "invalid-input", "table")
    counts = published_counts(table)
    if not counts:
        raise ServiceError("the table has no counts", "invalid-input", "table")
    expected = [expected_quality(design.table, counts) for design in designs]
    return DesignEffect(title=title, true=False, expected=expected,
                        all_cells=sum(counts.values()))  # fmt: skip


def dataset_effect(
    visit: Visit, place: str, designs: Sequence[AssessedDesign], language: Language, *, true: bool
) -> DesignEffect:
    """Expected effect on a table of a data set, or the effect on its true counts."""
    address = urlsplit(place.strip())
    parts = address.path.strip("/").split("/")
    if len(parts) not in (2, 3) or parts[0] != "tables" or parts[2:] not in ([], ["result"]):
        what, hint = "not an address of a table", "copy it from the table builder: /tables/…"
        raise ServiceError(what, "invalid-input", "table", hint)
    dataset = unquote(parts[1])
    pairs = parse_qsl(address.query, keep_blank_values=True, max_num_fields=1_000)
    check_allowed(visit.principal, Permission.parameters_design)
    check_allowed(visit.principal, Permission.values_see if true else Permission.query_run, dataset)
    version = visit.service.datasets.version(dataset, dict(pairs).get("version") or None)
    choices = TableChoices.of(version, pairs, strict=True)
    prepared = visit.service.answers.prepared(dataset, choices.query())
    prepared.plan.require()
    what, hint = "the table is too large for this page", "choose coarser levels"
    too_large = ServiceError(what, "too-many-cells", "table", hint)
    if prepared.plan.kind != "instant":
        raise too_large
    title = title_of(prepared.query, choices.unit)[language]
    if true:
        # What designs do to true counts; that they were shown stands in the trail. CONFIDENTIAL.
        table = true_table(prepared)
        if not len(table):
            raise ServiceError("the table has no cells", "invalid-input", "table")
        query = prepared.query
        facts: dict[str, Any] = {
            "version": query.version,
            "unit": query.unit,
            "by": [f"{one.variable}:{','.join(map(str, one.levels))}" for one in query.by],
            "where": [one.variable for one in query.where],
            "cells": len(table),
        }
        visit.note(AuditKind.true_values_shown, query.dataset, facts)
        drawn = [perturb(table, design.table) for design in designs]
        values = [published_values(table, item)[0] for item in drawn]
        labels = [dimension.labels(language) for dimension in table.dimensions]
        cells = [
            (
                [own[part[at]] for own, part in zip(labels, table.index, strict=True)],
                int(table.count[at]),
                [int(value[at]) for value in values],
            )
            for at in range(min(len(table), SHOWN_CELLS))
        ]
        return DesignEffect(
            title=title,
            true=True,
            expected=[expected_quality(design.table, table) for design in designs],
            actual=[actual_quality(table, item) for item in drawn],
            cells=cells,
            all_cells=len(table),
        )
    # The protected table, as everybody would get it; asked for like any other.
    start = time.perf_counter()
    verdict = admitted(visit, prepared, language, start)
    if not visit.service.answers.is_instant(prepared, verdict):
        raise too_large
    answer = visit.service.answers.answer(prepared)
    note_query(visit, prepared, LogMode.query, LogVerdict.answered, start, kept=answer.cached)
    return _expected(title, answer.table, designs)


def true_table(prepared: PreparedQuery) -> Table:
    """The true counts of a query, with all totals. CONFIDENTIAL."""
    query, version = prepared.query, prepared.version
    unit = version.units[query.unit]
    trees = [
        unit.coarser.get((one.variable, max(one.levels)), unit.variables[one.variable].tree)
        for one in query.by
    ]
    schema = version.records(query.unit)[0].collect_schema()
    texts = filter_texts(query, version)
    asked = Query(by=trees, where=joint_filter(texts, schema), name="effect")
    return replace(version.counted(query.unit, [asked])[0], where=all_of(*texts))


router = APIRouter(prefix="/designs", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/designs", place=40, permissions=(Permission.parameters_design,))

_Designer = Annotated[Visit, Depends(visit_with(Permission.parameters_design))]
_ParametersDesignForm = Annotated[Visit, Depends(form_visit_with(Permission.parameters_design))]
#: Where the names of fields of the two designs begin.
_PREFIXES = ("a_", "b_")


@dataclass(frozen=True, kw_only=True, repr=False)
class DesignerForm:
    """All fields of the page. SECRET."""

    # The fields of both designs
    designs: tuple[DesignFields, DesignFields] = (
        DesignFields(),
        DesignFields(noise="4", variance="2.25", fixed=True),
    )
    compared: bool = False  # Whether the second one is looked at, too
    row: str = ""  # Original count whose noise is shown; empty for large ones
    act: str = "draw"  # "draw", "effect", "save" or "export"
    table: str = ""  # A released table
    place: str = ""  # The address of a table of a data set
    true: bool = False  # Whether its true counts are asked for
    which: str = "a"  # Which design is saved
    statistic: str = ""  # As which statistic
    version: str = ""  # As which version

    def read(self) -> tuple[list[AssessedDesign], int | None, list[list[Problem]]]:
        """The designs, and per design what is wrong with it."""
        found: list[AssessedDesign] = []
        wrong: list[list[Problem]] = []
        for fields in self.designs[: 2 if self.compared else 1]:
            problems: list[Problem] = []
            wish = fields.read(problems)
            if wish is not None:
                try:
                    found.append(assessed(wish))
                except DiscreetError as error:
                    problems += error.problems
            wrong.append(problems)
        row = self.row.strip()
        known = row.isascii() and row.isdigit() and len(row) < 4
        return found, int(row) if known and int(row) > 0 else None, wrong

    def kept(self) -> list[tuple[str, str]]:
        """The fields of the designs, as hidden fields of other forms."""
        pairs = []
        for prefix, one in zip(_PREFIXES, self.designs, strict=True):
            pairs += [
                (f"{prefix}{name}", getattr(one, name))
                for name in ("noise", "variance", "exact", "never", "stay", "order")
            ]
            pairs += [(f"{prefix}fixed", "yes")] if one.fixed else []
        return [*pairs, ("row", self.row), *([("compared", "yes")] if self.compared else [])]

    def __repr__(self) -> str:
        return "<DesignerForm: secret>"


async def designer_form(request: Request) -> DesignerForm:
    """A dependency: the fields that were sent; of a name that comes twice, the last."""
    sent = {
        name: value
        for name, value in (await request.form()).multi_items()
        if isinstance(value, str)
    }

    longest = {"table": 200, "place": 4_000}
    texts = {name: text.strip()[: longest.get(name, 100)] for name, text in sent.items()}
    names = ("row", "table", "place", "statistic", "version")
    return DesignerForm(
        designs=(DesignFields.of(sent, "a_"), DesignFields.of(sent, "b_")),
        compared=texts.get("compared") == "yes",
        act=texts.get("act") or "draw",
        true=texts.get("true") == "yes",
        which="b" if texts.get("which") == "b" else "a",
        **{name: texts.get(name, "") for name in names},
    )


_Sent = Annotated[DesignerForm, Depends(designer_form)]


@router.get("")
def show_designer(visit: _Designer) -> Response:
    """The designer with an everyday design."""
    return _shown(visit, DesignerForm())


@router.post("")
def run_designer(visit: _ParametersDesignForm, form: _Sent) -> Response:
    """Draw designs, look at their effect, save one, or take it away to be signed elsewhere."""
    if form.act in ("save", "export"):
        designs, _, wrong = form.read()
        try:
            if any(wrong) or (form.which == "b" and not form.compared):
                raise ServiceError("the design is not possible", "invalid-input", "which")
            wish = designs[form.which == "b"].wish
            if wish is None:
                raise AssertionError("designs of forms have wishes")
            if form.act == "export":
                content = export_design(visit, wish, form.statistic, form.version)
                return file_response(content, "ptable.json", "application/json")
            save_design(visit, wish, form.statistic, form.version)
        except DiscreetError as error:
            if isinstance(error, ServiceError) and error.code == "not-allowed":
                raise
            return _shown(visit, form, unsaved=error.problems)
        return back_to("/designs/sets")
    return _shown(visit, form)


def _shown(visit: Visit, form: DesignerForm, unsaved: Sequence[Problem] = ()) -> Response:
    language = visit.language
    spoken = words("designs", language)
    designs, row, wrong = form.read()
    drawn: dict[str, Any] = {"charts": (), "figures": (), "effect": None, "ineffective": ()}
    if not any(wrong):
        drawn["charts"] = design_charts(designs, row, spoken, language)
        drawn["figures"] = figures_of(designs, spoken, language)
        if form.act == "effect":
            # What the designs do to a table, or why that cannot be told.
            try:
                drawn["effect"] = (
                    dataset_effect(visit, form.place, designs, language, true=form.true)
                    if form.place
                    else released_effect(visit, form.table, designs, language)
                )
            except DiscreetError as error:
                if error.code in ("not-allowed", "not-authenticated"):
                    raise
                drawn["ineffective"] = error.problems
    statistics = sorted({item.name for item in visit.service.parameter_sets.sets()})
    statistic = form.statistic or "".join(statistics[:1])
    version = form.version or next_version(visit.service, statistic)
    return page(
        visit,
        "designs",
        status=422 if any(wrong) or unsaved or drawn["ineffective"] else 200,
        secret=True,
        form=form,
        designs=designs,
        wrong=wrong,
        offered=[offered_variance(item) for item in wrong],
        unsaved=unsaved,
        may_save=visit.principal.may(Permission.parameters_propose),
        can_sign=can_sign(visit.service),
        statistics=statistics,
        statistic=statistic,
        version=version,
        commands=offline_commands(statistic or "census", version),
        tables=released_tables(visit, language),
        may_query=visit.principal.may(Permission.query_run),
        may_see_true=may_see_true(visit.principal),
        orders=ORDERS,
        largest_noise=LARGEST_NOISE,
        shown_cells=SHOWN_CELLS,
        **drawn,
    )
