"""Words below withheld numbers, in the languages a centre can choose.

In: a language. Out: legend lines. They say that something is withheld, never by which
parameter.
"""

from __future__ import annotations

__all__ = ["legend", "refused_line"]

_WITHHELD = {
    "en": ". withheld for confidentiality",
    "de": ". aus Gründen der Geheimhaltung unterdrückt",
}
_REFUSED = {
    "en": "*FDZ: command not permitted in remote execution",
    "de": "*FDZ: Befehl in der Datenfernverarbeitung nicht zulässig",
}


def legend(language: str) -> str:
    """The line below an output in which something is withheld.

    >>> legend("de")
    '. aus Gründen der Geheimhaltung unterdrückt'
    """
    return _WITHHELD[language]


def refused_line(language: str) -> str:
    """The line in place of the output of a command that is not permitted.

    >>> refused_line("en")
    '*FDZ: command not permitted in remote execution'
    """
    return _REFUSED[language]
