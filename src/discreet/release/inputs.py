"""Everything a programme needs, opened and checked before any work is done.

In: the path of a programme. Out: `Inputs` (confidential: records, perturbation
table, secret), or one error that lists every mistake with its line and key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.classifications import Classification
from discreet.release.checks import check_programme
from discreet.release.columns import check_columns
from discreet.release.digests import ReleaseKey
from discreet.release.lines import KeyPath
from discreet.release.named_codes import check_codes
from discreet.release.parameters import (
    Opener,
    news,
    open_parameters_of,
    parameter_warnings,
    present,
)
from discreet.release.programme import Programme, load, raise_problems
from discreet.release.variables import fixed_classifications

if TYPE_CHECKING:
    from discreet.keygrid import KeyGrid
    from discreet.microdata import Secret
    from discreet.perturbation import MagnitudeNoise
    from discreet.release.packages import Parameters

__all__ = ["Inputs", "check_release", "open_inputs", "read_programme"]

#: Digests are published if the keys of the records hold so many unknown bits.
_ENOUGH_BITS = 256


@dataclass(frozen=True, kw_only=True, repr=False)
class Inputs:
    """What a release is made from. CONFIDENTIAL.

    Args:
        programme: The programme.
        records: The records, as narwhals wraps them.
        parameters: Everything else that determines the results.
        secret: The secret of the record keys, if they are made on the way.
        trees: The classifications that need no data.
        warnings: What should be put right although it is not an error.
    """

    programme: Programme
    records: Any
    parameters: Parameters
    secret: Secret | None
    trees: Mapping[str, Classification]
    warnings: tuple[str, ...] = ()

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""
        return self.parameters.grid

    @cached_property
    def noise(self) -> Mapping[str, MagnitudeNoise]:
        """The noise of each value column."""
        found = self.parameters.magnitudes
        return {column: magnitude.noise() for column, magnitude in found.items()}

    def thresholds(self, table: str) -> dict[str, Any] | None:
        """The thresholds for the parts of a table; None where parts stay."""
        return self.programme.thresholds(table, self.parameters.thresholds)

    def held_against_all(self, table: str) -> bool:
        """Whether rules for parts look at all records besides those a filter passes."""
        return self.programme.held_against_all(table, self.parameters.parts)

    def official(self, table: str) -> str:
        """The rule for official figures that holds for a table, as it is stated."""
        stated = self.programme.tables[table].official
        if stated is None and self.programme.document.parameters is not None:
            stated = self.parameters.official
        return (stated or "").strip()

    def release_key(self) -> ReleaseKey:
        """The key of all digests of this release."""
        data = self.programme.data
        source = self.programme.file(data.source or data.database or "")
        return ReleaseKey.of_data(source, self.secret)

    def guessable(self) -> bool:
        """Whether digests keyed with these data could be found by trial.

        Few records on a small key grid hold too little that is unknown.
        """
        if self.secret is not None:
            return False
        import narwhals as nw

        enough = math.ceil(_ENOUGH_BITS / math.log2(self.grid.size))
        first = self.records.lazy().head(enough).select(nw.len())
        return int(first.collect().item()) < enough

    def keyed_records(self) -> tuple[Any, str]:
        """The records with their keys, and the name of the column that holds them."""
        keys = self.programme.keys
        if keys.column is not None:
            return self.records, keys.column
        from discreet.microdata import with_record_keys

        assert self.secret is not None
        native = self.records.to_native()
        keyed = with_record_keys(native, id=keys.id or [], secret=self.secret, grid=self.grid.size)
        return keyed, "record_key"

    def __repr__(self) -> str:
        return f"<Inputs of {self.programme.name}>"


def read_programme(path: str | os.PathLike[str]) -> Programme:
    r"""Read a programme and check all that can be checked without its data.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.

    >>> import tempfile
    >>> from discreet.errors import DiscreetError
    >>> with tempfile.NamedTemporaryFile(suffix=".toml") as file:
    ...     _ = file.write(b"[tables.T1]\nby = 'sex'\nformat = ['csv']\n")
    ...     file.flush()
    ...     try:
    ...         read_programme(file.name)
    ...     except DiscreetError as error:
    ...         print(error.problems[-1])
    line 3, tables.T1.format: there is no such key
      Hint: did you mean 'formats'?
    """
    programme, problems = load(path)
    problems += check_programme(programme)
    trees, more = fixed_classifications(programme)
    problems += news(problems, more)
    problems += check_codes(programme, trees)
    raise_problems(str(path), problems)
    return programme


def open_inputs(path: str | os.PathLike[str]) -> Inputs:
    """Open and check everything a programme names.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.
    """
    programme, problems = load(path)
    problems += check_programme(programme)
    trees, more = fixed_classifications(programme)
    problems += news(problems, more)
    problems += check_codes(programme, trees)
    opener = Opener(programme, problems)
    parameters = open_parameters_of(opener)
    secret = opener.attempt(_secret_path(programme), _read_secret)
    records = opener.attempt(_data_path(programme), _read_records)
    if records is not None:
        problems += news(problems, check_columns(programme, records.collect_schema()))
    raise_problems(str(path), problems)
    assert parameters is not None
    return Inputs(
        programme=programme,
        records=records,
        parameters=parameters,
        secret=secret or parameters.secret,
        trees=trees,
        warnings=parameter_warnings(programme),
    )


def check_release(path: str | os.PathLike[str]) -> Programme:
    """Check a programme and everything it names, and do nothing else.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.

    >>> check_release("no-such-programme.toml")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
    """
    return open_inputs(path).programme


def _secret_path(programme: Programme) -> KeyPath:
    return ("keys", "secret_file" if programme.keys.secret_file else "secret_env")


def _data_path(programme: Programme) -> KeyPath:
    return ("data", "source" if programme.data.source else "database")


def _read_secret(programme: Programme) -> Secret | None:
    keys = programme.keys
    if keys.secret_env is not None and os.environ.get(keys.secret_env):
        from discreet.microdata import Secret

        return Secret.from_env(keys.secret_env)
    path = present(programme, keys.secret_file)
    if path is None:
        return None
    from discreet.microdata import Secret

    return Secret.from_file(path)


def _read_records(programme: Programme) -> Any:
    from discreet.microdata import read_microdata

    data = programme.data
    if (data.source is None) == (data.database is None):
        return None
    name = data.source or data.database or ""
    pattern = any(sign in name for sign in "*?[")
    if not pattern and not programme.file(name).exists():
        return None
    if data.database is not None and (data.table is None) == (data.query is None):
        return None
    kind = data.format or ("duckdb" if data.database is not None else None)
    return read_microdata(
        programme.file(name), format=kind, table=data.table, query=data.query, text=tuple(data.text)
    )
