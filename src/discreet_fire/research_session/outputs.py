"""`SessionOutput`: what a researcher sees of one output. It holds no hidden value.

In: protected tables, texts and checks of a safe statistic. Out: the same in a notebook, as text
and as a picture, with the verdict and its reasons first. It can be pickled and passed on: what is
hidden is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from discreet_fire.research_session.pictures import Style, picture
from discreet_fire.research_session.session_tables import SessionTable
from discreet_fire.statistics import Check, CheckVerdict, worst

#: What verdicts are called, and how they look.
_WORDS = {
    CheckVerdict.passed: ("pass", "#1b5e20"),
    CheckVerdict.review: ("review", "#7a4b00"),
    CheckVerdict.fail: ("fail", "#8b1a1a"),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionOutput:
    """One output of a session."""

    number: int  # its number, from 1
    name: str  # what the researcher calls it
    call: str  # how it was asked for
    checks: tuple[Check, ...]  # the rules that were held against it
    table: SessionTable | None = None  # its table as far as it is shown; None for a model
    body: str = ""  # the text of what is no table
    coefficients: str = ""  # the table of a model, as CSV
    style: Style | None = None  # how it is drawn; None if it is not
    measure: str | None = None  # which numbers are drawn
    language: str = "en"  # of the line that says that something is hidden
    comment: str = ""  # what the researcher says of it
    exception: str = ""  # why the researcher asks for an exception; empty if not

    @property
    def verdict(self) -> CheckVerdict:
        """The worst that any check found."""
        return worst(self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is no pass, in words."""
        reasons = (
            f"{one.reason}{f' ({one.where})' if one.where else ''}"
            for one in self.checks
            if one.verdict is not CheckVerdict.passed
        )
        return tuple(dict.fromkeys(reasons))

    @property
    def summary(self) -> str:
        """Verdict and reasons on one line."""
        why = "; ".join(self.reasons)
        hidden = 0 if self.table is None else self.table.hidden
        if hidden:
            cells = "1 cell is hidden" if hidden == 1 else f"{hidden} cells are hidden"
            return f"{self.verdict.value}: {cells}: {why}" if why else f"review: {cells}"
        if self.verdict is CheckVerdict.fail and self.table is None:
            return f"fail: withheld: {why}"
        return f"{self.verdict.value}: {why}" if why else self.verdict.value

    @property
    def text(self) -> str:
        """What is shown, as text."""
        return self.body if self.table is None else self.table.text(self.language)

    @property
    def svg(self) -> str:
        """Its picture; empty if it has none."""
        if self.style is None or self.table is None:
            return ""
        return picture(self.table, self.style, self.name, self.measure)

    @property
    def frame(self) -> pl.DataFrame | None:
        """The numbers as a polars frame; hidden ones are null."""
        if self.table is not None:
            return self.table.frame()
        return pl.read_csv(self.coefficients.encode()) if self.coefficients else None

    def to_pandas(self) -> Any:
        """The numbers as a pandas frame, if pandas is installed."""
        frame = self.frame
        return None if frame is None else frame.to_pandas()

    def __str__(self) -> str:
        remarks = [f"comment: {self.comment}"] if self.comment else []
        remarks += [f"exception asked for: {self.exception}"] if self.exception else []
        head = f"[{self.number}] {self.name}: {self.call}"
        return "\n".join([head, self.summary, *remarks, "", self.text])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The output as notebooks show it."""
        word, colour = _WORDS[self.verdict]
        reasons = "".join(f"<li>{escape(one)}</li>" for one in self.reasons)
        remarks = "".join(
            f"<p>{label}: {escape(text)}</p>\n"
            for label, text in (("Comment", self.comment), ("Exception asked for", self.exception))
            if text
        )
        if self.table is None:
            shown = f'<pre style="overflow-x: auto">{escape(self.body)}</pre>\n'
        else:
            shown = self.table.html(self.name)
        return (
            f'<div class="discreet-output" style="border-left: 4px solid {colour}; '
            f'padding-left: 8px">\n<p><b>[{self.number}] {escape(self.name)}</b> '
            f"<code>{escape(self.call)}</code></p>\n"
            f'<p><b style="color: {colour}">{word}</b></p>\n'
            + (f"<ul>{reasons}</ul>\n" if reasons else "")
            + f"{self.svg}{shown}{remarks}</div>\n"
        )


def listed(outputs: Sequence[SessionOutput]) -> str:
    """A line for each output."""
    return "\n".join(f"[{one.number}] {one.name}: {one.summary}" for one in outputs)
