"""The runners that there are, by the suffixes of their programs.

In: the name of a program; the TOML file of the server that `DISCREET_RUNNERS` names, which says
which programs of the centre run what. Out: the `Runner` that takes it. Without the file there is
the builtin one alone. Nothing confidential.

    [python]
    executable = "/opt/discreet/bin/python"
    seconds = 3600

    [r]
    executable = "/usr/bin/Rscript"
    read = ["/usr/local/lib/R"]

    [stata]
    executable = "/usr/local/stata18/stata-mp"
    ado = "/opt/discreet/stata"
    read = ["/usr/local/stata18"]
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError, Problem
from discreet_fire.runners.closed_process import ProcessLimits
from discreet_fire.runners.protocol import Runner
from discreet_fire.runners.script_run import PythonRunner, RRunner
from discreet_fire.runners.stata_batch import StataBatch

#: The environment variable that names the file.
VARIABLE = "DISCREET_RUNNERS"
_LIMITS = {
    "seconds": (0.01, 10**7), "memory_mb": (100, 10**7), "output_mb": (1, 10**5),
    "files_mb": (1, 10**7), "processes": (1, 10**6), "processors": (0.01, 10**4),
}  # fmt: skip

_RUNNERS: dict[str, Any] = {"python": PythonRunner, "r": RRunner, "stata": StataBatch}
#: Settings that are places which must be there.
_PLACES = {"python": ["executable"], "r": ["executable"], "stata": ["executable", "ado"]}


def configured() -> tuple[Runner, ...]:
    """The runners of the file that the environment names; none if it names none."""
    named = os.environ.get(VARIABLE)
    if not named:
        return ()
    path = Path(named)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"the settings of runners cannot be read ({error.strerror})"
        raise OutputCheckError(message, code="runners", where=str(path)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"this is not a TOML file: {error}"
        raise OutputCheckError(message, code="runners", where=str(path)) from None
    problems = [problem for name, table in document.items() for problem in _problems(name, table)]
    if problems:
        raise OutputCheckError.of(
            [Problem(one.what, f"{path.name}: {one.where}", one.hint) for one in problems],
            f"{len(problems)} settings of runners are wrong",
            code="runners",
        )
    return tuple(
        _RUNNERS[name](
            **{one: Path(table[one]) for one in _PLACES[name]},
            limits=ProcessLimits(
                **{one: table[one] for one in _LIMITS if one in table},
                control_groups=Path(table["control_groups"]) if "control_groups" in table else None,
            ),
            read=tuple(Path(one) for one in table.get("read", [])),
        )
        for name, table in document.items()
    )


def _problems(name: str, table: object) -> list[Problem]:
    """What is wrong with the settings of one runner."""
    if name not in _RUNNERS or not isinstance(table, dict):
        return [Problem("unknown runner", name, f"runners: {', '.join(_RUNNERS)}")]
    files = _PLACES[name]
    known = (*files, "read", "closed", "control_groups", *_LIMITS)
    hint = f"settings: {', '.join(known)}"
    problems = [
        Problem("unknown setting", f"{name}.{one}", hint) for one in table if one not in known
    ]
    for one in (*files, *({"control_groups"} & table.keys())):
        place = Path(str(table.get(one, "")))
        if not isinstance(table.get(one), str) or not place.is_absolute() or not place.exists():
            message = "is the whole path of something that is there"
            problems.append(Problem(message, f"{name}.{one}"))
    for one, (low, high) in _LIMITS.items():
        value = table.get(one, low)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            problems.append(Problem(f"is a number from {low} to {high}", f"{name}.{one}"))
    read = table.get("read", [])
    if not isinstance(read, list) or not all(
        isinstance(one, str) and Path(one).is_absolute() for one in read
    ):
        problems.append(Problem("is a list of whole paths", f"{name}.read"))
    if table.get("closed", True) is not True:  # a setting of earlier versions
        message, hint = "programs run closed off, or not at all", "leave this setting out"
        problems.append(Problem(message, f"{name}.closed", hint))
    return problems


def runners() -> tuple[Runner, ...]:
    """All runners: the builtin one first, unless the centre has another one for its programs.

    >>> [(one.name, sorted(one.suffixes)) for one in runners()][0]
    ('builtin', ['.do'])
    """
    from discreet_fire.runners.builtin.runner import BUILTIN

    own = configured()
    taken = {suffix for one in own for suffix in one.suffixes}
    first = () if taken & BUILTIN.suffixes else (BUILTIN,)
    return (*first, *own)


def runner_for(program: Path) -> Runner | None:
    """The runner of a program, by its name alone; None if there is none for such names."""
    suffix = program.suffix.lower()
    return next((one for one in runners() if suffix in one.suffixes), None)
