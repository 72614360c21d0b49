"""The review queue: files that change or multiply while they are taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from discreet.errors import OutputCheckError
from discreet_fire.queue import stages


def test_a_file_that_grows_while_it_is_taken_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, real = tmp_path / "a.do", os.open
    source.write_text("count\n")

    def growing(path: object, *more: int) -> int:
        if path == source:
            source.write_bytes(b"*" * 5000)
        return real(path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(stages, "LARGEST_FILE", 4000)
    monkeypatch.setattr(os, "open", growing)
    with pytest.raises(OutputCheckError, match="changed while it was taken"):
        stages.file_copy(source, tmp_path / "copy.do")


def test_a_folder_of_endless_folders_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "MOST_FILES", 20)
    (tmp_path / "hand" / "/".join("x" * 21)).mkdir(parents=True)
    (tmp_path / "hand" / "a.do").write_text("count\n")
    with pytest.raises(OutputCheckError, match="more than 20"):
        stages.program_copy(tmp_path / "hand", tmp_path / "copy")
