"""Short programs that try to show single values, and whether rewriting tells of them."""

from functools import cache
from pathlib import Path

from discreet_fire.findings import Severity
from discreet_fire.rewriting.changes import Rewriting
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from tests.helpers.places import FIRE_DATA

HOSTILE = sorted((FIRE_DATA / "scripts" / "hostile").iterdir())


def blocks_of(path: Path) -> list[str]:
    """The programs of a file."""
    return path.read_text("utf-8").split("#---\n")


def whole(name: str, block: str) -> str:
    """A program with the line that reads the data."""
    head = "import pandas as pd\ndf = pd.read_csv('a.csv')\n"
    return (head if ".py" in name else "d <- read.csv('a.csv')\n") + block


@cache
def rewritten(name: str, text: str) -> Rewriting:
    """A script rewritten, by the name of its file."""
    return rewrite_python(text) if ".py" in name else rewrite_r(text)


def is_seen(name: str, block: str) -> bool:
    """Whether rewriting tells of a program, by more than the name of a module."""
    return tells(rewritten(name, whole(name, block)))


def tells(done: Rewriting, *besides: str) -> bool:
    """Whether rewriting tells of a program, by more than the name of a module, or other rules."""
    return any(
        each.severity.rank > Severity.REVIEW.rank
        or (each.severity is Severity.REVIEW and each.rule not in ("import", *besides))
        for each in done.findings
    )


def silent(ending: str) -> list[tuple[str, str]]:
    """Programs of which rewriting tells nothing, with the names of their files."""
    return [
        (path.name, block)
        for path in HOSTILE if ending in path.name
        for block in blocks_of(path) if not is_seen(path.name, block)
    ]  # fmt: skip
