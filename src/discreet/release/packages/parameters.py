"""`Parameters`: everything that determines protected results, apart from the data.

In: sections of a programme and opened perturbation tables, or a package. Out: checked
`Parameters`, and keyed digests of them that are equal wherever they come from. SECRET:
who knows them can narrow down original values.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from discreet.errors import PackageError
from discreet.keygrid import KeyGrid
from discreet.release.document import KeysEntry, PerturbationEntry
from discreet.release.figure_entries import FiguresEntry, MagnitudeEntry, PartsEntry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.microdata import Secret
    from discreet.perturbation import (
        MagnitudeNoise,
        MagnitudePerturbationTable,
        PerturbationTable,
    )
    from discreet.rules import Rule
    from discreet.tables import Table

__all__ = ["PLACES", "Magnitude", "Parameters", "plain"]

#: Where things are on one computer is no parameter.
PLACES: Mapping[str, set[str]] = {
    "perturbation": {"table", "format"},
    "magnitudes": {"table", "small_table"},
    "keys": {"secret_file", "secret_env"},
}


@dataclass(frozen=True, repr=False, eq=False)
class Magnitude:
    """The noise for sums and means of one value column. SECRET.

    Args:
        entry: Its section, without the places of files.
        table: Its perturbation table.
    """

    entry: MagnitudeEntry
    table: MagnitudePerturbationTable

    def noise(self) -> MagnitudeNoise:
        """What `perturb_magnitudes` takes."""
        from discreet.perturbation import FlexStrength, MagnitudeNoise, SimpleStrength

        entry, given = self.entry, self.entry.strength
        if given is None or given.kind is None:
            raise PackageError("strength is missing", code="parameters", where="strength")
        settings = given.model_dump(exclude={"kind"}, exclude_none=True)
        strength = FlexStrength(**settings) if given.kind == "flex" else SimpleStrength(**settings)
        more = {} if entry.epsilon is None else {"epsilon": tuple(entry.epsilon)}
        return MagnitudeNoise(
            table=self.table,
            strength=strength,
            of=entry.of,
            top=entry.top,
            same_key=entry.same_key,
            zeros_in_key=entry.zeros_in_key,
            mu_c=entry.mu_c,
            **more,
        )

    @property
    def contributions(self) -> int:
        """How many of the largest contributions noise and rules look at."""
        stated = self.entry.sensitive
        largest = [self.entry.top]
        if stated is not None and stated.dominance is not None:
            largest.append(int(stated.dominance[0]))
        if stated is not None and (stated.p_percent is not None or stated.pq is not None):
            largest.append(2)
        return max(largest)

    def rules(self) -> list[Rule]:
        """The rules that mark the cells which get more noise; none if there are none."""
        from discreet.rules import PQ, Dominance, MinimumFrequency, PPercent

        stated = self.entry.sensitive
        if (stated is None) != (self.entry.mu_c == 0):
            what = "mu_c is for cells that rules mark, and rules are for mu_c"
            hint = "such as mu_c = 1 and sensitive = { p_percent = … }; or leave both out"
            raise PackageError(what, code="sensitive", where="mu_c", hint=hint)
        if stated is None:
            return []
        found: list[Rule] = []
        if stated.minimum_frequency is not None:
            found.append(MinimumFrequency(stated.minimum_frequency, of="values"))
        if stated.dominance is not None:
            found.append(Dominance(*stated.dominance))
        if stated.p_percent is not None:
            found.append(PPercent(stated.p_percent))
        if stated.pq is not None:
            found.append(PQ(*stated.pq))
        if not found:
            raise PackageError("there is no rule", code="sensitive", where="sensitive")
        return found

    def sensitive(self, table: Table, column: str) -> npt.NDArray[np.bool_] | None:
        """The cells of a table that get more noise; None if there are no rules. CONFIDENTIAL.

        Args:
            table: The table, with as many contributions as rules look at.
            column: The value column.
        """
        rules = self.rules()
        if not rules:
            return None
        from discreet.rules import primary

        return primary(table, rules, value=column).sensitive

    def __repr__(self) -> str:
        return "<Magnitude: secret>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Parameters:
    """The parameters of a statistic. SECRET.

    Made by `open_parameters`, by `parameters_of`, or of a programme by
    `discreet.release.read_parameters`.

    Args:
        perturbation_table: The perturbation table for counts.
        rules: How it is used: zeros, suppress_below, decimals, found_codes.
        magnitudes: The noise of each value column.
        parts: Thresholds for the suppression of table parts; None if there are none.
        figures: What holds for all key figures.
        official: Cells that are published as they are, unless a programme says otherwise.
        keys: How record keys are made, and their grid; no secret.
        secret: The secret of the record keys, if the office hands that on too.
        statistic: The statistic the package is for; empty unless from a package.
        version: The version of the package; empty unless from a package.
    """

    perturbation_table: PerturbationTable
    rules: PerturbationEntry
    magnitudes: Mapping[str, Magnitude]
    parts: PartsEntry | None
    figures: FiguresEntry
    official: str | None
    keys: KeysEntry
    secret: Secret | None = None
    statistic: str = ""
    version: str = ""

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""
        return self.keys.grid

    @property
    def thresholds(self) -> dict[str, Any] | None:
        """The thresholds for table parts; None where parts stay."""
        return self.parts.thresholds if self.parts is not None and self.parts.enabled else None

    @property
    def kinds(self) -> list[str]:
        """The kinds of parameters there are; not secret."""
        return [
            "counts",
            *(["magnitudes"] if self.magnitudes else []),
            *(["parts"] if self.parts is not None and self.parts.thresholds else []),
            "figures",
            *(["official figures"] if self.official else []),
            *(["secret of the record keys"] if self.secret is not None else []),
        ]

    def digests(self, key: bytes) -> dict[str, str]:
        """A keyed digest of each section; magnitudes have one per value column.

        They are equal for the files of an office and for a package made of them. The
        secret of the record keys has no part in them, for the keys are in the data.

        Args:
            key: Something the reader of the digests cannot guess.
        """
        table = self.perturbation_table.digest(key)
        entries: dict[str, Any] = {
            "perturbation": [table, _stated("perturbation", self.rules)],
            "parts": _stated("parts", self.parts),
            "figures": _stated("figures", self.figures),
            "official": self.official,
            "grid": self.grid.size,
        }
        for column, magnitude in sorted(self.magnitudes.items()):
            section = _stated("magnitudes", magnitude.entry)
            entries[f"magnitudes.{column}"] = [magnitude.table.digest(key), section]
        return {name: _digest(key, name, entry) for name, entry in entries.items()}

    def digest(self, key: bytes) -> str:
        """One keyed digest of all of them.

        Args:
            key: Something the reader of the digest cannot guess.
        """
        return _digest(key, "parameters", self.digests(key))

    def sections(self) -> dict[str, Any]:
        """The sections as plain values, without the places of files. SECRET."""
        return {
            "perturbation": plain("perturbation", self.rules),
            "parts": None if self.parts is None else plain("parts", self.parts),
            "figures": plain("figures", self.figures),
            "keys": plain("keys", self.keys),
            "magnitudes": {
                column: plain("magnitudes", magnitude.entry)
                for column, magnitude in self.magnitudes.items()
            },
            "official": self.official,
        }

    def __repr__(self) -> str:
        name = f" of {self.statistic}, version {self.version}" if self.statistic else ""
        return f"<Parameters{name}: secret>"

    def _repr_html_(self) -> None:
        """Notebooks show the plain text form."""


def plain(section: str, entry: BaseModel) -> dict[str, Any]:
    """A section as values that JSON holds, without the places of files. SECRET."""
    return entry.model_dump(exclude=PLACES.get(section))


def _stated(section: str, entry: BaseModel | None) -> dict[str, Any] | None:
    """What differs from the defaults: a key that later versions add changes no digest."""
    if entry is None:
        return None
    return entry.model_dump(exclude=PLACES.get(section), exclude_defaults=True)


def _same_numbers(value: Any) -> Any:
    """1.0 and 1 are one number, however they are written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _same_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_same_numbers(item) for item in value]
    return value


def _digest(key: bytes, name: str, entry: Any) -> str:
    text = json.dumps([name, _same_numbers(entry)], sort_keys=True, allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
