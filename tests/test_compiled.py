"""Compiled loops: kept where a folder can be written, and compiled all the same where none can."""

import re
from pathlib import Path

import numba
import pytest
from numba.core import caching

from discreet.compiled import compiled
from discreet.confidential import engine_failed

SOURCES = Path(__file__).parents[1] / "src"


def locators() -> tuple[type, str]:
    """The class that says where compiled code is kept, and its attribute; by the version."""
    kind = getattr(caching, "CacheImpl", None) or caching._CacheImpl
    return kind, "_locator_classes"


def test_without_a_folder_that_can_be_written_loops_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*locators(), [])

    def double(number: int) -> int:
        return 2 * number

    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(double)
    assert compiled(nogil=True)(double)(21) == 42
    assert compiled(numba.int64(numba.int64), nogil=True)(double)(21) == 42


def test_a_mistake_in_a_loop_stays_an_error() -> None:
    with pytest.raises(numba.TypingError):
        compiled(numba.int64(numba.int64))(lambda number: number.nothing)


def test_compiled_code_is_kept_in_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))

    def treble(number: int) -> int:
        return 3 * number

    assert compiled()(treble)(7) == 21
    assert list((tmp_path / "kept").rglob("*.nbi"))


def test_no_loop_is_compiled_past_it() -> None:
    pattern = re.compile(r"numba\.(njit|jit|vectorize|guvectorize)\b|cache=True")
    found = [
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if "numba" in (text := path.read_text("utf-8")) and pattern.search(text)
    ]
    assert found == ["discreet/compiled.py"]


def test_an_error_names_the_module_that_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*locators(), [])
    with pytest.raises(RuntimeError) as raised:
        numba.njit(cache=True)(lambda number: number)
    error = engine_failed(raised.value)
    assert "RuntimeError in numba.core.caching" in error.what
    assert "folders" in error.hint
    assert "collect the frame" not in error.hint
