"""The parameters that a TOML file names, to be packed: a programme, or less than one.

In: the path of the file, and through it perturbation tables and, if asked for, the
secret of the record keys. Out: `Parameters` (SECRET), or one error that lists every
mistake with its line and key. Neither data nor tables are needed.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from discreet.errors import Problem
from discreet.release.figure_checks import check_figures
from discreet.release.finding import reported
from discreet.release.parameter_checks import check_parameters
from discreet.release.parameters import Opener, open_parameters_of, parameter_warnings
from discreet.release.programme import Programme, load, raise_problems

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.release.packages import Parameters

__all__ = ["read_parameters", "warnings_about_parameters"]


def read_parameters(path: str | os.PathLike[str], *, with_secret: bool = False) -> Parameters:
    """Read the parameters that a programme uses, and open the tables it names.

    Args:
        path: A programme, or a TOML file with its sections [perturbation], [magnitudes.*],
            [parts], [figures], [keys] and `official` in [defaults]; others are not used.
        with_secret: Take the secret of the record keys along.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.

    >>> read_parameters("no-such-programme.toml")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
    """
    programme, problems = load(path)
    found = [*check_parameters(programme), *check_figures(programme)]
    problems += [problem for key, problem in found if not reported(programme, key)]
    problems += _unfit(programme, with_secret=with_secret)
    opener = Opener(programme, problems)
    parameters = open_parameters_of(opener) if programme.document.parameters is None else None
    secret = opener.attempt(("keys",), _secret) if with_secret else None
    raise_problems(str(path), problems)
    assert parameters is not None
    return dataclasses.replace(parameters, secret=secret)


def warnings_about_parameters(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Warnings about files of parameters that others on this computer can read.

    Args:
        path: As for `read_parameters`.
    """
    return parameter_warnings(load(path)[0])


def _unfit(programme: Programme, *, with_secret: bool) -> list[Problem]:
    """Sections that parameters cannot do without, and those that make no sense here."""
    document, keys = programme.document, programme.keys
    problems = []
    if document.parameters is not None:
        what = "the parameters come from a package already"
        problems.append(programme.problem(("parameters",), what, "hand that package on"))
    elif document.perturbation is None and not reported(programme, ("perturbation",)):
        what = "the section [perturbation] is missing"
        problems.append(programme.problem(("perturbation",), what))
    if with_secret and (keys.secret_file is None) == (keys.secret_env is None):
        what = "exactly one of secret_file and secret_env is needed to hand the secret on"
        problems.append(programme.problem(("keys", "secret_file"), what))
    return problems


def _secret(programme: Programme) -> Secret | None:
    from discreet.microdata import Secret

    keys = programme.keys
    if (keys.secret_file is None) == (keys.secret_env is None):
        return None  # reported above
    if keys.secret_env is not None:
        return Secret.from_env(keys.secret_env)
    return Secret.from_file(programme.file(keys.secret_file or ""))
