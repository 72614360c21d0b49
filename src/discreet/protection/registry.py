"""The methods of protection: a row for each, in the order of reports.

In: the name of a method. Out: the method, as releases ask it. Modules of methods are loaded when
any method is first asked for.
"""

from __future__ import annotations

from functools import cache

from discreet.errors import DiscreetError
from discreet.protection.protocol import OWN_REPORTS, Protection

#: The method of tables that name none.
DEFAULT = "noise"


@cache
def _methods() -> dict[str, Protection]:
    """The rows, and methods that were registered since."""
    from discreet.protection.noise import InvariantProtection, NoiseProtection, UnitNoiseProtection
    from discreet.protection.rounding import RoundingProtection
    from discreet.protection.sample import SampleProtection
    from discreet.protection.suppression import SuppressionProtection

    rows = (
        NoiseProtection(),
        SuppressionProtection(),
        RoundingProtection(),
        UnitNoiseProtection(),
        InvariantProtection(),
        SampleProtection(),
    )
    return {method.name: method for method in rows}


def protections() -> tuple[Protection, ...]:
    """All methods."""
    return tuple(_methods().values())


def protection(name: str) -> Protection:
    """The method of a name.

    Raises:
        DiscreetError: If there is none; lists those there are.
    """
    if name not in _methods():
        message = f"unknown method of protection {name!r}"
        hint = f"known: {', '.join(_methods())}"
        raise DiscreetError(message, code="protection", where="protect", hint=hint)
    return _methods()[name]


def register(method: Protection) -> None:
    """Make another method known to releases.

    Raises:
        DiscreetError: If its name or a report is taken.
    """
    own = {file.partition(".")[0] for file in method.reports}
    taken = {file.partition(".")[0] for other in protections() for file in other.reports}
    if own & OWN_REPORTS:
        message = f"a report cannot be called {', '.join(sorted(own & OWN_REPORTS))}"
        raise DiscreetError(message, code="protection", where=method.name)
    if method.name in _methods() or taken & own:
        message = "the method or its report exists already"
        raise DiscreetError(message, code="protection", where=method.name)
    _methods()[method.name] = method


def withdraw(name: str) -> None:
    """Make a method unknown again."""
    del _methods()[name]


def clash(first: str, second: str) -> tuple[str, ...]:
    """Why two methods must not publish figures of the same records and values.

    >>> clash("one", "another")
    ('two methods on the same values disclose more together',)
    """
    pair = {first: second, second: first}
    reasons = [
        method.beside[pair[method.name]]
        for method in protections()
        if method.name in pair and pair[method.name] in method.beside
    ]
    return tuple(reasons) or ("two methods on the same values disclose more together",)
