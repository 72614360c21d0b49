"""Programs rewritten, and logs cleaned, under a catalogue of which something was taken.

Each catalogue gets a process of its own, since modules look up what they need as they are
imported; the processes fork from one that has imported what all of them need.
"""

from __future__ import annotations

import multiprocessing
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

#: Nothing of discreet_fire: it is imported anew in each process.
_NEEDED = (
    "difflib", "fnmatch", "hashlib", "importlib.resources", "inspect", "json", "shutil",
    "tempfile", "tomllib", "typing", "discreet.errors", "discreet.files",
)  # fmt: skip


class Ablation(NamedTuple):
    """A place in a document of the catalogue, and what stands there; None if it is taken out."""

    file: str
    place: tuple[str | int, ...]
    value: Any

    @property
    def title(self) -> str:
        """What was done."""
        return f"{self.file} {'.'.join(map(str, self.place))} = {self.value!r}"[:200]

    def done(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document, changed."""
        *way, last = self.place
        at: Any = document
        for step in way:
            at = at[step]
        if self.value is None:
            del at[last]
        else:
            at[last] = self.value
        return document


class Told(NamedTuple):
    """How strictly each line of a program is treated, and what is left of a log."""

    strict: dict[int, float]
    log: str


def document(name: str) -> dict[str, Any]:
    """One document of the catalogue."""
    return tomllib.loads(_text(name))


def _text(name: str) -> str:
    return files("discreet_fire").joinpath("catalogue", name).read_text("utf-8")


def told(programs: Sequence[str], logs: Sequence[str] = ()) -> list[Told] | str:
    """What becomes of programs and logs; a text is the refusal to start at all."""
    from discreet_fire.catalogue.policy import Policy
    from discreet_fire.logs import clean_log
    from discreet_fire.rewriting.do_files import rewrite

    try:
        Policy.default()
    except ValueError as error:
        return str(error)
    found = []
    for text in programs:
        done = rewrite(text)
        strict: dict[int, float] = {}
        for finding in done.findings:
            strict[finding.line] = max(strict.get(finding.line, 0), finding.severity.rank)
        before = text.splitlines()
        for at, line in enumerate(done.text.splitlines(), 1):
            changed = at > len(before) or line != before[at - 1]
            rank = 4 if "FDZ:" in line else 0.5 if changed else 0
            strict[at] = max(strict.get(at, 0), rank)
        found.append(Told(strict, ""))
    return found + [Told({}, clean_log(text).text) for text in logs]


def opened(before: Told, after: Told) -> list[str]:
    """What is treated less strictly than before, or shown where it was not."""
    milder = [
        f"line {at}: {rank}, {after.strict.get(at, 0)}"
        for at, rank in before.strict.items()
        if after.strict.get(at, 0) < rank
    ]
    shown = set(before.log.splitlines())
    return milder + [
        line
        for line in after.log.splitlines()
        if line not in shown and any(sign.isdigit() for sign in line)
    ]


def _answer(job: tuple[Ablation | None, Sequence[str], Sequence[str]]) -> list[Told] | str:
    ablation, programs, logs = job
    if ablation is not None:
        source, read = _text(ablation.file), tomllib.loads
        changed = ablation.done(tomllib.loads(source))
        tomllib.loads = lambda text, **options: (  # type: ignore[assignment]
            changed if text == source else read(text, **options)
        )
        for name in [one for one in sys.modules if one.startswith("discreet_fire")]:
            del sys.modules[name]
    try:
        return told(programs, logs)
    except Exception as error:  # an import that fails is a refusal
        return repr(error)


def each_told(
    ablations: Sequence[Ablation | None], programs: Sequence[str], logs: Sequence[str]
) -> Iterator[list[Told] | str]:
    """The same under each of several catalogues."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_NEEDED))
    with context.Pool(1, maxtasksperchild=1) as pool:
        yield from pool.imap(_answer, [(one, programs, logs) for one in ablations])
