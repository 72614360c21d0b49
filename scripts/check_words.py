"""Hold texts to plain words: ``check_words.py [--measure]``.

In: the pages of documentation, the texts of the program (messages, hints, helps, ``words.toml``)
and ``words.toml`` beside this file: patterns, ceilings and exceptions with reasons. Out: one line
per text that matches a pattern, and exit code 1 if a kind of text has more than its ceiling.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RULES = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

LONG_SENTENCE = 25
SHOWN = 40
_ENDS = re.compile(r"(?<=[.!?:])\s+(?=[A-ZÄÖÜ\"(])")
_MARKUP = re.compile(r"`[^`]*`|<[^>]*>|\]\([^)]*\)|https?://\S+|\{[^}]*\}|\[\[?[a-z_.]+\]?\]")
_WORD = re.compile(r"[A-Za-zÄÖÜäöüß]{2,}")
_SPOKEN = {"en": "en", "de": "de", "german": "de", "said": "de", "reason": "en"}


class Text(NamedTuple):
    """A text for people, and its place."""

    kind: str  # docs or src, with the language: docs-en, docs-de, src-en, src-de
    path: str
    line: int
    text: str


def page_texts(path: Path) -> Iterator[Text]:
    """The paragraphs of a page, without code."""
    language = "de" if path.stem.endswith("-de") or path.parent.name == "de" else "en"
    place, paragraph, start, fenced = str(path.relative_to(ROOT)), "", 1, False
    for number, line in enumerate([*path.read_text("utf-8").splitlines(), ""], 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced, line = not fenced, ""
        breaks = not line.strip() or line.lstrip().startswith(("#", "|", "- ", "* ", "!!!", ":::"))
        if breaks and paragraph:
            yield Text(f"docs-{language}", place, start, paragraph)
            paragraph = ""
        if not fenced and line.strip() and not line.startswith("    "):
            start = start if paragraph else number
            paragraph = f"{paragraph} {line.strip().lstrip('#-*| ')}".strip()


def program_texts(path: Path) -> Iterator[Text]:
    """The texts of a module for people: its strings of several words, and helps of commands."""
    place, tree = str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(body[0].value)
            if isinstance(node, ast.FunctionDef) and any(
                "typer" in ast.unparse(part) for part in node.args.defaults
            ):
                for line in (ast.get_docstring(node) or "").splitlines()[:1]:
                    yield Text("src-en", place, node.lineno, line)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            text = "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text.strip() and len(_WORD.findall(text)) > 1 and not text.startswith("<"):
            german = re.search(r"[äöüß]|\b(?:der|die|das|und|nicht|eine?r?)\b", text)
            yield Text("src-de" if german else "src-en", place, node.lineno, text)


def stored_texts(path: Path, language: str | None = None) -> Iterator[Text]:
    """The texts of a TOML file: all that stand under a language or beside their translation.

    Keys such as ``en`` and ``hint_de`` name the language of what stands below them. A table
    ``german`` or ``said`` has English texts as keys and the German ones as values.
    """
    lines = path.read_text("utf-8").splitlines()

    def texts(entry: Any, language: str | None) -> Iterator[tuple[str, str]]:
        if isinstance(entry, list):
            for part in entry:
                yield from texts(part, language)
        for key, value in entry.items() if isinstance(entry, dict) else ():
            spoken = _SPOKEN.get(key.rpartition("_")[2], language)
            if isinstance(value, str) and spoken:
                yield spoken, value
            if key in ("german", "said") and isinstance(value, dict):
                yield from (("en", english) for english in value)
            yield from texts(value, spoken)

    for spoken, text in texts(tomllib.loads("\n".join(lines)), language):
        start = text[:30].replace('"', '\\"').partition("\n")[0]
        number = next((at for at, line in enumerate(lines, 1) if start in line), 1)
        yield Text(f"src-{spoken}", str(path.relative_to(ROOT)), number, text)


def all_texts() -> Iterator[Text]:
    """Every text of pages and programs."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield from page_texts(path)
    yield from page_texts(ROOT / "README.md")
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from program_texts(path)
    for path in sorted((ROOT / "src").rglob("*.toml")):
        yield from stored_texts(path, "en" if path.name == "keys.toml" else None)


def sentences(text: str) -> list[str]:
    """The sentences of a text, without code and markup.

    >>> sentences("One file is missing. `x.y` is kept: See below.")
    ['One file is missing.', 'is kept:', 'See below.']
    """
    return [part.strip() for part in _ENDS.split(_MARKUP.sub(" ", text)) if part.strip()]


def hits(texts: Sequence[Text]) -> Iterator[tuple[Text, str, str]]:
    """Texts that match a pattern of their language, each with the pattern and what to write."""
    patterns = [
        (rule["name"], rule["language"], re.compile(rule["find"]), rule["write"])
        for rule in RULES["patterns"]
    ]
    excused = [(rule["path"], rule["text"]) for rule in RULES["exceptions"]]
    for text in texts:
        if any(text.path.startswith(path) and part in text.text for path, part in excused):
            continue
        for sentence in sentences(text.text):
            for name, language, pattern, write in patterns:
                if text.kind.endswith(language) and pattern.search(sentence):
                    yield text._replace(text=sentence), name, write


def vague_names() -> dict[str, tuple[int, int]]:
    """Per package: assignments to vague names, and all assignments to names."""
    vague = set(RULES["identifiers"]["vague"])
    tally: dict[str, tuple[int, int]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        package = "/".join(path.relative_to(ROOT / "src").parts[:2])
        names = [
            node.id
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        bad, whole = tally.get(package, (0, 0))
        tally[package] = bad + sum(name in vague for name in names), whole + len(names)
    return tally


def main(arguments: Sequence[str]) -> int:
    """Check all texts, or print measures of them."""
    texts = list(all_texts())
    found = list(hits(texts))
    counts = Counter(text.kind for text, _, _ in found)
    if "--measure" in arguments:
        for kind in sorted({text.kind for text in texts}):
            parts = [part for text in texts if text.kind == kind for part in sentences(text.text)]
            long = sum(len(part.split()) > LONG_SENTENCE for part in parts)
            share = 100 * long / len(parts)
            names = Counter(name for text, name, _ in found if text.kind == kind)
            print(f"{kind}: {len(parts):,} sentences, {share:.1f} % over {LONG_SENTENCE} words, "
                  f"{counts[kind]} hits {dict(names.most_common(9))}")  # fmt: skip
        for package, (bad, whole) in vague_names().items():
            print(f"{package}: {bad} of {whole} assignments to vague names")
        return 0
    ceilings = RULES["ceilings"]
    over = [kind for kind in sorted(counts) if counts[kind] > ceilings[kind]]
    for text, name, write in found if over else ():
        if text.kind in over:
            print(f"{text.path}:{text.line}: {name}: {text.text[:90]!r}: write {write}")
    bad, whole = (sum(numbers) for numbers in zip(*vague_names().values(), strict=True))
    if bad > RULES["identifiers"]["share"] * whole:
        over.append("vague names")
        print(f"{bad} of {whole} assignments to vague names; --measure lists them by package")
    print(f"{len(texts)} texts, {', '.join(over) or 'nothing'} over its ceiling")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
