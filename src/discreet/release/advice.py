"""`advise`: which method protects what is published from a file of records, and how to begin.

In: a file (CONFIDENTIAL) and answers. Out: a method, its price, and commands that run on that file.
The rows of `advice.toml` are the choice; only names and kinds of columns are looked at.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreet.confidential import without_values
from discreet.errors import PublicationError, nearest
from discreet.release.drafted_programmes import Draft, drafted

#: Variables of a first table, of its key variables, and of a table that a method keeps.
_SPANNING, _KEYS = 2, 4


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question on what is published, and its answers."""

    name: str
    text: Mapping[str, str]  # language → question
    answers: Mapping[str, Mapping[str, str]]  # answer → language → explanation


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A method that fits, its price, and the commands of a first result."""

    method: str
    title: Mapping[str, str]  # language → text, as all texts here
    reason: Mapping[str, str]
    price: Mapping[str, str]
    answers: Mapping[str, str]
    steps: tuple[str, ...]
    columns: Mapping[str, str]  # option → columns in the commands, guessed unless named

    def text(self, language: str = "en") -> str:
        """The advice for people."""
        heads = _HEADS[language]
        columns = ", ".join(f"{option} {named}" for option, named in self.columns.items())
        lines = [self.title[language], self.reason[language], self.price[language], columns]
        said = [f"{head}: {line}" for head, line in zip(heads, lines, strict=False)]
        return "\n".join([*said, "", f"{heads[-1]}:", *(f"  {step}" for step in self.steps)])

    def described(self, language: str = "en") -> dict[str, Any]:
        """The advice for programs."""
        texts = {name: getattr(self, name)[language] for name in ("title", "reason", "price")}
        answers = dict(self.answers)
        return {
            "method": self.method,
            **texts,
            "answers": answers,
            "columns": dict(self.columns),
            "steps": list(self.steps),
        }


_ROLES = {"id": "identifier", "value": "value"}
_HEADS = {
    "en": ("Method", "Reason", "Price", "Columns", "Commands"),
    "de": ("Verfahren", "Grund", "Preis", "Spalten", "Befehle"),
}


def open_question(answers: Mapping[str, str]) -> Question | None:
    """The next question; none if the answers name one method.

    >>> open_question({}).name, open_question({"publish": "counts", "readers": "once"}).name
    ('publish', 'additive')
    >>> open_question({"publish": "research"}) is None
    True
    """
    questions = _choices()["questions"]
    for name, answer in answers.items():
        if name not in questions:
            hint = nearest(name, list(questions))
            raise PublicationError(f"unknown question {name!r}", code="advice", hint=hint)
        if answer not in (known := questions[name]["answers"]):
            hint = nearest(answer, list(known))
            message = f"unknown answer {answer!r}"
            raise PublicationError(message, code="advice", where=name, hint=hint)
    asked = {question for when, _ in _matching(answers) for question in when}
    for name, question in questions.items():
        if name in asked and name not in answers:
            return Question(name=name, text=question["text"], answers=question["answers"])
    return None


@without_values
def advise(
    source: str | os.PathLike[str],
    *,
    publish: str,
    readers: str | None = None,
    answers: Mapping[str, str] | None = None,
    by: Sequence[str] = (),
    value: str | None = None,
    id: str | None = None,  # noqa: A002
    **reading: Any,
) -> Advice:
    r"""The method for what is published, with its price and first commands.

    Args:
        source: The file of records. CONFIDENTIAL.
        publish: What is published: counts, sums, records or research.
        readers: How often, and to whom: once, repeatedly, on-demand or anyone.
        answers: Answers to further questions, such as ``{"additive": "yes"}``.
        by: Spanning variables or key variables; otherwise the likeliest columns.
        value: The column to sum; otherwise the first numeric column.
        id: The column that identifies a record or a unit; otherwise the likeliest one.
        reading: How the file is read, as `read_microdata` takes it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "persons.csv"
    >>> rows = [f"{at},{'mw'[at % 2]},{at % 90}" for at in range(200)]
    >>> _ = file.write_text("\n".join(["person,sex,age", *rows]))
    >>> advise(file, publish="counts", readers="repeatedly").title["en"]
    'cell-key method'
    """
    stated = {"publish": publish, "readers": readers, **(answers or {})}
    complete = {name: answer for name, answer in stated.items() if answer is not None}
    if (question := open_question(complete)) is not None:
        raise PublicationError(
            f"the answer to {question.name!r} is missing",
            code="advice",
            hint=f"answers: {', '.join(question.answers)}",
        )
    ((_, method),) = _matching(complete)
    row = _choices()["methods"][method]
    columns = _likely_columns(drafted(source, **reading), by, value, id)
    named = {field: columns[field] for field in row["columns"]}
    options = {"id": "--id", "value": "--value"}
    for field, column in named.items():
        if not column:
            hint = f"name it with {options.get(field, '--by')}"
            message = f"no column serves as {_ROLES.get(field, 'spanning variable')}"
            raise PublicationError(message, code="columns", hint=hint)
    places = {"file": str(source), "stem": Path(source).stem}
    places |= {name: entry["file"] for name, entry in _choices()["files"].items()}
    fields = {name: shlex.quote(text) for name, text in (columns | places).items()}
    # The tables of two variables each that a method keeps.
    keys = columns["keys"].split(",")
    tables = [",".join(keys[at : at + _SPANNING]) for at in range(0, len(keys), _SPANNING)]
    fields["controls"] = " ".join(f"--controls {shlex.quote(table)}" for table in tables)
    fields["read"] = "".join(f" --read {shlex.quote(word)}" for word in _read_words(reading))
    return Advice(
        method=method,
        title=row["title"],
        reason=row["reason"],
        price=row["price"],
        answers=complete,
        columns={options.get(field, "--by"): column for field, column in named.items()},
        steps=(
            *preparations(*row.get("files", ())),
            *(step.format(**fields) for step in row["steps"]),
        ),
    )


def preparations(*names: str, **places: str) -> list[str]:
    """The commands that make the files which are still missing.

    >>> preparations("secret", secret="new.key")
    ['discreet keys secret new.key']
    """
    declared = _choices()["files"]
    return [
        declared[name]["command"].format(**{name: shlex.quote(place)})
        for name in names
        if not Path(place := places.get(name, declared[name]["file"])).exists()
    ]


def _read_words(reading: Mapping[str, Any]) -> Iterator[str]:
    """The words of ``--read`` that say how a file is read.

    >>> list(_read_words({"detect": True, "types": {"income": "number"}, "text": ["a", "b"]}))
    ['auto', 'types.income=number', 'text=a,b']
    """
    for key, value in reading.items():
        if key == "detect":
            yield from ["auto"] if value else []
        elif isinstance(value, Mapping):
            yield from _read_words({f"{key}.{name}": entry for name, entry in value.items()})
        else:
            entries = [value] if isinstance(value, str | int) else value
            yield f"{key}={','.join(map(str, entries))}"


@cache
def _choices() -> dict[str, Any]:
    return tomllib.loads(files("discreet.release").joinpath("advice.toml").read_text("utf-8"))


def _matching(answers: Mapping[str, str]) -> Iterator[tuple[Mapping[str, Sequence[str]], str]]:
    """The sets of answers that are still possible, with their methods."""
    for method, row in _choices()["methods"].items():
        for when in row["when"]:
            if all(answers.get(name, allowed[0]) in allowed for name, allowed in when.items()):
                yield when, method


def _likely_columns(
    draft: Draft, by: Sequence[str], value: str | None, named: str | None
) -> dict[str, str]:
    """Columns by their part in a command: those that the caller names, else the likeliest."""
    for name in (*by, *(column for column in (value, named) if column)):
        if name not in draft.columns:
            hint = f"columns: {', '.join(draft.columns)}"
            raise PublicationError(f"column {name!r} not found", code="columns", hint=hint)
    coded = [name for name, look in draft.columns.items() if look.codes]
    coded.sort(key=lambda name: (name not in draft.by, draft.columns[name].distinct))
    keys = list(by or coded[:_KEYS])
    identifier = named or draft.identifier or ""
    return {
        "by": ",".join(by or draft.by),
        "codes": ",".join(by or coded[:_SPANNING]),
        "keys": ",".join(keys),
        "others": ",".join(name for name in draft.columns if name not in keys),
        "id": identifier,
        "identifiers": ",".join(dict.fromkeys([identifier, *draft.identifiers])),
        "value": value or next(iter(draft.values), ""),
    }
