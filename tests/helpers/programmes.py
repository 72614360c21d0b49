"""Programmes of tests, changed word by word."""

from collections.abc import Callable
from pathlib import Path

Edit = Callable[..., Path]


def replaced(text: str, *changes: tuple[str, str], times: int = -1) -> str:
    """A text with words changed, all of which must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, times)
    return text


def editor(path: Path, text: str = "") -> Edit:
    """Change words of a programme: edit(("old", "new"), …) gives its path.

    Args:
        path: The programme.
        text: What changes begin with each time; otherwise what stands there by then.
    """

    def edit(*changes: tuple[str, str]) -> Path:
        path.write_text(replaced(text or path.read_text("utf-8"), *changes), encoding="utf-8")
        return path

    return edit
