"""Which package a release is made with, and whether it may follow the one used last.

In: statistic, version and signer of two packages, as everyone may know them, and what a
programme says of the package it wants. Out: nothing, or an error; and a line for readers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import NoReturn

from discreet.errors import PackageError
from discreet.files import texts_of
from discreet.release.programme.schema import ParametersEntry

#: A version whose order is known: a word or none, then whole numbers.
_NUMBERED = re.compile(r"([^0-9]*)([0-9]+(?:[._/-][0-9]+)*)")


def is_older(version: str, last: str) -> bool:
    """Whether a version is older than another, or nobody can tell that it is not.

    >>> is_older("3", "10"), is_older("2026-2", "2026.1"), is_older("v2.0", "v2")
    (True, False, False)
    >>> is_older("final", "3")
    True
    """
    if version == last:
        return False
    found, before = _NUMBERED.fullmatch(version), _NUMBERED.fullmatch(last)
    if found is None or before is None or found[1] != before[1]:
        return True
    digits = [re.findall(r"[0-9]+", item[2]) for item in (found, before)]
    for one, other in zip_longest(*digits, fillvalue="0"):
        if int(one) != int(other):
            return int(one) < int(other)
    return False


def check_succession(
    package: Mapping[str, str] | None, last: Mapping[str, str] | None, entry: ParametersEntry | None
) -> None:
    """Raise unless a package may follow the one that a release was made with last.

    >>> last = {"statistic": "census", "version": "3", "signer": ""}
    >>> check_succession({**last, "version": "2"}, last, ParametersEntry())
    Traceback (most recent call last):
        ...
    discreet.errors.PackageError: [package-older] ...
    """
    if package is None or last is None or entry is None:
        return
    if package["statistic"] != last["statistic"] and entry.statistic is None:
        message = (
            f"the package belongs to the statistic {package['statistic']!r}, the previous one to "
            f"{last['statistic']!r}"
        )
        hint = f'to accept it, add statistic = "{package["statistic"]}" to [parameters]'
        _refuse("package-statistic", message, hint)
    if package["signer"] != last["signer"] and last["signer"]:
        if not package["signer"]:
            by = last["signer"]
            message = f"the package is not signed, the previous one was signed by {by}"
            _refuse("package-unsigned", message, "use a signed package, or another folder")
        if entry.signer is None and entry.verify_key is None:
            now, before = package["signer"], last["signer"]
            message = f"{now} signed the package, {before} the previous one"
            hint = "state the expected signer: signer or verify_key"
            _refuse("package-signer", message, hint)
    if package["statistic"] != last["statistic"] or entry.allow_older:
        return
    if is_older(package["version"], last["version"]):
        message = (
            f"the release used version {last['version']!r} of the package; "
            f"{package['version']!r} is older, or not known to be newer"
        )
        hint = "use the newer package, or add allow_older = true to [parameters]"
        _refuse("package-older", message, hint)


def _refuse(code: str, what: str, hint: str) -> NoReturn:
    raise PackageError(what, code=code, where="parameters.package", hint=hint)


def package_line(package: Mapping[str, str] | None, language: str) -> list[tuple[str, str]]:
    """What pages say of the package: a name and a text; nothing if there is none.

    >>> package_line({"statistic": "census", "version": "3", "signer": ""}, "en")
    [('Package of parameters', 'census, version 3, not signed')]
    """
    if package is None:
        return []
    text = texts_of("discreet.release.packages", "package", language)
    said = text["signed" if package["signer"] else "unsigned"]
    return [(text["name"], said.format(**package))]
