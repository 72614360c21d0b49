"""The parameters of a release: from the files a programme names, or from a package.

In: a programme, or a TOML file with less than one whose parameters are to be packed, and
through it perturbation tables and, if asked for, the secret of the record keys. Out:
`Parameters` (SECRET), or problems placed at the keys of the file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import Problem, nearest
from discreet.protection.problems import (
    Opener,
    not_yet_known,
    present,
    stated_secret_problems,
    warnings_about,
)
from discreet.release.programme.checks import (
    check_magnitudes,
    check_methods,
    check_parts,
    check_sections,
)
from discreet.release.programme.file import Programme, ProgrammeFile, load, raise_problems
from discreet.release.programme.schema import FiguresEntry, MagnitudeEntry, PerturbationEntry
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.variables import rule_where_known

if TYPE_CHECKING:
    from discreet.release.packages.parameters import Parameters

AnyFile = TypeVar("AnyFile", bound=ProgrammeFile)


def open_parameters_of(opener: Opener[Programme]) -> Parameters | None:
    """The parameters of a programme; None, and problems, if they cannot be had."""
    programme = opener.programme
    if programme.document.parameters is not None:
        parameters = opener.attempt(("parameters", "package"), _open_package)
        if parameters is not None:
            whole = programme.with_package(parameters.rules, parameters.parts)
            found = _fits_programme(programme, parameters)
            found += [p for _, p in (*check_parts(whole), *check_methods(whole))]
            opener.problems += not_yet_known(opener.problems, found)
        return parameters
    document = programme.document
    return parameters_from(
        opener,
        rules=programme.perturbation,
        magnitudes=programme.magnitudes,
        parts=document.parts,
        figures=document.figures or FiguresEntry(),
        official=document.defaults.official,
        keys=programme.keys,
    )


def parameters_from(
    opener: Opener[AnyFile],
    *,
    rules: PerturbationEntry,
    magnitudes: Mapping[str, MagnitudeEntry],
    official: str | None,
    **sections: Any,
) -> Parameters | None:
    """The parameters of sections, with the tables that they name; None, and problems, if wrong."""
    from discreet.protection.noise import MagnitudePerturbationTable, PerturbationTable
    from discreet.release.packages.parameters import Magnitude, Parameters

    file, ptable = opener.programme, None
    with opener.placed("perturbation", "table"):
        if (place := present(file, rules.table)) is not None:
            zeros = rules.zeros == "table"
            ptable = PerturbationTable.read(place, format=rules.format, zeros=zeros)
    noise: dict[str, Magnitude] = {}
    for column, stated in magnitudes.items():
        place, small = (present(file, name) for name in (stated.table, stated.small_table))
        if place is None or (stated.small_table is not None and small is None):
            continue  # reported by the checks of files
        with opener.placed("magnitudes", column, "table"):
            table = MagnitudePerturbationTable.read(place)
            if small is not None:
                added = MagnitudePerturbationTable.read(small, kind="small")
                table = MagnitudePerturbationTable.joined(table, added, name=table.name)
            noise[column] = Magnitude(stated, table)
    if ptable is None:
        return None
    parameters = Parameters(
        perturbation_table=ptable,
        rules=rules,
        magnitudes=MappingProxyType(noise),
        official=(official or "").strip() or None,
        **sections,
    )
    for path, problem in parameters.problems([problem.key for problem in opener.problems]):
        what = ": ".join(filter(None, (problem.where, problem.what)))
        opener.problems.append(file.problem(path, what, problem.hint))
    return None if opener.problems else parameters


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
    main = programme.main.keys
    for source in programme.sources.values():
        keys = source.keys
        stated = [keys.secret_file, keys.secret_env, main.secret_file, main.secret_env]
        if keys.id is not None and not any(stated) and parameters.secret is None:
            message = "the package has no secret for record keys"
            hint = "add secret_file, or use data with record keys and column = …"
            problems.append(programme.problem((*source.keys_path, "id"), message, hint))
    return problems


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
    document, keys = programme.document, programme.keys
    sections = {"perturbation": document.perturbation, "magnitudes": document.magnitudes}
    wrong = [
        *check_sections(programme, sections),
        *check_magnitudes(programme),
        *check_parts(programme),
        *(stated_secret_problems(programme, ("keys",), keys) if with_secret else ()),
    ]
    if document.parameters is not None:
        hint = "pass on that package"
        wrong.append(programme.at(("parameters",), "the parameters come from a package", hint))
    elif document.perturbation is None:
        wrong.append(programme.at(("perturbation",), "the section [perturbation] is missing"))
    if with_secret and (keys.secret_file is None) == (keys.secret_env is None):
        message = "exactly one of secret_file and secret_env is required to include the secret"
        wrong.append(programme.at(("keys", "secret_file"), message))
    problems += [problem for key, problem in wrong if not programme.reported(key)]
    opener = Opener(programme, problems)
    parameters = open_parameters_of(opener) if document.parameters is None else None
    secret = opener.secret(("keys",), keys) if with_secret else None
    raise_problems(str(path), problems)
    assert parameters is not None
    return dataclasses.replace(parameters, secret=secret)


def warnings_about_parameters(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Warnings about files of parameters that others on this computer can read."""
    return tuple(parameter_warnings(load(path)[0], None))
