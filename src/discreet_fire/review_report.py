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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from discreet import __version__
from discreet.errors import OutputCheckError
from discreet.files import texts_of
from discreet_fire.finding_words import finding_in, sentence_in
from discreet_fire.queue import (
    OutputPart,
    PartVerdict,
    Queue,
    QueueView,
    StageFinding,
    content_problems,
    view,
)
from discreet_fire.research_session import EVIDENCE
from discreet_fire.texts import read_source

#: The page around its sections.
_FRAME = files("discreet_fire").joinpath("review_report.html")
#: A number that is hidden, as logs and tables show it.
_HIDDEN = re.compile(r"(?<!\S)[.#](?!\S)")
_SAID = re.compile(
    r"\. withheld for confidentiality|\. aus Gründen der Geheimhaltung (?:gesperrt|unterdrückt)"
)
#: Letters of one output, and lines of a program that are shown.
_LETTERS, _LINES = 200_000, 5_000


def review_page(queue: Queue, number: int, *, language: str = "en") -> str:
    """The report of a submission as one HTML page."""
    entry = view(queue, number)
    folder = queue.store(queue.told(number, "token"))
    with queue.reading():
        problems = content_problems(queue, number, list(entry.history))
        files = queue.files(number)
    sheet = _Sheet(found=entry, folder=folder, files=files, problems=problems, language=language)
    return sheet.page()


@dataclass(frozen=True, kw_only=True, repr=False)
class _Sheet:
    """A submission that is laid out (confidential)."""

    found: QueueView
    folder: Path
    files: Sequence[tuple[str, str, str, int]]
    problems: Sequence[str]
    language: str

    @property
    def words(self) -> Mapping[str, str]:
        return texts_of("discreet_fire", "review", self.language)

    def page(self) -> str:
        row = self.found.row
        words = self.words
        title = f"{words['submission']} {row.number}: {row.program}"
        sections = {
            "outputs": self._outputs(),
            "findings": self._findings(),
            "differences": self._differences(),
            **({"support": self._support()} if self._is_session else {"program": self._program()}),
            "files": self._files(),
            "history": self._history(),
        }
        links = "".join(f'<li><a href="#{at}">{words[at]}</a></li>\n' for at in sections)
        body = "".join(
            f'<section aria-labelledby="{at}">\n<h2 id="{at}">{words[at]}</h2>\n{content}'
            "</section>\n"
            for at, content in sections.items()
        )
        frame = Template(_FRAME.read_text(encoding="utf-8"))
        style = frame.template.partition("<style>")[2].partition("</style>")[0]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return frame.substitute(
            language=self.language,
            policy=f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'",
            title=escape(title),
            links=links,
            sections=self._glance() + body,
            version=__version__,
            **{one: words[one] for one in ("skip", "confidential", "officers", "contents")},
        )

    # --- parts ---------------------------------------------------------------------

    def _glance(self) -> str:
        row, standing, words = self.found.row, self.found.row.standing, self.words
        kinds = ("differences", "errors", "review", "refused", "notes")
        names = [words[f"count_{kind}"] for kind in kinds]
        risk = ", ".join(f"{n} {name}" for name, n in zip(names, row.risk, strict=True) if n)
        hidden = sum(len(_HIDDEN.findall(_SAID.sub("", self._text(one)))) for one in standing.parts)
        state = texts_of("discreet_fire", "states", self.language)[standing.state.value]
        facts = [
            (words["researcher"], row.researcher),
            (words["project"], row.project or words["no_project"]),
            (words["state"], words["version"].format(state=state, n=standing.version)),
            (
                words["approvals"],
                words["approvals_of"].format(n=len(standing.approvals), needed=standing.needed),
            ),
            (words["found"], risk or words["nothing"]),
            (words["total"], words["hidden_of"].format(n=len(standing.parts), hidden=hidden)),
            (words["drawn"], words["yes" if standing.drawn else "no"]),
        ]
        rows = "".join(
            f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>\n' for name, text in facts
        )
        return f"<table>\n<caption>{words['glance']}</caption>\n<tbody>\n{rows}</tbody>\n</table>\n"

    def _outputs(self) -> str:
        lines = self._ran()
        outputs = [self._output(one, lines) for one in self.found.row.standing.parts]
        return "".join(outputs) or f"<p>{self.words['no_output']}</p>\n"

    def _output(self, part: OutputPart, lines: Sequence[str]) -> str:
        decision, words = self.found.row.standing.decisions.get(part.number), self.words
        word = words["undecided"]
        if decision is not None:
            verdict = {PartVerdict.accept: "accepted", PartVerdict.hold: "held"}
            word = words[verdict.get(decision.verdict, "exception")]
            word += f", {decision.person}" + (f": {decision.comment}" if decision.comment else "")
        own = [one for one in self.found.findings if self._is_about(one, part)]
        notes = "".join(
            f'<li><span class="{one.severity.value}">{self._severity(one.severity)}</span>: '
            f"{escape(sentence_in(one.what, self.language))}</li>\n"
            for one in own
        )
        return (
            f'<article class="pair" aria-label="{words["output"]} {part.number}">\n<div>\n'
            f'<h3 id="output-{part.number}">{words["output"]} {part.number}: '
            f"{escape(part.title)}</h3>\n"
            f"{self._lines_of(part, lines)}<p>{escape(word)}</p>\n"
            + (f"<ul>\n{notes}</ul>\n" if notes else "")
            + f"</div>\n<div>{self._shown(part)}</div>\n</article>\n"
        )

    def _lines_of(self, part: OutputPart, lines: Sequence[str]) -> str:
        if part.lines is None or self._is_session:
            return ""
        first, behind = part.lines
        wrong = {one.line for one in self.found.findings if self._is_about(one, part)}
        shown = "".join(
            f'<span class="wrong">{text}</span>\n' if at in wrong else f"{text}\n"
            for at in range(first, min(behind, len(lines) + 1))
            for text in [f"{at:>4}  {escape(lines[at - 1])}"]
        )
        return f'<pre tabindex="0" aria-label="{self.words["lines"]}">{shown}</pre>\n'

    def _is_about(self, one: StageFinding, part: OutputPart) -> bool:
        """Whether a finding is about an output: of a session by its number, else by its line."""
        if one.stage == "session":
            return bool(one.line) and part.file.startswith(f"{one.line:03d} ")
        return one.stage == "run" and part.is_at(self.found.called(one), one.line)

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
            alt = self.words["picture"].format(name=part.title)
            return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
        text = self._text(part)
        letters = self.words["more_letters"].format(n=f"{len(text) - _LETTERS:,}")
        more = f"<p>{letters}</p>\n"
        label = f"{self.words['output']} {part.number}"
        return (
            f'<pre tabindex="0" aria-label="{label}">'
            f"{_marked(text[:_LETTERS], self.words['hidden'])}</pre>\n"
            + (more if len(text) > _LETTERS else "")
        )

    def _findings(self) -> str:
        grouped: dict[tuple[str, str, str], list[StageFinding]] = {}
        for one in self.found.findings:
            if one.rule != "difference":
                grouped.setdefault((one.severity.value, one.stage, one.rule), []).append(one)
        causes = []
        for (severity, stage, rule), notes in grouped.items():
            findings = [finding_in(one, self.language) for one in notes]
            hints = "; ".join(dict.fromkeys(one.hint for one in findings if one.hint))
            rows = [[one.file, str(one.line or ""), one.what] for one in findings]
            heads = [self.words[one] for one in ("file", "line", "what")]
            causes.append(
                f'<h3><span class="{severity}">{self._severity(severity)}</span>: {escape(rule)} '
                f"({stage}, {len(notes)})</h3>\n"
                + (f"<p>{escape(hints)}</p>\n" if hints else "")
                + _table("", heads, rows)
            )
        return "".join(causes) or f"<p>{self.words['none_found']}</p>\n"

    def _differences(self) -> str:
        now = list(self.found.conflicts)
        noted = [one.what for one in self.found.findings if one.rule == "difference"]
        before = [one for one in dict.fromkeys(noted) if one not in now]
        lists = [
            f"<h3>{self.words[name]}</h3>\n<ul>\n"
            f"{_items(sentence_in(one, self.language) for one in sentences)}</ul>\n"
            for name, sentences in (("now", now), ("before", before))
            if sentences
        ]
        return "".join(lists) or f"<p>{self.words['no_differences']}</p>\n"

    def _program(self) -> str:
        shown = []
        for role, name, _, _ in self.files:
            if role != "program" or not name.lower().endswith(_PROGRAMS) or "_FiRe." in name:
                continue
            lines = _lines(self.folder / "program" / name)
            text = "\n".join(f"{at:>4}  {line}" for at, line in enumerate(lines[:_LINES], 1))
            rest = self.words["more_lines"].format(n=f"{len(lines) - _LINES:,}")
            more = f"<p>{rest}</p>\n"
            shown.append(
                f"<h3>{escape(name)}</h3>\n"
                f'<pre tabindex="0" aria-label="{escape(name)}">{escape(text)}</pre>\n'
                + (more if len(lines) > _LINES else "")
            )
        return "".join(shown) or f"<p>{self.words['no_program']}</p>\n"

    def _support(self) -> str:
        """The counts that a session gave with its outputs; nobody has checked them."""
        try:
            plain = json.loads((self.folder / "program" / EVIDENCE).read_bytes())
            rows = [
                [str(one[name]) if one[name] is not None else "" for name in _SUPPORT]
                for one in plain["outputs"]
            ]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return f'<p class="error">{self.words["no_counts"]}</p>\n'
        heads = [self.words[f"support_{one}"] for one in _SUPPORT]
        return _table(self.words["counted"], heads, rows)

    def _ran(self) -> list[str]:
        """The lines of the program that ran."""
        name = Path(self.found.row.program)
        for path in (name.with_stem(f"{name.stem}_FiRe"), name):
            for item in sorted((self.folder / "program").rglob(path.name)):
                return _lines(item)
        return []

    def _files(self) -> str:
        words = self.words
        rows = [[role, name, f"{size:,}", digest] for role, name, digest, size in self.files]
        heads = [words[one] for one in ("role", "file", "bytes", "sum")]
        intact = f"<p>{words['intact']}</p>\n"
        if self.problems:
            intact = (
                f'<p class="error">{words["not_intact"]}</p>\n<ul>\n{_items(self.problems)}</ul>\n'
            )
        return intact + _table(words["file_list"], heads, rows, last=' class="sum"')

    def _severity(self, severity: str) -> str:
        return texts_of("discreet_fire", "severities", self.language)[severity]

    def _history(self) -> str:
        kinds = texts_of("discreet_fire", "events", self.language)
        line = texts_of("discreet_fire", "queue", self.language)["event"]
        entries = [
            line.format(at=one.at, kind=kinds[one.kind], person=one.person, reason=one.reason)
            for one in self.found.history
        ]
        return f"<ol>\n{_items(entries)}</ol>\n"


_PROGRAMS = (".do", ".py", ".r", ".rmd", ".qmd", ".ipynb")
#: What is shown of the counts of a session.
_SUPPORT = ("number", "name", "summary", "shown", "hidden", "fewest", "observations")


def _lines(path: Path) -> list[str]:
    try:
        return read_source(path).text.splitlines()
    except OutputCheckError:
        return []


def _marked(text: str, hidden: str) -> str:
    """Text as HTML in which numbers that are hidden or missing can be seen, and heard."""
    pieces: list[str] = []
    at = 0
    for hit in _HIDDEN.finditer(text):
        if _SAID.match(text, hit.start()):
            continue
        pieces.append(escape(text[at : hit.start()]))
        pieces.append(f'<span class="hidden" role="img" aria-label="{hidden}">{hit[0]}</span>')
        at = hit.end()
    return "".join([*pieces, escape(text[at:])])


def _table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], last: str = ""
) -> str:
    """A table; `last` are attributes of the cells of its last column."""
    title = f"<caption>{caption}</caption>\n" if caption else ""
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    ends = [*[""] * (len(heads) - 1), last]
    lines = (
        "".join(f"<td{end}>{escape(one)}</td>" for one, end in zip(row, ends, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f"<table>\n{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _items(entries: Iterable[str]) -> str:
    return "".join(f"<li>{escape(one)}</li>\n" for one in entries)
