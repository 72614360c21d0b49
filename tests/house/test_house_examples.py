"""The examples of the how-to pages and the methods run as they are printed, in an empty folder.

A block below the comment ``<!-- not run -->`` is only read. A command with the remark
``# refused`` fails with exit code 2. Nothing is made beforehand; large examples run with fewer
persons. Commands of discreet that need no shell run in this process.
"""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from discreet.cli import main
from tests.helpers.places import ROOT

PAGES = sorted(
    page
    for page in [
        *(ROOT / "docs/how-to").glob("*.md"),
        *(ROOT / "docs/methods").glob("*.md"),
        *(ROOT / "docs/de").glob("*.md"),
        *(ROOT / "docs/for").glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
    ]
    if "```python" in page.read_text("utf-8") or "```sh" in page.read_text("utf-8")
)
FENCE = re.compile(r"^(<!-- not run -->\n)?```(python|sh|toml)\n(.*?)^```$", re.M | re.S)
FEWER = {"2_000_000": "1_000", "20_000": "1_000", "10_000": "1_000"}
SHELL = re.compile(r"[|><$&;*`\\]")


class Example(NamedTuple):
    """One block of a page."""

    shown_only: bool
    language: str
    text: str


def examples(page: Path) -> list[Example]:
    found = FENCE.findall(page.read_text("utf-8"))
    return [Example(bool(mark), language, text) for mark, language, text in found]


def run_python(example: Example, names: dict[str, Any]) -> None:
    text = example.text
    for many, few in FEWER.items():
        text = re.sub(rf"\b{many}\b", few, text)
    exec(compile(text, "example", "exec"), names)


def run_commands(example: Example, names: dict[str, Any]) -> None:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in example.text.splitlines():
        printed = io.StringIO()
        if line.startswith("discreet ") and not SHELL.search(line):
            _, *words = shlex.split(line, comments=True)
            fewer = ["--persons", "1000"] if words[0] == "demo" else []
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                pytest.raises(SystemExit) as end,
            ):
                main([*words, *fewer])
            code = end.value.code
        else:
            environment = {**os.environ, "PATH": tools}
            done = subprocess.run(
                ["sh", "-c", line], env=environment, capture_output=True, text=True, check=False
            )
            code, _ = done.returncode, printed.write(done.stderr)
        assert code == (2 if line.endswith("# refused") else 0), line + printed.getvalue()


def write_programme(example: Example, names: dict[str, Any]) -> None:
    Path("programme.toml").write_text(example.text, encoding="utf-8")


RUN: dict[str, Callable[[Example, dict[str, Any]], None]] = {
    "python": run_python,
    "sh": run_commands,
    "toml": write_programme,
}


#: Pages whose examples take many seconds.
LONG = (
    "cell-suppression", "parameter-packages", "programmes", "review-queue", "from-other-tools",
    "index-de", "reading-records", "anonymise-records", "run-programs", "unit-noise",
    "output-checking", "log-cleaning", "large-data", "perturbation-design", "attacks",
    "index", "gallery", "choose", "methodologist", "production", "dissemination",
    "research-data-centre", "open-service",
)  # fmt: skip
MARKED = [
    pytest.param(page, marks=pytest.mark.exhaustive) if page.stem in LONG else page
    for page in PAGES
]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_a_page_runs_as_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = [example for example in examples(page) if not example.shown_only]
    assert listing
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    try:
        for example in listing:
            RUN[example.language](example, names)
    finally:  # a page that starts a service ends it, too, if it comes so far
        for file in tmp_path.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)


def test_hardly_an_example_is_only_shown() -> None:
    listing = [example for page in PAGES for example in examples(page)]
    runnable = [example for example in listing if example.language != "toml"]
    assert len(runnable) >= 28
    assert sum(example.shown_only for example in runnable) <= 2


def test_no_example_escapes() -> None:
    """Every block of Python is one that is found above, on whatever page it stands."""
    for page in [*PAGES, ROOT / "README.md"]:
        text = page.read_text("utf-8")
        listed = [example for example in examples(page) if example.language in ("python", "sh")]
        assert len(listed) == len(re.findall(r"^\s*```(?:python|sh)\b", text, re.M)), page.name
