"""A programme for cells made elsewhere: counts, sums, key figures with brackets, parts.

In: a file with one row per cell (confidential) and a TOML file with the sections that table
programmes have, and [cells], which says what its columns are (secret). Out: a `ProtectedTable`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from discreet.confidential import SecretValues, without_values
from discreet.errors import Problem, ProgrammeError, raise_all
from discreet.protection.problems import Opener
from discreet.release.packages.parameters import Parameters, checked_entry
from discreet.release.packages.programme_parameters import parameters_from
from discreet.release.programme.checks import check_sections
from discreet.release.programme.file import ProgrammeFile, raise_problems, read_form
from discreet.release.programme.schema import (
    FigureEntry,
    FiguresEntry,
    MagnitudeEntry,
    PartsEntry,
    PerturbationEntry,
)
from discreet.release.programme.sources import KeysEntry
from discreet.release.programme.values import Key, Mistake, ProgrammeEntry, Texts
from discreet.release.programme.variables import rule_where_known
from discreet.settings import Text
from discreet.tables import ProtectedTable, Table, ValueColumns

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.protection.parts import PartDecisions
    from discreet.tables import Ingredient

Names = Annotated[list[Text], Field(min_length=1)]


_Needed = Annotated[Text | None, Key(needed="name a column of the cells")]


class CountColumnsEntry(ProgrammeEntry):
    """[cells.counts.NAME]: another count of the same cells."""

    count: _Needed = None
    cell_key: _Needed = None


class ValueColumnsEntry(ProgrammeEntry):
    """[cells.values.NAME]: the columns of a value, named as the fields of `ValueColumns`."""

    total: _Needed = None
    largest: Annotated[Names | None, Key(needed="name columns of the cells")] = None
    count: _Needed = None
    cell_key: _Needed = None
    nonzero: Text | None = None
    nonzero_key: Text | None = None
    smallest: Text | None = None


class CellFigureEntry(FigureEntry):
    """[cells.figures.NAME]: one figure; what it needs depends on the columns of the cells."""

    def mistakes(self) -> Iterator[Mistake]:
        """None by itself."""
        return iter(())


class CellsEntry(ProgrammeEntry):
    """[cells]: what the columns of the file are, and which figures are published."""

    by: Annotated[Names | None, Key(needed="name columns of the cells")] = None
    count: _Needed = None
    cell_key: _Needed = None
    weight: Text | None = None
    key_grid: Text = "10^15"
    key_digits: Text = "exact"
    title: Texts = Field(default_factory=dict)
    totals: dict[str, Text] | None = None
    hierarchies: dict[str, Text] = Field(default_factory=dict)
    counts: dict[str, CountColumnsEntry] = Field(default_factory=dict)
    values: dict[str, ValueColumnsEntry] = Field(default_factory=dict)
    figures: dict[str, CellFigureEntry] = Field(default_factory=dict)


#: The sections that name perturbation tables.
_OF_TABLES = ("perturbation", "magnitudes")


class CellDocument(ProgrammeEntry):
    """A whole programme for cells."""

    cells: CellsEntry = CellsEntry()
    perturbation: PerturbationEntry = PerturbationEntry()
    magnitudes: dict[str, MagnitudeEntry] = Field(default_factory=dict)
    parts: PartsEntry | None = None
    figures: FiguresEntry = FiguresEntry()
    keys: KeysEntry = KeysEntry()
    official: Annotated[str | None, Key(filter=True)] = None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellProgramme(SecretValues):
    """Programme for a file of cells. SECRET."""

    path: Path  # the file it stands in
    cells: CellsEntry  # what the columns of the cells are
    parameters: Parameters  # how they are protected
    #: Code trees of variables that name no file
    trees: Mapping[str, Classification] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        cells: Mapping[str, Any],
        parameters: Parameters,
        *,
        name: str = "table",
        trees: Mapping[str, Classification] | None = None,
    ) -> CellProgramme:
        """A programme without files, for parameters that are open already."""
        problems: list[Problem] = []
        entry = checked_entry(CellsEntry, "cells", cells, problems)
        if entry.hierarchies:
            problems.append(
                Problem("files are not allowed here", "cells.hierarchies", "give trees")
            )
        problems += [
            Problem("variable not found", f"trees.{tree}")
            for tree in trees or {}
            if tree not in (entry.by or ())
        ]
        path = Path(f"{name}.toml")
        if not problems:
            problems += [problem for _, problem in check_sections(ProgrammeFile(path=path), entry)]
            problems += _figure_problems(entry, parameters)
        raise_all(ProgrammeError, problems, code="programme", many="{} mistakes", where="cells")
        return cls(path=path, cells=entry, parameters=parameters, trees=trees or {})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CellProgramme:
        """Read it, and open the perturbation tables it names."""
        document, file, problems = read_form(Path(path), CellDocument)
        sections = {name: getattr(document, name) for name in ("cells", *_OF_TABLES)}
        wrong = check_sections(file, sections)
        problems += [problem for key, problem in wrong if not file.reported(key)]
        parameters = parameters_from(
            Opener(file, problems),
            rules=document.perturbation,
            magnitudes=document.magnitudes,
            parts=document.parts,
            figures=document.figures,
            official=document.official,
            keys=document.keys,
        )
        if parameters is not None:
            problems += _figure_problems(document.cells, parameters)
        raise_problems(str(path), problems)
        assert parameters is not None
        return cls(path=Path(path), cells=document.cells, parameters=parameters)

    def classifications(self) -> dict[str, Classification]:
        """The trees of variables that name a file."""
        from discreet.classifications import Classification

        read = {
            name: Classification.read(self.path.parent / file, name=name)
            for name, file in self.cells.hierarchies.items()
        }
        return {**self.trees, **read}


def _figure_problems(cells: CellsEntry, parameters: Parameters) -> list[Problem]:
    """Figures that name what is not there."""
    problems = []
    for name, figure in cells.figures.items():
        where = f"cells.figures.{name}"
        if figure.where is not None:
            hint = "a programme for cells has no records; use of = … with a count of the cells"
            problems.append(Problem("cells cannot be filtered", f"{where}.where", hint))
        if figure.kind is None:
            problems.append(Problem("required", f"{where}.kind"))
        elif figure.kind == "count" and figure.of not in (None, *cells.counts):
            hint = f"counts: {', '.join(cells.counts) or 'the main count only'}"
            problems.append(Problem("count not found", f"{where}.of", hint))
        elif figure.kind in ("sum", "mean") and not (
            figure.of in cells.values and figure.of in parameters.magnitudes
        ):
            hint = "use a value with sections [cells.values.…] and [magnitudes.…]"
            problems.append(Problem("value not found", f"{where}.of", hint))
    for name, magnitude in parameters.magnitudes.items():
        if (
            magnitude.entry.of == "range"
            and name in cells.values
            and not cells.values[name].smallest
        ):
            message = 'of = "range" needs the smallest value of each cell'
            problems.append(Problem(message, f"cells.values.{name}.smallest"))
    return problems


@without_values
def protect_by_programme(
    cells: Any, programme: str | os.PathLike[str] | CellProgramme
) -> ProtectedTable:
    """Protect cells made elsewhere as a programme says.

    Raises:
        ProgrammeError: Lists what is wrong with the programme.
    """
    from discreet.release.confidential_files import read_cells

    plan = programme if isinstance(programme, CellProgramme) else CellProgramme.read(programme)
    entry = plan.cells
    by = entry.by or []
    frame = read_cells(cells, by)
    trees = plan.classifications()
    name = plan.path.name.partition(".")[0]
    made = _FileOfCells(frame, [trees.get(item, item) for item in by], plan, name)
    safe = made.figures() if entry.figures else made.counts()
    decisions = made.decisions()
    if decisions is None:
        return safe
    from discreet.protection.parts import suppress_parts

    return suppress_parts(safe, decisions)


class _FileOfCells:
    """The cells of a file, and what is made of them. CONFIDENTIAL."""

    def __init__(self, frame: Any, by: Sequence[Any], plan: CellProgramme, name: str) -> None:
        self.entry, self.parameters, self.name = plan.cells, plan.parameters, name
        entry = plan.cells
        same: dict[str, Any] = {
            "by": by, "key_grid": entry.key_grid, "key_digits": entry.key_digits, "name": name,
        }  # fmt: skip
        values = {
            value: ValueColumns(**columns.model_dump(exclude_none=True))
            for value, columns in entry.values.items()
        }
        self.table = Table.from_cells(
            frame,
            count=str(entry.count),
            cell_key=entry.cell_key,
            weight=entry.weight,
            values=values,
            **same,
        )
        self.others = {
            other: Table.from_cells(
                frame, count=str(columns.count), cell_key=columns.cell_key, **same
            )
            for other, columns in entry.counts.items()
        }

    @property
    def _options(self) -> dict[str, Any]:
        rules = self.parameters.rules
        known = [*(self.entry.by or ()), *(self.entry.totals or {})]
        return {
            "suppress_below": rules.suppress_below,
            "official": rule_where_known(self.parameters.official, known),
            "totals": self.entry.totals,
        }

    def counts(self) -> ProtectedTable:
        """A table of the main count."""
        from discreet.protection.noise import perturb

        rules = self.parameters.rules
        return perturb(
            self.table,
            self.parameters.perturbation_table,
            zeros=rules.zeros,
            decimals=rules.decimals,
            found_codes=rules.found_codes,
            titles=self.entry.title,
            **self._options,
        )

    def figures(self) -> ProtectedTable:
        """A table of key figures, with brackets."""
        from discreet.derived import derive

        entries = self.entry.figures
        counted = {name: self._ingredient(name) for name in entries if entries[name].counted}
        key_figures = []
        for name, figure in entries.items():
            limit = figure.bracket_above
            if limit is None and figure.of in self.parameters.magnitudes:
                limit = self.parameters.magnitudes[str(figure.of)].entry.bracket_above
            key_figures.append(figure.key_figure(name, limit))
        return derive(
            counted,
            key_figures,
            bracket_above=self.parameters.figures.bracket_above,
            found_codes=self.parameters.rules.found_codes,
            name=self.name,
            titles=self.entry.title,
        )

    def _ingredient(self, name: str) -> Ingredient:
        from discreet.protection.noise import (
            count_ingredient,
            magnitude_ingredient,
            mean_ingredient,
        )

        figure, parameters = self.entry.figures[name], self.parameters
        if figure.kind == "count":
            table = self.table if figure.of is None else self.others[figure.of]
            rules = {"zeros": parameters.rules.zeros, "decimals": parameters.rules.decimals}
            return count_ingredient(table, parameters.perturbation_table, **self._options, **rules)
        value = str(figure.of)
        magnitude = parameters.magnitudes[value]
        make = mean_ingredient if figure.kind == "mean" else magnitude_ingredient
        return make(
            self.table,
            magnitude.noise(),
            value,
            **magnitude.treatment(self.table, value),
            ptable=parameters.perturbation_table,
            decimals=figure.decimals,
            **self._options,
        )

    def decisions(self) -> PartDecisions | None:
        """What the thresholds say of the parts of all counts together; None without any."""
        parts = self.parameters.parts
        if parts is None or not parts.enabled or not parts.thresholds:
            return None
        from discreet.protection.noise import count_deviations
        from discreet.protection.parts import PartRules, check_parts, joint_decisions

        rules, content = PartRules(**parts.thresholds), self.parameters.perturbation_table.content
        used = {figure.of for figure in self.entry.figures.values() if figure.kind == "count"}
        spanning = {dimension.name for dimension in self.table.dimensions}
        options: dict[str, Any] = {"deviation": partial(count_deviations, content)}
        options["areas"] = parts.per if parts.per in spanning else None
        decided = [check_parts(self.table, rules, **options)]
        decided += [
            check_parts(table, rules, universe=self.table, **options)
            for name, table in self.others.items()
            if name in used
        ]
        return joint_decisions(decided)
