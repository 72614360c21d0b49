"""Studies: what a protected table looks like beside the truth. CONFIDENTIAL.

In: a table and what a method made of it. Out: for whoever handed the cells in, in both languages:
what is proven, what it costs, why cells are hidden; and the same as plain values for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.files import texts_of

if TYPE_CHECKING:
    from discreet.tables import ProtectedTable, Table

Texts = Mapping[str, str]
#: How a sentence is meant: proven, to be minded, to be known, or a danger.
Manner = Literal["good", "care", "quiet", "problem"]
LANGUAGES = ("en", "de")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class StudyRemark:
    """A sentence of a study. CONFIDENTIAL.

    Args:
        manner: How it is meant.
        text: language → text.
        names: What it is about, one by one.
        hint: language → what to do about it.
    """

    manner: Manner
    text: Texts
    names: Sequence[str] = ()
    hint: Texts | None = None

    def __repr__(self) -> str:
        return "<StudyRemark: confidential>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HiddenCell:
    """A hidden cell. CONFIDENTIAL.

    Args:
        codes: Its code of each variable.
        primary: Whether a rule or a mark makes it sensitive; hidden for others if not.
        reason: language → why it is hidden; empty where it is hidden for others.
        low: The lowest value that anyone finds possible.
        high: The highest.
    """

    codes: tuple[str, ...]
    primary: bool
    reason: Texts
    low: float
    high: float

    def __repr__(self) -> str:
        return "<HiddenCell: confidential>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Study:
    """What became of a table, and what that still tells. CONFIDENTIAL.

    Args:
        table: What may be published.
        truth: The table that it was, if figures are shown beside true ones.
        safe: Whether it is proven that nobody works out what is protected; None if not examined.
        unexamined: Why it was not.
        audit: What an audit says, for programs.
        facts: All else that programs are told.
        remarks: What people are told.
        measures: From a language: what each measure is called, and what it is.
        hidden: Its hidden cells, in the order of the table; None for methods that hide none.
        notes: What is taken to be known.
    """

    table: ProtectedTable
    truth: Table | None
    safe: bool | None
    unexamined: str
    audit: Mapping[str, Any] | None
    facts: Mapping[str, Any]
    remarks: Sequence[StudyRemark]
    measures: Callable[[str], Sequence[tuple[str, str]]]
    hidden: Sequence[HiddenCell] | None
    notes: Sequence[str]

    def described(self) -> dict[str, Any]:
        """Plain values, for JSON. CONFIDENTIAL."""
        return {"table": self.table.name, **self.facts}

    def __repr__(self) -> str:
        return "<Study: confidential>"


def texts(package: str, name: str, **numbers: int) -> Texts:
    """A sentence of a package in each language, with its numbers.

    Args:
        package: The package.
        name: The sentence, under [told].
        numbers: What stands in it.
    """
    from discreet.publication import number_text

    return {
        language: texts_of(package, "told", language)[name].format(
            **{key: number_text(each, 0, language) for key, each in numbers.items()}
        )
        for language in LANGUAGES
    }
