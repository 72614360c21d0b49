"""The parameters of a release: from the files a programme names, or from a package.

In: a programme, or a TOML file with less than one whose parameters are to be packed, and
through it perturbation tables and, if asked for, the secret of the record keys. Out:
`Parameters` (SECRET), or problems placed at the keys of the file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Problem, nearest
from discreet.protection.problems import Opener, present, warnings_about
from discreet.release.programme.checks import (
    check_magnitudes,
    check_sections,
    check_thresholds,
)
from discreet.release.programme.file import Programme, load, raise_problems
from discreet.release.programme.toml_lines import KeyPath, dotted
from discreet.release.programme.variables import rule_where_known

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.protection.noise import (
        MagnitudePerturbationTable,
        PerturbationTable,
    )
    from discreet.release.packages.parameters import Parameters


def open_parameters_of(opener: Opener[Programme]) -> Parameters | None:
    """The parameters of a programme; None, and problems, if they cannot be had."""
    from discreet.protection.noise import MagnitudePerturbationTable, PerturbationTable
    from discreet.release.packages.parameters import Magnitude, parameters_of

    programme = opener.programme
    if programme.document.parameters is not None:
        parameters = opener.attempt(("parameters", "package"), _open_package)
        if parameters is not None:
            opener.problems += _fits_programme(programme, parameters)
            opener.problems += [
                problem for _, problem in check_thresholds(programme, parameters.parts)
            ]
        return parameters
    ptable: PerturbationTable | None = None
    entry = programme.perturbation
    zeros = entry.zeros == "table"
    with opener.placed("perturbation", "table"):
        if (file := present(programme, entry.table)) is not None:
            ptable = PerturbationTable.read(file, format=entry.format, zeros=zeros)
    if ptable is not None and zeros and not ptable.changes_zeros:
        message = "the perturbation table holds no noise for zeros"
        hint = 'use zeros = "keep", or a table with such a row 0'
        opener.problems.append(programme.problem(("perturbation", "table"), message, hint))
    elif ptable is not None:
        nothing = np.zeros(1, dtype=np.int64)
        with opener.placed("keys", "grid"):
            ptable.lookup(nothing, nothing, programme.keys.grid)
    tables: dict[str, MagnitudePerturbationTable] = {}
    for column, stated in programme.magnitudes.items():
        place, small = (present(programme, name) for name in (stated.table, stated.small_table))
        if place is None or (stated.small_table is not None and small is None):
            continue  # reported by the checks of files
        with opener.placed("magnitudes", column, "table"):
            table = MagnitudePerturbationTable.read(place)
            if small is not None:
                added = MagnitudePerturbationTable.read(small, kind="small")
                table = MagnitudePerturbationTable.joined(table, added, name=table.name)
            tables[column] = table
        section = dotted(("magnitudes", column))
        if column in tables and not any(section in one.where for one in opener.problems):
            with opener.placed("magnitudes", column):
                magnitude = Magnitude(stated, tables[column])
                magnitude.rules()
                magnitude.noise()
    if ptable is None or opener.problems:
        return None
    return opener.attempt((), lambda known: parameters_of(sections_of(known), ptable, tables))


def sections_of(programme: Programme) -> dict[str, Any]:
    """The sections of a programme that are parameters, as plain values."""
    document = programme.document
    official = document.defaults.official
    return {
        "perturbation": programme.perturbation.model_dump(),
        "magnitudes": {column: entry.model_dump() for column, entry in document.magnitudes.items()},
        "keys": programme.keys.model_dump(),
        **({"parts": document.parts.model_dump()} if document.parts is not None else {}),
        **({"figures": document.figures.model_dump()} if document.figures is not None else {}),
        **({"official": official} if official else {}),
    }


def _open_package(programme: Programme) -> Parameters | None:
    from discreet.release.packages.keys import PackageKey
    from discreet.release.packages.package import open_parameters

    entry = programme.document.parameters
    assert entry is not None
    path = present(programme, entry.package)
    files = (entry.key_file, entry.passphrase_file, entry.verify_key)
    missing = any(name is not None and present(programme, name) is None for name in files)
    opened_by = [name for name in (*files[:2], entry.passphrase_env) if name is not None]
    if path is None or missing or len(opened_by) != 1:
        return None
    key_file, passphrase_file, verify_key = (present(programme, name) for name in files)
    key = PackageKey.named(
        key_file=key_file, passphrase_env=entry.passphrase_env, passphrase_file=passphrase_file
    )
    parameters = open_parameters(
        path,
        key=key,
        verify_key=verify_key,
        statistic=entry.statistic,
        version=entry.version,
        signer=entry.signer,
        allow_unsigned=entry.allow_unsigned,
    )
    return parameters.of_period(entry.period) if entry.period else parameters


def _fits_programme(programme: Programme, parameters: Parameters) -> list[Problem]:
    """What the programme asks for and the package does not have."""
    problems = []
    grid = programme.keys.grid
    if ("keys", "grid") in programme.index.lines and grid.size != parameters.grid.size:
        message = "the package has another key grid"
        problems.append(programme.problem(("keys", "grid"), message, "remove it"))
    known = list(parameters.magnitudes)
    for name, table in programme.tables.items():
        for figure, entry in table.figures.items():
            if entry.of is not None and entry.of not in known:
                message = f"the package has no noise for {entry.of!r}"
                path: KeyPath = ("tables", name, "figures", figure, "of")
                problems.append(programme.problem(path, message, nearest(entry.of, known)))
    return [*problems, *_unusable(programme, parameters)]


def _unusable(programme: Programme, parameters: Parameters) -> Iterator[Problem]:
    """Keys that are to be made, without a secret; and zeros that cannot get noise."""
    main = programme.main.keys
    for source in programme.sources.values():
        keys = source.keys
        stated = [keys.secret_file, keys.secret_env, main.secret_file, main.secret_env]
        if keys.id is not None and not any(stated) and parameters.secret is None:
            message = "the package has no secret for record keys"
            hint = "add secret_file, or use data with record keys and column = …"
            yield programme.problem((*source.keys_path, "id"), message, hint)
    for name, table in programme.tables.items():
        if (table.round_to or 1) > 1 and parameters.rules.decimals:
            message = "the package has decimals for values rounded to multiples"
            yield programme.problem(programme.setting(name, "round_to"), message)
    if parameters.rules.zeros == "table":
        for name, table in programme.tables.items():
            if table.weight:
                message = "zeros of a weighted table cannot be perturbed: they have no mean weight"
                yield programme.problem(programme.setting(name, "weight"), message)


def parameter_warnings(programme: Programme, parameters: Parameters | None) -> Iterator[str]:
    """Files that others on this computer can read, packages of strangers, rules without effect."""
    names = [programme.perturbation.table]
    for entry in programme.magnitudes.values():
        names += [entry.table, entry.small_table]
    for name in dict.fromkeys(name for name in names if name is not None):
        yield from warnings_about(programme.file(name))
    package = programme.document.parameters
    if package is None or parameters is None:
        return
    if package.verify_key is None and package.signer is None:
        yield (
            "the signer of the package was not checked; add verify_key, or signer = "
            f'"{parameters.signer}" if this is the key of the office'
            if parameters.signer
            else (
                "the package of parameters is not signed: anyone who can open it could have made it"
            )
        )
    known = {*programme.spanning(programme.main.name), *(package.totals or {})}
    if parameters.official and not rule_where_known(parameters.official, known):
        yield (
            "all cells get noise: the exempt cells of the package name variables that no table "
            f"here has ({parameters.official}); state the code of each one's total: totals = "
            '{ VARIABLE = "CODE" } in [parameters]'
        )


def read_parameters(path: str | os.PathLike[str], *, with_secret: bool = False) -> Parameters:
    """Read the parameters that a programme uses, and open the tables it names.

    Args:
        path: A programme, or a TOML file with its sections [perturbation], [magnitudes.*],
            [parts], [figures], [keys] and `official` in [defaults]; others are not used.
        with_secret: Take the secret of the record keys along.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.
    """
    programme, problems = load(path)
    document = programme.document
    sections = {"perturbation": document.perturbation, "magnitudes": document.magnitudes}
    wrong = [
        *check_sections(programme, sections),
        *check_magnitudes(programme),
        *check_thresholds(programme),
    ]
    problems += [problem for key, problem in wrong if not programme.reported(key)]
    problems += _unfit(programme, with_secret=with_secret)
    opener = Opener(programme, problems)
    parameters = open_parameters_of(opener) if programme.document.parameters is None else None
    secret = opener.attempt(("keys",), _secret) if with_secret else None
    raise_problems(str(path), problems)
    assert parameters is not None
    return dataclasses.replace(parameters, secret=secret)


def warnings_about_parameters(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Warnings about files of parameters that others on this computer can read."""
    return tuple(parameter_warnings(load(path)[0], None))


def _unfit(programme: Programme, *, with_secret: bool) -> list[Problem]:
    """Sections that parameters cannot do without, and those that make no sense here."""
    document, keys = programme.document, programme.keys
    problems = []
    if document.parameters is not None:
        message = "the parameters come from a package"
        problems.append(programme.problem(("parameters",), message, "pass on that package"))
    elif document.perturbation is None and not programme.reported(("perturbation",)):
        message = "the section [perturbation] is missing"
        problems.append(programme.problem(("perturbation",), message))
    if with_secret and (keys.secret_file is None) == (keys.secret_env is None):
        message = "exactly one of secret_file and secret_env is required to include the secret"
        problems.append(programme.problem(("keys", "secret_file"), message))
    return problems


def _secret(programme: Programme) -> Secret | None:
    from discreet.microdata import Secret

    keys = programme.keys
    if (keys.secret_file is None) == (keys.secret_env is None):
        return None  # reported above
    if keys.secret_env is not None:
        return Secret.from_env(keys.secret_env)
    return Secret.from_file(programme.file(keys.secret_file or ""))
