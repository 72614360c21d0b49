"""The command ``advise``: a method for what is published, its price, and first commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from discreet.cli.program import SINGLE, command, names, pairs, show
from discreet.cli.records import stated

if TYPE_CHECKING:
    from discreet.release import Question


@command(SINGLE, "advise")
def advise(
    file: Path,
    publish: Literal["counts", "sums", "records", "research"] | None = None,
    readers: Literal["once", "repeatedly", "on-demand", "anyone"] | None = None,
    answer: list[str] | None = None,
    by: list[str] | None = None,
    value: str | None = None,
    id_: str | None = None,
    read: list[str] | None = None,
    language: Literal["en", "de"] = "en",
    as_json: bool = False,
) -> None:
    """Recommend a method for a file of records, with its price and the first commands."""
    from discreet.release import advise as advised
    from discreet.release import open_question

    stated_answers = {"publish": publish, "readers": readers, **pairs(answer, "KEY=ANSWER")}
    answers = {name: text for name, text in stated_answers.items() if text is not None}
    while (question := open_question(answers)) is not None:
        if as_json or not sys.stdin.isatty():
            known = ", ".join(question.answers)
            own = question.name in ("publish", "readers")
            option = f"--{question.name}" if own else f"--answer {question.name}=ANSWER"
            raise typer.BadParameter(f"add {option}: {known}")
        answers[question.name] = _prompted(question, language)
    usual = ["auto"] if file.suffix.lower() in (".csv", ".tsv", ".txt") else []
    advice = advised(
        file,
        publish=answers.pop("publish"),
        answers=answers,
        by=names(by or []),
        value=value,
        id=id_,
        **stated(usual if read is None else read),
    )
    show(advice.text(language), advice.described(language), as_json=as_json)


def _prompted(question: Question, language: str) -> str:
    """The answer of the user at the terminal."""
    typer.echo(question.text[language])
    for name, texts in question.answers.items():
        typer.echo(f"  {name}: {texts[language]}")
    while (text := typer.prompt(">", prompt_suffix=" ").strip()) not in question.answers:
        typer.echo(", ".join(question.answers))
    return str(text)
