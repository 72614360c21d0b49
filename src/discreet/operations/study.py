"""Studies: what a protected table looks like beside the truth. CONFIDENTIAL.

In: a table and what a method made of it. Out: for whoever handed the cells in, in both languages:
what is proven, what it costs, why cells are hidden; and the same as plain values for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from discreet.confidential import Confidential, without_values
from discreet.files import texts_of

if TYPE_CHECKING:
    from discreet.disclosure import DisclosureVerdict
    from discreet.tables import ProtectedTable, Table

Texts = Mapping[str, str]
#: How a sentence is meant: proven, to be minded, to be known, or a danger.
Manner = Literal["good", "care", "quiet", "problem"]
LANGUAGES = ("en", "de")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class StudyRemark(Confidential):
    """A sentence of a study. CONFIDENTIAL."""

    manner: Manner  # how it is meant
    text: Texts  # language → text
    names: Sequence[str] = ()  # what it is about, one by one
    hint: Texts | None = None  # language → what to do about it


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HiddenCell(Confidential):
    """A hidden cell. CONFIDENTIAL."""

    codes: tuple[str, ...]  # its code of each variable
    primary: bool  # whether a rule or a mark makes it sensitive; hidden for others if not
    reason: Texts  # language → why it is hidden; empty where it is hidden for others
    low: float  # the lowest value that anyone finds possible
    high: float  # the highest


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Study(Confidential):
    """A protected table beside the truth, with its disclosure risk. CONFIDENTIAL."""

    table: ProtectedTable  # what may be published
    truth: Table | None = None  # what it was, if figures are shown beside true ones
    #: On what is protected; None for noise, which hides nothing
    verdict: DisclosureVerdict | None = None
    audit: Mapping[str, Any] | None = None  # what an audit says, for programs
    facts: Mapping[str, Any]  # all else that programs are told
    remarks: Sequence[StudyRemark]  # what people are told
    #: From a language: what each measure is called, and what it is
    measures: Callable[[str], Sequence[tuple[str, str]]]
    #: Its hidden cells, in the order of the table; None for methods that hide none
    hidden: Sequence[HiddenCell] | None = None
    notes: Sequence[str] = ()  # what is taken to be known

    def described(self) -> dict[str, Any]:
        """Plain values, for JSON. CONFIDENTIAL."""
        return {"table": self.table.name, **self.facts}


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodReport:
    """Report of a command on a protected table; nothing in it is confidential."""

    text: str = ""  # one sentence or more
    facts: Mapping[str, Any] = field(default_factory=dict)  # for programs
    remarks: Sequence[StudyRemark] = ()


def compared_study(
    truth: Table,
    safe: ProtectedTable,
    *,
    facts: Mapping[str, Any] | None = None,
    remarks: Sequence[StudyRemark] = (),
    leave_out: Collection[str] = (),
) -> Study:
    """A study of figures that were changed: how far they are from the true ones. CONFIDENTIAL."""
    from discreet.assessment import TableComparison

    compared = TableComparison(truth, safe)
    figure = compared.figures[0]
    measures = {name: float(number) for name, number in compared.measures().items()}
    return Study(
        table=safe,
        truth=truth,
        facts={"measures": measures, **(facts or {})},
        remarks=remarks,
        measures=lambda language: compared.told(figure, language, leave_out),
    )


def compared_with_truth(
    run: Callable[[Any, Any, Any], ProtectedTable],
) -> Callable[[Any, Any, Any], Study]:
    """The study of a method that says no more than how far figures moved."""

    @without_values
    def studied(source: Any, settings: Any, secret: Any) -> Study:
        return compared_study(source.table, run(source, settings, secret))

    return studied


def texts(package: str, name: str, **numbers: float) -> Texts:
    """A sentence of a package in each language, with its numbers."""
    from discreet.publication import number_text

    return {
        language: texts_of(package, "told", language)[name].format(
            **{
                key: number_text(number, 0 if number == round(number) else 1, language)
                for key, number in numbers.items()
            }
        )
        for language in LANGUAGES
    }


def gap_remarks(verdict: DisclosureVerdict) -> list[StudyRemark]:
    """Gaps that were not examined or were accepted, as remarks."""
    lines = zip(verdict.lines("en"), verdict.lines("de"), strict=True)
    return [StudyRemark(manner="care", text={"en": en, "de": de}) for en, de in lines]
