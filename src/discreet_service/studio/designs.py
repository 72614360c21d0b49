"""The designer of perturbation: sliders, pictures, effect, and parameter sets made of designs.

In: forms (SECRET: never in an address, which logs keep). Out: pages for those who design
parameters, that nothing keeps; drafts of parameter sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from discreet.errors import DiscreetError, Problem
from discreet.publication import number_text
from discreet_service.permissions import Permission
from discreet_service.policies import Language
from discreet_service.problems import ServiceError
from discreet_service.studio.design_charts import design_charts, once
from discreet_service.studio.design_drafts import (
    can_sign,
    export_design,
    next_version,
    offline_commands,
    save_design,
)
from discreet_service.studio.design_effect import (
    SHOWN_CELLS,
    DesignEffect,
    dataset_effect,
    may_see_true,
    released_effect,
    released_tables,
)
from discreet_service.studio.design_figures import AssessedDesign, assessed
from discreet_service.studio.design_wishes import (
    LARGEST_NOISE,
    ORDERS,
    DesignFields,
    offered_variance,
)
from discreet_service.web import (
    FormVisit,
    NavigationEntry,
    Visit,
    back_to,
    check_allowed,
    page,
    visit_with,
    words,
)

router = APIRouter(prefix="/designs", tags=["studio"], include_in_schema=False)
NAVIGATION = NavigationEntry(path="/designs", place=40, permissions=(Permission.parameters_design,))

_Designer = Annotated[Visit, Depends(visit_with(Permission.parameters_design))]
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

    def said(name: str, longest: int = 100) -> str:
        return sent.get(name, "").strip()[:longest]

    return DesignerForm(
        designs=(DesignFields.of(sent, "a_"), DesignFields.of(sent, "b_")),
        compared=said("compared") == "yes",
        row=said("row"),
        act=said("act") or "draw",
        table=said("table", 200),
        place=said("place", 4_000),
        true=said("true") == "yes",
        which="b" if said("which") == "b" else "a",
        statistic=said("statistic"),
        version=said("version"),
    )


_Sent = Annotated[DesignerForm, Depends(designer_form)]


@router.get("")
def show_designer(visit: _Designer) -> Response:
    """The designer with an everyday design."""
    return _shown(visit, DesignerForm())


@router.post("")
def run_designer(visit: FormVisit, form: _Sent) -> Response:
    """Draw designs, look at their effect, save one, or take it away to be signed elsewhere."""
    check_allowed(visit.principal, Permission.parameters_design)
    if form.act in ("save", "export"):
        designs, _, wrong = form.read()
        try:
            if any(wrong) or (form.which == "b" and not form.compared):
                message = "there is no such design to save"
                raise ServiceError(message, code="invalid-input", where="which")
            wish = designs[form.which == "b"].wish
            if wish is None:
                raise AssertionError("designs of forms have wishes")
            if form.act == "export":
                content = export_design(visit, wish, form.statistic, form.version)
                headers = {
                    "Cache-Control": "no-store",
                    "Content-Disposition": 'attachment; filename="ptable.json"',
                }
                return Response(content, media_type="application/json", headers=headers)
            save_design(visit, wish, form.statistic, form.version)
        except DiscreetError as error:
            if isinstance(error, ServiceError) and error.code == "not-allowed":
                raise
            return _shown(visit, form, unsaved=problems_of(error))
        return back_to("/designs/sets")
    return _shown(visit, form)


def problems_of(error: DiscreetError) -> list[Problem]:
    """What a page says of an error.

    >>> problems_of(ServiceError("no", code="conflict"))[0].what
    'no'
    """
    return list(error.problems) or [Problem(error.what, error.where, error.hint)]


def _shown(visit: Visit, form: DesignerForm, unsaved: Sequence[Problem] = ()) -> Response:
    """The page with what is drawn of the designs, or why they cannot be."""
    language = visit.language
    spoken = words("designs", language)
    designs, row, wrong = form.read()
    drawn: dict[str, Any] = {"charts": (), "figures": (), "effect": None, "ineffective": ()}
    if not any(wrong):
        drawn["charts"] = design_charts(designs, row, spoken, language)
        drawn["figures"] = figures_of(designs, spoken, language)
        if form.act == "effect":
            drawn |= _effect(visit, form, designs, language)
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


def _effect(
    visit: Visit, form: DesignerForm, designs: Sequence[AssessedDesign], language: Language
) -> dict[str, Any]:
    """What the designs do to a table, or why that cannot be told."""
    try:
        effect: DesignEffect
        if form.place:
            effect = dataset_effect(visit, form.place, designs, language, true=form.true)
        else:
            effect = released_effect(visit, form.table, designs, language)
    except DiscreetError as error:
        if isinstance(error, ServiceError) and error.code in ("not-allowed", "not-authenticated"):
            raise
        return {"ineffective": problems_of(error)}
    return {"effect": effect}


#: Key figures, and how they are written: digits, and what they are multiplied by.
_WRITTEN: Mapping[str, tuple[int, float]] = {
    "variance": (2, 1),
    "stay": (1, 100),
    "deviation": (2, 1),
    "at_most_1": (1, 100),
    "at_least_3": (1, 100),
    "at_least_4": (1, 100),
    "any_original": (0, 0),
    "large": (0, 0),
    "origin": (1, 100),
    "borne": (1, 1),
}


def figures_of(
    designs: Sequence[AssessedDesign], spoken: Mapping[str, str], language: str
) -> list[tuple[str, list[str]]]:
    """The main figures of one design or two, as they are written."""
    told = [design.key_figures() for design in designs]
    rows = []
    for name, (digits, factor) in _WRITTEN.items():
        cells = []
        for one in told:
            if not factor:
                cells.append(once(one[name], spoken, language))
                continue
            text = number_text(factor * one[name], digits, language)
            cells.append(f"{text}\N{NO-BREAK SPACE}%" if factor == 100 else text)
        rows.append((spoken[f"figure_{name}"], cells))
    return rows
