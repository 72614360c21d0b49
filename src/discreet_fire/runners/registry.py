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

from pydantic import ValidationError

from discreet.errors import OutputCheckError
from discreet.settings import Settings, setting_problems
from discreet_fire.runners.protocol import Runner
from discreet_fire.runners.script_run import CentreEngine, PythonRunner, RRunner
from discreet_fire.runners.stata_batch import StataBatch, StataEngine

#: The environment variable that names the file.
VARIABLE = "DISCREET_RUNNERS"
_RUNNERS: dict[str, Any] = {"python": PythonRunner, "r": RRunner, "stata": StataBatch}


class _Engines(Settings):
    """The file."""

    python: CentreEngine | None = None
    r: CentreEngine | None = None
    stata: StataEngine | None = None


def configured() -> tuple[Runner, ...]:
    """The runners of the file that the environment names; none if it names none."""
    named = os.environ.get(VARIABLE)
    if not named:
        return ()
    path = Path(named)
    try:
        engines = _Engines.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        message = f"the settings of runners cannot be read ({error.strerror})"
        raise OutputCheckError(message, code="runners", where=str(path)) from None
    except ValidationError as error:
        problems = setting_problems(error, lambda keys: f"{path.name}: {'.'.join(map(str, keys))}")
        many = f"{len(problems)} settings of runners are wrong"
        raise OutputCheckError.of(problems, many, code="runners") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"this is not a TOML file: {error}"
        raise OutputCheckError(message, code="runners", where=str(path)) from None
    return tuple(_RUNNERS[name](engine) for name, engine in engines if engine is not None)


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
