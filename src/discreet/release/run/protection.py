"""From the counts of a table to the protected table: noise, key figures, table parts, notes.

In: the counts behind a table (confidential) and what a programme says of it. Out: a
protected table, and what was decided about its parts (both public); statistics on its
quality, confidential, which the state of the release keeps encrypted with a key that is made
of the data. This is where a release crosses the confidentiality line.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import TableError
from discreet.release.programme.groups import UNIVERSE, Counts, all_of, figure_filter
from discreet.release.programme.schema import TableEntry
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.variables import official_rule
from discreet.release.run.annotations import (
    described_decisions,
    joint_decisions,
    universe_of,
    with_provenance,
    with_remarks,
)
from discreet.release.run.inputs import Inputs
from discreet.release.state.memory import ReleaseKey

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.assessment.release_quality import QualityLog
    from discreet.derived import KeyFigure
    from discreet.protection.noise import Ingredient
    from discreet.protection.parts import PartDecisions
    from discreet.tables import ProtectedTable, Table

__all__ = ["MadeTable", "Protector", "kept_extras", "quality_of"]


@dataclass(frozen=True, kw_only=True, repr=False)
class MadeTable:
    """A protected table and how it came about. CONFIDENTIAL, but for two.

    Args:
        protected: The table; may be published.
        decisions: Filter → what was decided about the parts of that count; may be
            published.
        counts: What was counted, per figure; "" for a plain count.
        ingredients: The protected figures beside their originals.
        figures: The key figures that are made of them.
    """

    protected: ProtectedTable
    decisions: Mapping[str, PartDecisions]
    counts: Mapping[str, Table]
    ingredients: Mapping[str, Ingredient]
    figures: Sequence[KeyFigure]

    def __repr__(self) -> str:
        return f"<MadeTable {self.protected.name} (confidential)>"


class Protector:
    """Protects the tables of one release.

    Args:
        inputs: What the release is made from.
        digests: Per table, its digest; printed with its provenance.
        data_digests: Per source, the digest of its data.
        totals: The total code of every variable.
        anonymous: Sources whose digests are left out, because they could be found by trial.
    """

    def __init__(
        self,
        inputs: Inputs,
        *,
        digests: Mapping[str, str],
        data_digests: Mapping[str, str],
        totals: Mapping[str, str],
        anonymous: frozenset[str],
    ) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.digests = digests
        self.data_digests = data_digests
        self.totals = totals
        self.anonymous = anonymous

    def made(self, name: str, counts: Counts) -> MadeTable:
        """The protected table of a name, of what was counted for it."""
        from discreet.protection.parts import suppress_parts

        entry = self.programme.tables[name]
        if entry.figures:
            protected, used, ingredients = self._figures(name, entry, counts)
        else:
            protected, used, ingredients = self._plain(name, entry, counts)
        decisions = self._decisions(name, counts, used)
        if decisions:
            protected = suppress_parts(protected, joint_decisions(list(decisions.values())))
        return MadeTable(
            protected=with_provenance(
                self.programme, name, with_remarks(entry, protected), self._digests(name, protected)
            ),
            decisions=decisions,
            counts=used,
            ingredients=ingredients,
            figures=self._key_figures(entry),
        )

    # -- figures -----------------------------------------------------------------

    def _plain(
        self, name: str, entry: TableEntry, counts: Counts
    ) -> tuple[ProtectedTable, dict[str, Table], dict[str, Ingredient]]:
        """A table of counts without key figures."""
        from discreet.protection.noise import perturb

        table, rules = counts[all_of(entry.where)], self.inputs.parameters.rules
        protected = perturb(
            table,
            self.inputs.parameters.perturbation_table,
            zeros=rules.zeros,
            decimals=rules.decimals,
            found_codes=rules.found_codes,
            titles=entry.title,
            universe=universe_of(self.programme, entry),
            **self._shared_options(name),
        )
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
                self._key_figures(entry),
                bracket_above=self.inputs.parameters.figures.bracket_above,
                found_codes=self.inputs.parameters.rules.found_codes,
                name=name,
                titles=entry.title,
                universe=universe_of(self.programme, entry),
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
        parameters = self.inputs.parameters
        options = self._shared_options(name)
        if described.of is None:
            counts = {"zeros": parameters.rules.zeros, "decimals": parameters.rules.decimals}
            return count_ingredient(table, parameters.perturbation_table, **counts, **options)
        make = mean_ingredient if described.kind == "mean" else magnitude_ingredient
        magnitude = parameters.magnitudes[described.of]
        return make(
            table,
            self.inputs.noise[described.of],
            described.of,
            publish=magnitude.entry.publish,
            sensitive=magnitude.sensitive(table, described.of),
            grain=magnitude.entry.grain,
            ptable=parameters.perturbation_table,
            decimals=described.decimals,
            count_decimals=parameters.rules.decimals,
            **options,
        )

    def _key_figures(self, entry: TableEntry) -> list[KeyFigure]:
        return [self._key_figure(figure, entry) for figure in entry.figures]

    def _key_figure(self, figure: str, entry: TableEntry) -> KeyFigure:
        from discreet.derived import KeyFigure

        described = entry.figures[figure]
        limit = described.bracket_above
        if limit is None and described.of is not None:
            limit = self.inputs.parameters.magnitudes[described.of].entry.bracket_above
        assert described.kind is not None
        return KeyFigure(
            name=figure,
            kind=described.kind,
            of=figure if described.counted else "",
            part=described.part or "",
            whole=described.whole or "",
            over=described.over or (),
            base=described.base or {},
            factor=described.factor,
            decimals=described.decimals,
            titles=described.title,
            unit=described.unit or "",
            hidden=described.hidden,
            bracket_above=limit,
        )

    def _shared_options(self, name: str) -> dict[str, Any]:
        """What holds for counts and magnitudes alike."""
        text = self.inputs.official(name)
        data_digest = self.data_digests[self.programme.source_of(name).name]
        return {
            "suppress_below": self.inputs.parameters.rules.suppress_below,
            "official": official_rule(self.programme, name, self.totals, text),
            "totals": self.totals,
            "digests": {"programme": self.digests[name], "data": data_digest},
        }

    def _digests(self, name: str, protected: ProtectedTable) -> Mapping[str, str]:
        """The digests to print: none that could be found by trial."""
        anonymous = self.programme.source_of(name).name in self.anonymous
        return {} if anonymous else protected.provenance.digests

    # -- table parts -------------------------------------------------------------

    def _decisions(
        self, name: str, counts: Counts, used: Mapping[str, Table]
    ) -> dict[str, PartDecisions]:
        """What the rules say of the parts of each count behind a table."""
        thresholds = self.inputs.thresholds(name)
        if thresholds is None:
            return {}
        from discreet.protection.parts import PartRules, check_parts

        rules = PartRules(**thresholds)
        return {
            where: check_parts(
                table,
                rules,
                universe=self._universe_of(name, where, counts),
                deviation=self._deviation,
            )
            for where, table in {self._where(name, f): used[f] for f in used}.items()
        }

    def _universe_of(self, name: str, where: str, counts: Counts) -> Table | Literal["none"] | None:
        """What a filtered count is held against."""
        if where == UNIVERSE:
            return None
        return counts[UNIVERSE] if self.inputs.held_against_all(name) else "none"

    def _deviation(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The standard deviation of the noise that counts can get."""
        from discreet.protection.noise.intervals import count_deviations

        return count_deviations(self.inputs.parameters.perturbation_table.content, counts)

    def _where(self, name: str, figure: str) -> str:
        entry = self.programme.tables[name]
        return figure_filter(entry, figure) if figure else all_of(entry.where)


_PURPOSE = b"discreet release quality 1"


def kept_extras(made: MadeTable, key: ReleaseKey, *, quality: bool) -> dict[str, Any]:
    """What is kept of a table that was just made.

    Args:
        made: The table and how it came about.
        key: The key of the digests of its source.
        quality: Whether there is to be a report on quality.
    """
    decisions = described_decisions(made.decisions)
    if not quality:
        return {"decisions": decisions}
    sealed = _log(made).sealed(_sealing_key(key))
    return {"decisions": decisions, "quality": base64.b64encode(sealed).decode("ascii")}


def quality_of(
    extras: Mapping[str, Mapping[str, Any]], keys: Mapping[str, ReleaseKey]
) -> QualityLog:
    """The statistics on all tables of a release.

    Args:
        extras: Name of table → what was remembered of it.
        keys: Name of table → the key of the digests of its source.
    """
    from discreet.assessment.release_quality import QualityLog

    whole = QualityLog()
    for name, entry in extras.items():
        sealed = base64.b64decode(entry["quality"])
        whole = whole.merge(QualityLog.opened(sealed, _sealing_key(keys[name])))
    return whole


def _sealing_key(key: ReleaseKey) -> bytes:
    return hmac.new(key.value, _PURPOSE, hashlib.sha256).digest()


def _log(made: MadeTable) -> QualityLog:
    from discreet.assessment.release_quality import QualityLog

    log = QualityLog()
    decided = joint_decisions(list(made.decisions.values())) if made.decisions else None
    log.add(
        made.protected.name,
        made.counts.get(""),
        made.protected,
        ingredients=made.ingredients,
        figures=made.figures,
        decisions=decided,
    )
    return log
