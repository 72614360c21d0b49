"""From the counts of a table to the protected table: noise and key figures.

In: the counts behind a table (confidential) and what a programme says of it. Out: a
protected table, public; what its quality is judged by, confidential. This is where a release
crosses the confidentiality line.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import DisclosureWarning, TableError
from discreet.protection.protocol import (
    AssessedTable,
    Counts,
    ReleasedOutcome,
    all_of,
    figure_filter,
)
from discreet.release.inputs import Inputs
from discreet.release.methods.noise.parameters import OpenedNoise
from discreet.release.programme.schema import TableEntry
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.variables import official_rule

if TYPE_CHECKING:
    from discreet.derived import KeyFigure
    from discreet.tables import Ingredient, ProtectedTable, Table


def opened_noise(inputs: Inputs) -> OpenedNoise:
    """What determines the noise of a release. SECRET."""
    opened = inputs.opened["noise"]
    assert isinstance(opened, OpenedNoise)
    return opened


class NoiseTables:
    """Protects the tables of one release with noise. CONFIDENTIAL."""

    def __init__(self, inputs: Inputs, digests: Mapping[str, Mapping[str, str]]) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.digests = digests
        self.opened = opened_noise(inputs)
        self.parameters = self.opened.parameters

    def made(self, name: str, counts: Counts) -> ReleasedOutcome:
        """The protected table of a name, of what was counted for it."""
        entry = self.programme.tables[name]
        make = self._figures if entry.figures else self._plain
        protected, used, ingredients = make(name, entry, counts)
        return ReleasedOutcome(
            table=protected,
            remembered={},
            assessed=AssessedTable(
                counts=used.get(""),
                ingredients=ingredients,
                figures=[self._key_figure(figure, entry) for figure in entry.figures],
            ),
            found_codes=self._found(used.values()),
        )

    def _found(self, counts: Iterable[Table]) -> dict[str, Literal["all", "missing"]]:
        """Variables of which codes are listed because they occur, and which codes these are."""
        if self.parameters.rules.found_codes != "list":
            return {}
        kinds: dict[str, set[str]] = {}
        for table in counts:
            for dimension in table.dimensions:
                if bool(dimension.found.any()):
                    trees = dimension.classifications
                    kinds.setdefault(dimension.name, set()).update(tree.found for tree in trees)
        return {name: "all" if "all" in found else "missing" for name, found in kinds.items()}

    # -- figures -----------------------------------------------------------------

    def _plain(
        self, name: str, entry: TableEntry, counts: Counts
    ) -> tuple[ProtectedTable, dict[str, Table], dict[str, Ingredient]]:
        """A table of counts without key figures."""
        from discreet.protection.noise import protect_counts
        from discreet.tables import without_unpublished

        table, rules = counts[all_of(entry.where)], self.parameters.rules
        protected = protect_counts(
            table,
            self.parameters.perturbation_table,
            zeros=rules.zeros,
            decimals=rules.decimals,
            round_to=entry.round_to or 1,
            **self._shared_options(name),
        ).protected
        if rules.found_codes == "hide":
            protected = without_unpublished(protected)
        return protected, {"": table}, {}

    def _figures(
        self, name: str, entry: TableEntry, counts: Counts
    ) -> tuple[ProtectedTable, dict[str, Table], dict[str, Ingredient]]:
        """A table of key figures, from the counts and magnitudes they are made of."""
        from discreet.derived import derive

        counted = [figure for figure, described in entry.figures.items() if described.counted]
        used = {figure: counts[figure_filter(entry, figure)] for figure in counted}
        ingredients = {
            figure: self._ingredient(name, figure, table) for figure, table in used.items()
        }
        try:
            protected = derive(
                ingredients,
                [self._key_figure(figure, entry) for figure in entry.figures],
                bracket_above=self.parameters.figures.bracket_above,
                found_codes=self.parameters.rules.found_codes,
                name=name,
            )
        except TableError as error:
            raise self._placed(error, name) from None
        return protected, used, ingredients

    def _placed(self, error: TableError, name: str) -> TableError:
        """An error about key figures, at their places in the programme."""
        problems = [
            dataclasses.replace(problem, where=self._place_of(name, problem.where))
            for problem in error.problems
        ]
        return TableError(
            error.what,
            code=error.code,
            where=problems[0].where if len(problems) == 1 else str(self.programme.path),
            hint=error.hint,
            problems=problems,
        )

    def _place_of(self, name: str, figure: str) -> str:
        """File, line and key of a figure; of its table for what is no figure."""
        path: KeyPath = ("tables", name)
        if figure in self.programme.tables[name].figures:
            path = (*path, "figures", figure)
        return f"{self.programme.path.name}, {self.programme.problem(path, '').where}"

    def _ingredient(self, name: str, figure: str, table: Table) -> Ingredient:
        from discreet.protection.noise import (
            count_ingredient,
            magnitude_ingredient,
            mean_ingredient,
        )

        described = self.programme.tables[name].figures[figure]
        parameters = self.parameters
        options = self._shared_options(name)
        if described.of is None:
            round_to = self.programme.tables[name].round_to or 1
            counts = {"zeros": parameters.rules.zeros, "decimals": parameters.rules.decimals}
            options |= {"round_to": round_to, **counts}
            return count_ingredient(table, parameters.perturbation_table, **options)
        make = mean_ingredient if described.kind == "mean" else magnitude_ingredient
        magnitude = parameters.magnitudes[described.of]
        with warnings.catch_warnings():  # a release says once for all tables what is shared
            warnings.simplefilter("ignore", DisclosureWarning)
            return make(
                table,
                self.opened.magnitudes[described.of],
                described.of,
                **magnitude.treatment(table, described.of),
                ptable=parameters.perturbation_table,
                decimals=described.decimals,
                count_decimals=parameters.rules.decimals,
                **options,
            )

    def _key_figure(self, figure: str, entry: TableEntry) -> KeyFigure:
        described = entry.figures[figure]
        limit = described.bracket_above
        if limit is None and described.of is not None:
            limit = self.parameters.magnitudes[described.of].entry.bracket_above
        return described.key_figure(figure, limit)

    def _shared_options(self, name: str) -> dict[str, Any]:
        """What holds for counts and magnitudes alike."""
        text = self.inputs.official(name)
        return {
            "suppress_below": self.parameters.rules.suppress_below,
            "official": official_rule(self.programme, name, self.inputs.totals, text),
            "totals": self.inputs.totals,
            "digests": self.digests[name],
        }
