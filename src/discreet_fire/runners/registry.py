"""The runners that there are, by the suffixes of their programs.

In: the name of a program, the centre's settings. Out: the `Runner` that takes it. Nothing
confidential.
"""

from __future__ import annotations

from pathlib import Path

from discreet_fire.runners.protocol import Runner

_KNOWN: dict[str, Runner] = {}


def register(runner: Runner) -> None:
    """Add a runner; each suffix has one."""
    taken = {suffix for one in runners() for suffix in one.suffixes}
    if runner.name in _KNOWN or not taken.isdisjoint(runner.suffixes):
        raise ValueError(f"there is a runner for the name or a suffix of {runner.name}")
    _KNOWN[runner.name] = runner


def runners() -> tuple[Runner, ...]:
    """All runners: the builtin one first, unless the centre has another one for its programs.

    >>> [(one.name, sorted(one.suffixes)) for one in runners()][0]
    ('builtin', ['.do'])
    """
    from discreet_fire.runners.builtin.runner import BUILTIN
    from discreet_fire.runners.settings import configured

    own = configured()
    taken = {suffix for one in own for suffix in one.suffixes}
    first = () if taken & BUILTIN.suffixes else (BUILTIN,)
    rest = tuple(one for one in _KNOWN.values() if taken.isdisjoint(one.suffixes))
    return (*first, *rest, *own)


def runner_for(program: Path) -> Runner | None:
    """The runner of a program, by its name alone; None if there is none for such names."""
    suffix = program.suffix.lower()
    return next((one for one in runners() if suffix in one.suffixes), None)
