"""Everything a programme needs, opened and checked before any work is done.

In: the path of a programme. Out: `Inputs` (confidential: records, perturbation
table, secret), or one error that lists every mistake with its line and key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.classifications import Classification
from discreet.release.programme.checks import check_programme
from discreet.release.programme.file import Programme, RecordSource, key_line, load, raise_problems
from discreet.release.programme.suppression_checks import suppression_warnings
from discreet.release.programme.variables import check_codes, check_columns, fixed_classifications
from discreet.release.run.parameters import (
    Opener,
    noise_warnings,
    not_yet_known,
    open_parameters_of,
    parameter_warnings,
    present,
    unused_noise,
)
from discreet.release.state.memory import EarlierTable, ReleaseKey, contradictions, read_release

if TYPE_CHECKING:
    from discreet.keygrid import KeyGrid
    from discreet.microdata import Secret
    from discreet.protection.noise import MagnitudeNoise
    from discreet.release.packages import Parameters

__all__ = ["Inputs", "check_release", "open_inputs", "read_programme"]

#: Digests are published if the keys of the records hold so many unknown bits.
_ENOUGH_BITS = 256


@dataclass(frozen=True, kw_only=True, repr=False)
class Inputs:
    """What a release is made from. CONFIDENTIAL.

    Args:
        programme: The programme.
        records: Per source, its records, as narwhals wraps them.
        noise_parameters: What determines noise; None where cells are only hidden.
        secrets: Per source, the secret of its record keys, if any are made on the way.
        trees: The classifications that need no data.
        earlier: Tables that were published before.
        warnings: What should be put right although it is not an error.
    """

    programme: Programme
    records: Mapping[str, Any]
    noise_parameters: Parameters | None
    secrets: Mapping[str, Secret]
    trees: Mapping[str, Classification]
    earlier: tuple[EarlierTable, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """Everything that determines noise, for tables that are protected by it."""
        assert self.noise_parameters is not None
        return self.noise_parameters

    @property
    def grid(self) -> KeyGrid:
        """The key grid."""
        held = self.noise_parameters
        return self.programme.keys.grid if held is None else held.grid

    @cached_property
    def noise(self) -> Mapping[str, MagnitudeNoise]:
        """The noise of each value column."""
        found = self.parameters.magnitudes
        return {column: magnitude.noise() for column, magnitude in found.items()}

    def thresholds(self, table: str) -> dict[str, Any] | None:
        """The thresholds for the parts of a table; None where parts stay."""
        if self.programme.tables[table].suppressed:
            return None
        return self.programme.thresholds(table, self.parameters.parts)

    def held_against_all(self, table: str) -> bool:
        """Whether rules for parts look at all records besides those a filter passes."""
        return self.programme.held_against_all(table, self.parameters.parts)

    def official(self, table: str) -> str:
        """The rule for official figures that holds for a table, as it is stated."""
        stated = self.programme.tables[table].official
        if stated is None and self.programme.document.parameters is not None:
            main = self.programme.source_of(table).main
            stated = self.parameters.official if main else None
        return (stated or "").strip()

    @cached_property
    def release_keys(self) -> Mapping[str, ReleaseKey]:
        """Per source, the key of all digests of its tables; reads the data once.

        Units whose keys come from their parts have a key that comes from both.
        """
        programme = self.programme
        used = dict.fromkeys(programme.source_of(table).name for table in programme.tables)
        lines = [key_line(programme.sources, name) for name in (programme.main.name, *used)]
        keys: dict[str, ReleaseKey] = {}
        for name in (name for line in lines for name in reversed(line)):
            if name not in keys:
                source = programme.sources[name]
                place = programme.file(source.records.source or source.records.database or "")
                parts = keys[source.keys.inherit] if source.keys.inherit else None
                keys[name] = ReleaseKey.of_data(place, self.secrets.get(name), parts)
        return keys

    def guessable(self, source: str) -> bool:
        """Whether digests keyed with the data of a source could be found by trial.

        Few records on a small key grid hold too little that is unknown.
        """
        name = key_line(self.programme.sources, source)[-1]
        if source in self.secrets or name in self.secrets:
            return False
        if self.programme.sources[name].keys.column is None:
            return True
        import narwhals as nw

        enough = math.ceil(_ENOUGH_BITS / math.log2(self.grid.size))
        first = self.records[name].lazy().head(enough).select(nw.len())
        return int(first.collect().item()) < enough

    def secret_of(self, source: str) -> Secret:
        """The secret that keys of a source are made with."""
        return self.secrets[source]

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
    problems += not_yet_known(problems, more)
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
    problems += not_yet_known(problems, more)
    problems += check_codes(programme, trees)
    opener = Opener(programme, problems)
    wanted = programme.noisy or programme.document.perturbation or programme.document.parameters
    parameters = open_parameters_of(opener) if wanted else None
    secrets = {
        name: opener.attempt(source.secret_place, partial(_read_secret, source))
        for name, source in programme.sources.items()
    }
    records = {
        name: opener.attempt(source.place, partial(_read_records, source))
        for name, source in programme.sources.items()
    }
    earlier = _read_earlier(opener)
    schemas = {n: frame.collect_schema() for n, frame in records.items() if frame is not None}
    problems += not_yet_known(problems, check_columns(programme, schemas))
    raise_problems(str(path), problems)
    assert parameters is not None or not wanted
    return Inputs(
        programme=programme,
        records=records,
        noise_parameters=parameters,
        secrets=_shared_secret(programme, secrets, parameters.secret if parameters else None),
        trees=trees,
        earlier=earlier,
        warnings=(
            *parameter_warnings(programme),
            *(noise_warnings(parameters) if parameters is not None else ()),
            *unused_noise(programme),
            *suppression_warnings(programme),
        ),
    )


def _read_earlier(opener: Opener) -> tuple[EarlierTable, ...]:
    """The tables that were published before."""
    programme = opener.programme
    found: list[EarlierTable] = []
    for number, name in enumerate(programme.suppression.earlier):
        folder = programme.file(name)
        if folder.is_dir():
            path = ("suppression", "earlier", number)
            found += opener.attempt(path, partial(_read_release, folder, number)) or []
    opener.problems += contradictions(programme, found)
    return tuple(found)


def _read_release(folder: Path, number: int, _: Programme) -> list[EarlierTable]:
    return read_release(folder, number)


def _shared_secret(
    programme: Programme, own: Mapping[str, Secret | None], handed_on: Secret | None
) -> dict[str, Secret]:
    """The secret of each source: its own, else that of [keys] or of the package."""
    main = own[programme.main.name] or handed_on
    held = {
        name: own[name] or (main if source.main or source.keys.column is None else None)
        for name, source in programme.sources.items()
    }
    return {name: secret for name, secret in held.items() if secret is not None}


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


def _read_secret(source: RecordSource, programme: Programme) -> Secret | None:
    keys = source.keys
    if keys.secret_env is not None and os.environ.get(keys.secret_env):
        from discreet.microdata import Secret

        return Secret.from_env(keys.secret_env)
    path = present(programme, keys.secret_file)
    if path is None:
        return None
    from discreet.microdata import Secret

    return Secret.from_file(path)


def _read_records(source: RecordSource, programme: Programme) -> Any:
    from discreet.microdata import read_microdata

    data = source.records
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
