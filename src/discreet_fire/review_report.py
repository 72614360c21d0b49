"""The report of a submission for an officer: one page that needs nothing but itself. CONFIDENTIAL.

In: a review queue and the number of a submission. Out: HTML with the program and its outputs side
by side, findings by their causes, hidden numbers marked, differences to other tables, checksums,
and what was decided. Nothing runs in it and nothing is loaded; what a researcher wrote is text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from discreet import __version__
from discreet.errors import OutputCheckError
from discreet_fire.queue import OutputPart, PartVerdict, Queue, StageFinding, view
from discreet_fire.queue.contents import content_problems
from discreet_fire.queue.views import QueueView
from discreet_fire.research_session.submission_folder import EVIDENCE
from discreet_fire.texts import read_source

#: A number that is hidden, as logs and tables show it.
_HIDDEN = re.compile(r"(?<!\S)[.#](?!\S)")
_SAID = re.compile(r"\. withheld for confidentiality|\. aus Gründen der Geheimhaltung unterdrückt")
#: Letters of one output, and lines of a program that are shown.
_LETTERS, _LINES = 200_000, 5_000
_STYLE = """
body { font: 16px/1.45 sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
  max-width: 90rem; padding: 1rem; overflow-wrap: anywhere; }
a { color: #0b4a8f; } h1 { font-size: 1.5rem; } h2 { margin-top: 2rem; font-size: 1.25rem; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; }
table { border-collapse: collapse; } th, td { border: 1px solid #767676; padding: .25rem .5rem;
  text-align: left; vertical-align: top; } caption { text-align: left; font-weight: bold; }
pre { overflow-x: auto; background: #f6f6f6; padding: .5rem; margin: 0; font-size: .9rem; }
.pair { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem;
  border-top: 1px solid #767676; padding: .5rem 0; }
@media (max-width: 60rem) { .pair { grid-template-columns: minmax(0, 1fr); } }
.hidden { background: #ffe08a; padding: 0 .2em; } .wrong { background: #ffd9d6; }
.error, .review { font-weight: bold; } .error { color: #8b1a1a; } .review { color: #7a4b00; }
img { max-width: 100%; } td.sum { font-family: monospace; }
@media print { .pair { break-inside: avoid; } }
"""


def review_page(queue: Queue, number: int) -> str:
    """The report of a submission as one HTML page.

    Args:
        queue: The queue.
        number: The submission.
    """
    found = view(queue, number)
    folder = queue.store(queue.told(number, "token"))
    with queue.reading():
        problems = content_problems(queue, number, list(found.history))
        files = queue.files(number)
    sheet = _Sheet(found=found, folder=folder, files=files, problems=problems)
    return sheet.page()


@dataclass(frozen=True, kw_only=True, repr=False)
class _Sheet:
    """A submission that is laid out (confidential)."""

    found: QueueView
    folder: Path
    files: Sequence[tuple[str, str, str, int]]
    problems: Sequence[str]

    def page(self) -> str:
        row = self.found.row
        title = f"Submission {row.number}: {row.program}"
        sections = [
            ("outputs", "Program and outputs", self._outputs()),
            ("findings", "Findings by cause", self._findings()),
            ("differences", "Differences to other tables", self._differences()),
            *(
                [("support", "Counts behind the outputs", self._support())]
                if self._is_session
                else [("program", "Program as it was handed in", self._program())]
            ),
            ("files", "Files and checksums", self._files()),
            ("history", "Decisions", self._history()),
        ]
        links = "".join(f'<li><a href="#{at}">{name}</a></li>\n' for at, name, _ in sections)
        body = "".join(
            f'<section aria-labelledby="{at}">\n<h2 id="{at}">{name}</h2>\n{content}</section>\n'
            for at, name, content in sections
        )
        digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#main">Skip to the content</a>\n'
            f"<header>\n<h1>{escape(title)}</h1>\n"
            "<p><b>Confidential.</b> For officers of the data centre.</p>\n</header>\n"
            f'<nav aria-label="Contents"><ul>\n{links}</ul></nav>\n'
            f'<main id="main">\n{self._glance()}{body}</main>\n'
            f"<footer><p>discreet {__version__}</p></footer>\n</body>\n</html>\n"
        )

    # --- parts ---------------------------------------------------------------------

    def _glance(self) -> str:
        row, standing = self.found.row, self.found.row.standing
        names = ("differences", "errors", "to review", "refused", "notes")
        risk = ", ".join(f"{n} {name}" for name, n in zip(names, row.risk, strict=True) if n)
        hidden = sum(len(_HIDDEN.findall(_SAID.sub("", self._text(one)))) for one in standing.parts)
        facts = [
            ("Researcher", row.researcher),
            ("Project", row.project or "none named"),
            ("State", f"{standing.state.value}, version {standing.version}"),
            ("Approvals", f"{len(standing.approvals)} of {standing.needed}"),
            ("Found", risk or "nothing"),
            ("Outputs", f"{len(standing.parts)}, with {hidden} hidden or missing numbers"),
            ("Drawn for control", "yes" if standing.drawn else "no"),
        ]
        lines = (
            f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>\n' for name, text in facts
        )
        rows = "".join(lines)
        return f"<table>\n<caption>At a glance</caption>\n<tbody>\n{rows}</tbody>\n</table>\n"

    def _outputs(self) -> str:
        parts = self.found.row.standing.parts
        if not parts:
            return "<p>There is no output.</p>\n"
        lines = self._ran()
        return "".join(self._output(one, lines) for one in parts)

    def _output(self, part: OutputPart, lines: Sequence[str]) -> str:
        decision = self.found.row.standing.decisions.get(part.number)
        told = "nothing decided yet"
        if decision is not None:
            words = {PartVerdict.accept: "accepted", PartVerdict.hold: "held back"}
            told = words.get(decision.verdict, "accepted as an exception")
            told += f" by {decision.person}" + (f": {decision.comment}" if decision.comment else "")
        own = [one for one in self.found.findings if self._is_about(one, part)]
        notes = "".join(f"<li>{_told(one)}</li>\n" for one in own)
        return (
            f'<article class="pair" aria-label="Output {part.number}">\n<div>\n'
            f'<h3 id="output-{part.number}">Output {part.number}: {escape(part.title)}</h3>\n'
            f"{self._lines_of(part, lines)}<p>{escape(told)}</p>\n"
            + (f"<ul>\n{notes}</ul>\n" if notes else "")
            + f"</div>\n<div>{self._shown(part)}</div>\n</article>\n"
        )

    def _lines_of(self, part: OutputPart, lines: Sequence[str]) -> str:
        if part.lines is None or self._is_session:
            return ""
        first, behind = part.lines
        wrong = {one.line for one in self.found.findings if one.stage == "run"}
        shown = "".join(
            f'<span class="wrong">{text}</span>\n' if at in wrong else f"{text}\n"
            for at in range(first, min(behind, len(lines) + 1))
            for text in [f"{at:>4}  {escape(lines[at - 1])}"]
        )
        return f'<pre tabindex="0" aria-label="Lines of the program">{shown}</pre>\n'

    def _is_about(self, one: StageFinding, part: OutputPart) -> bool:
        """Whether a finding is about an output: of a session by its number, else by its line."""
        if one.stage == "session":
            return bool(one.line) and part.file.startswith(f"{one.line:03d} ")
        if one.stage != "run" or part.lines is None or not one.line:
            return False
        return part.lines[0] <= one.line < part.lines[1]

    @property
    def _is_session(self) -> bool:
        return any(one.stage == "session" for one in self.found.findings)

    def _text(self, part: OutputPart) -> str:
        if part.file.endswith(".svg"):
            return ""
        try:
            return part.text(self.folder / "outputs")
        except (OSError, OutputCheckError):
            return ""

    def _shown(self, part: OutputPart) -> str:
        path = self.folder / "outputs" / part.file
        if part.file.endswith(".svg") and path.is_file():
            # As an image nothing in it can run, whoever wrote it.
            data = base64.b64encode(path.read_bytes()).decode()
            alt = f"Picture of {part.title}; its numbers stand in the output before"
            return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
        text = self._text(part)
        more = f"<p>{len(text) - _LETTERS:,} letters more in the file</p>\n"
        label = f"Output {part.number}"
        return f'<pre tabindex="0" aria-label="{label}">{_marked(text[:_LETTERS])}</pre>\n' + (
            more if len(text) > _LETTERS else ""
        )

    def _findings(self) -> str:
        grouped: dict[tuple[str, str, str], list[StageFinding]] = {}
        for one in self.found.findings:
            if one.rule != "difference":
                grouped.setdefault((one.severity.value, one.stage, one.rule), []).append(one)
        if not grouped:
            return "<p>Nothing was found.</p>\n"
        return "".join(
            self._cause(severity, stage, rule, found)
            for (severity, stage, rule), found in grouped.items()
        )

    def _cause(self, severity: str, stage: str, rule: str, found: list[StageFinding]) -> str:
        hints = "; ".join(dict.fromkeys(one.hint for one in found if one.hint))
        rows = "".join(
            f"<tr><td>{escape(one.file)}</td><td>{one.line or ''}</td>"
            f"<td>{escape(one.what)}</td></tr>\n"
            for one in found
        )
        heads = "".join(f'<th scope="col">{one}</th>' for one in ("file", "line", "what"))
        return (
            f'<h3><span class="{severity}">{severity}</span>: {escape(rule)} ({stage}, '
            f"{len(found)})</h3>\n"
            + (f"<p>{escape(hints)}</p>\n" if hints else "")
            + f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
        )

    def _differences(self) -> str:
        now = list(self.found.conflicts)
        noted = [one.what for one in self.found.findings if one.rule == "difference"]
        before = [one for one in dict.fromkeys(noted) if one not in now]
        if not now and not before:
            return "<p>No table is about nearly the same units as another one.</p>\n"
        lists = []
        for name, told in (("To what is released now", now), ("When it was handed in", before)):
            if told:
                lists.append(f"<h3>{name}</h3>\n<ul>\n{_items(told)}</ul>\n")
        return "".join(lists)

    def _program(self) -> str:
        shown = []
        for role, name, _, _ in self.files:
            if role != "program" or not name.lower().endswith(_PROGRAMS) or "_FiRe." in name:
                continue
            lines = _lines(self.folder / "program" / name)
            text = "\n".join(f"{at:>4}  {line}" for at, line in enumerate(lines[:_LINES], 1))
            more = f"<p>{len(lines) - _LINES:,} lines more in the file</p>\n"
            shown.append(
                f"<h3>{escape(name)}</h3>\n"
                f'<pre tabindex="0" aria-label="{escape(name)}">{escape(text)}</pre>\n'
                + (more if len(lines) > _LINES else "")
            )
        return "".join(shown) or "<p>There is no program that can be shown.</p>\n"

    def _support(self) -> str:
        """The counts that a session gave with its outputs; nobody has checked them."""
        try:
            plain = json.loads((self.folder / "program" / EVIDENCE).read_bytes())
            rows = [
                [str(one[name]) if one[name] is not None else "" for name in _SUPPORT]
                for one in plain["outputs"]
            ]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return '<p class="error">The counts that were handed in cannot be read.</p>\n'
        head = "".join(f'<th scope="col">{one}</th>' for one in _SUPPORT.values())
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>\n" for row in rows
        )
        return (
            "<table>\n<caption>As the session of the researcher counted them</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        )

    def _ran(self) -> list[str]:
        """The lines of the program that ran."""
        name = Path(self.found.row.program)
        for path in (name.with_stem(f"{name.stem}_FiRe"), name):
            for found in sorted((self.folder / "program").rglob(path.name)):
                return _lines(found)
        return []

    def _files(self) -> str:
        rows = "".join(
            f"<tr><td>{role}</td><td>{escape(name)}</td><td>{size:,}</td>"
            f'<td class="sum">{digest}</td></tr>\n'
            for role, name, digest, size in self.files
        )
        heads = ("role", "file", "bytes", "SHA-256")
        head = "".join(f'<th scope="col">{one}</th>' for one in heads)
        told = "<p>All files are what they were when they were handed in.</p>\n"
        if self.problems:
            told = f'<p class="error">Not as handed in:</p>\n<ul>\n{_items(self.problems)}</ul>\n'
        return (
            f"{told}<table>\n<caption>Files</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{rows}</tbody>\n</table>\n"
        )

    def _history(self) -> str:
        told = [f"{one.at} {one.kind} by {one.person}: {one.reason}" for one in self.found.history]
        return f"<ol>\n{_items(told)}</ol>\n"


_PROGRAMS = (".do", ".py", ".r", ".rmd", ".qmd", ".ipynb")
#: What is shown of the counts of a session.
_SUPPORT = {
    "number": "output",
    "name": "name",
    "summary": "verdict",
    "shown": "cells shown",
    "hidden": "cells hidden",
    "fewest": "cases behind the smallest shown count",
    "observations": "records",
}


def _lines(path: Path) -> list[str]:
    try:
        return read_source(path).text.splitlines()
    except OutputCheckError:
        return []


def _marked(text: str) -> str:
    """Text as HTML in which numbers that are hidden or missing can be seen, and heard."""
    found: list[str] = []
    at = 0
    for hit in _HIDDEN.finditer(text):
        if _SAID.match(text, hit.start()):
            continue
        found.append(escape(text[at : hit.start()]))
        found.append(f'<span class="hidden" role="img" aria-label="hidden">{hit[0]}</span>')
        at = hit.end()
    return "".join([*found, escape(text[at:])])


def _told(one: StageFinding) -> str:
    return f'<span class="{one.severity.value}">{one.severity.value}</span>: {escape(one.what)}'


def _items(told: Iterable[str]) -> str:
    return "".join(f"<li>{escape(one)}</li>\n" for one in told)
