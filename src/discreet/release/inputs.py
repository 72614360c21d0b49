"""Everything a programme needs, opened and checked before any work is done.

In: the path of a programme. Out: `Inputs` (confidential: records, perturbation
table, secret), or one error that lists every mistake with its line and key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.classifications import Classification
from discreet.errors import DiscreetError, PerturbationError, Problem
from discreet.release.checks import check_programme, problems_of
from discreet.release.digests import ReleaseKey
from discreet.release.lines import KeyPath
from discreet.release.permissions import warnings_about
from discreet.release.programme import Programme, load, nearest, raise_problems
from discreet.release.variables import columns_of, fixed_classifications, used_variables

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.perturbation import PerturbationTable

__all__ = ["Inputs", "check_release", "open_inputs", "read_programme"]

_Thing = TypeVar("_Thing")

#: Digests are published if the keys of the records hold so many unknown bits.
_ENOUGH_BITS = 256


@dataclass(frozen=True, kw_only=True, repr=False)
class Inputs:
    """What a release is made from. CONFIDENTIAL.

    Args:
        programme: The programme.
        records: The records, as narwhals wraps them.
        perturbation_table: The perturbation table.
        secret: The secret of the record keys, if they are made on the way.
        trees: The classifications that need no data.
        warnings: What should be put right although it is not an error.
    """

    programme: Programme
    records: Any
    perturbation_table: PerturbationTable
    secret: Secret | None
    trees: Mapping[str, Classification]
    warnings: tuple[str, ...] = ()

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

        grid = self.programme.keys.grid
        enough = math.ceil(_ENOUGH_BITS / math.log2(grid.size))
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
        keyed = with_record_keys(native, id=keys.id or [], secret=self.secret, grid=keys.grid.size)
        return keyed, "record_key"

    def __repr__(self) -> str:
        return f"<Inputs of {self.programme.name}>"


def read_programme(path: str | os.PathLike[str]) -> Programme:
    r"""Read a programme and check all that can be checked without its data.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.

    >>> import tempfile
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
    problems += _news(problems, fixed_classifications(programme)[1])
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
    problems += _news(problems, more)
    opener = _Opener(programme, problems)
    table = opener.attempt(("perturbation", "table"), _read_perturbation_table)
    secret = opener.attempt(_secret_path(programme), _read_secret)
    records = opener.attempt(_data_path(programme), _read_records)
    if table is not None:
        opener.attempt(("keys", "grid"), partial(_fit_grid, table))
    if records is not None:
        problems += _check_columns(programme, records.collect_schema())
    raise_problems(str(path), problems)
    assert table is not None
    return Inputs(
        programme=programme,
        records=records,
        perturbation_table=table,
        secret=secret,
        trees=trees,
        warnings=warnings_about(programme.file(programme.perturbation.table or "")),
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


def _news(known: list[Problem], found: list[Problem]) -> list[Problem]:
    """Problems at places where none was known yet: one mistake is reported once."""
    places = {problem.where for problem in known}
    return [problem for problem in found if problem.where not in places]


@dataclass
class _Opener:
    """Opens one thing after another and collects what is wrong with each."""

    programme: Programme
    problems: list[Problem]

    def attempt(self, path: KeyPath, read: Callable[[Programme], _Thing | None]) -> _Thing | None:
        try:
            return read(self.programme)
        except DiscreetError as error:
            self.problems += _news(self.problems, problems_of(error, self.programme, path))
            return None


def _secret_path(programme: Programme) -> KeyPath:
    return ("keys", "secret_file" if programme.keys.secret_file else "secret_env")


def _data_path(programme: Programme) -> KeyPath:
    return ("data", "source" if programme.data.source else "database")


def _present(programme: Programme, name: str | None) -> Path | None:
    """A named file, unless it is missing (which the checks have reported)."""
    if name is None:
        return None
    path = programme.file(name)
    return path if path.exists() else None


def _read_perturbation_table(programme: Programme) -> PerturbationTable | None:
    from discreet.perturbation import PerturbationTable

    entry = programme.perturbation
    path = _present(programme, entry.table)
    if path is None or path.is_dir():
        return None
    table = PerturbationTable.read(path, format=entry.format, zeros=entry.zeros == "table")
    if entry.zeros == "table" and not table.changes_zeros:
        raise PerturbationError(
            "the perturbation table holds no noise for zeros",
            code="zeros",
            hint='use zeros = "keep", or a table with such a row 0',
        )
    return table


def _fit_grid(table: PerturbationTable, programme: Programme) -> None:
    """Raise unless the perturbation table can be used with the key grid."""
    nothing = np.zeros(1, dtype=np.int64)
    table.lookup(nothing, nothing, programme.keys.grid)


def _read_secret(programme: Programme) -> Secret | None:
    keys = programme.keys
    if keys.secret_env is not None and os.environ.get(keys.secret_env):
        from discreet.microdata import Secret

        return Secret.from_env(keys.secret_env)
    path = _present(programme, keys.secret_file)
    if path is None or path.is_dir():
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
    if not pattern and _present(programme, name) is None:
        return None
    if data.database is not None and (data.table is None) == (data.query is None):
        return None
    kind = data.format or ("duckdb" if data.database is not None else None)
    return read_microdata(
        programme.file(name), format=kind, table=data.table, query=data.query, text=tuple(data.text)
    )


# -- columns of the data ---------------------------------------------------------------


def _check_columns(programme: Programme, schema: Mapping[str, Any]) -> list[Problem]:
    """Columns that the programme names and the data lack, or that are of the wrong type."""
    problems: list[Problem] = []
    for path, column in dict.fromkeys(_named_columns(programme)):
        if column not in schema:
            hint = nearest(column, list(schema))
            problems.append(programme.problem(path, f"the data have no column {column!r}", hint))
    problems += _confidential_columns(programme)
    problems += _unknown_variables(programme, schema)
    problems += _number_problems(programme, schema)
    problems += _filter_problems(programme, schema)
    return problems


def _named_columns(programme: Programme) -> Iterator[tuple[KeyPath, str]]:
    keys = programme.keys
    if keys.column is not None:
        yield ("keys", "column"), keys.column
    for column in keys.id or []:
        yield ("keys", "id"), column
    for name, table in programme.tables.items():
        for variable in used_variables(programme, name):
            yield from columns_of(programme, variable)
        if table.weight:
            yield programme.setting(name, "weight"), table.weight


def _confidential_columns(programme: Programme) -> Iterator[Problem]:
    """Keys and identifiers choose the noise; no table is made of them."""
    keys = programme.keys
    own = {name for name in (keys.column, *(keys.id or [])) if name is not None}
    what = "column {!r} holds keys or identifiers; no table is made of it"
    for name, table in programme.tables.items():
        for number, variable in enumerate(table.by or []):
            if variable in own and variable not in programme.variables:
                path: KeyPath = ("tables", name, "by", number)
                yield programme.problem(path, what.format(variable), "")
        for variable in used_variables(programme, name):
            for path, column in columns_of(programme, variable):
                if column in own:
                    yield programme.problem(path, what.format(column), "")
        if table.weight in own:
            yield programme.problem(
                programme.setting(name, "weight"), what.format(table.weight), ""
            )


def _unknown_variables(programme: Programme, schema: Mapping[str, Any]) -> Iterator[Problem]:
    for name, table in programme.tables.items():
        for number, variable in enumerate(table.by or []):
            if variable in programme.variables or variable in schema:
                continue
            if any(skipped == ("variables", variable) for skipped in programme.skipped):
                continue
            hint = nearest(variable, [*programme.variables, *schema])
            what = f"there is neither a variable nor a column {variable!r}"
            yield programme.problem(("tables", name, "by", number), what, hint)


def _number_problems(programme: Programme, schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Weights and columns cut into intervals hold numbers."""
    wanted: dict[KeyPath, str] = {}
    for name, table in programme.tables.items():
        if table.weight:
            wanted[programme.setting(name, "weight")] = table.weight
        for variable in used_variables(programme, name):
            entry = programme.variables[variable]
            if entry.intervals is not None:
                wanted[("variables", variable, "intervals")] = entry.column or variable
    for path, column in wanted.items():
        if column in schema and not schema[column].is_numeric():
            what = f"column {column!r} is not a number but {schema[column]}"
            yield programme.problem(path, what)


def _filter_problems(programme: Programme, schema: Mapping[str, Any]) -> list[Problem]:
    from discreet.tabulation.filters import parse_filter

    problems: list[Problem] = []
    filters = {
        programme.setting(name, "where"): table.where
        for name, table in programme.tables.items()
        if table.where and table.where.strip()
    }
    for path, text in filters.items():
        try:
            parsed = parse_filter(text)
        except DiscreetError:
            continue  # reported by the checks of the programme
        try:
            parsed.check(schema)
        except DiscreetError as error:
            problems += [
                programme.problem(path, f"{problem.what}: {text}", problem.hint)
                for problem in error.problems
            ]
    return problems
