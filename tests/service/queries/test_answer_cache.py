"""Kept answers: the same tables again, or none; never something that was changed."""

import os
from pathlib import Path
from typing import Any

import pytest

from discreet.publication.examples import census_example
from discreet_service.queries.cache import AnswerCache, _held_by
from tests.service.queries.conftest import Ask

_ONE, _TWO = "1" * 64, "2" * 64


def fresh(folder: Path, **options: Any) -> AnswerCache:
    """A cache that remembers nothing but what is on the disk."""
    return AnswerCache(folder, b"key", **options)


@pytest.mark.parametrize(
    "document",
    [
        {"unit": "person", "by": []},
        {"unit": "person", "by": ["sex", {"variable": "region", "level": [1, 2]}],
         "totals": ["sex"]},
        {"unit": "dwelling", "by": [{"variable": "region", "level": 1}],
         "measures": ["vacancy", {"mean": "rent"}]},
    ],
)  # fmt: skip
def test_tables_come_back_as_they_were(tmp_path: Path, ask: Ask, document: dict[str, Any]) -> None:
    table = ask(document)
    fresh(tmp_path).put(_ONE, table)
    kept = fresh(tmp_path).get(_ONE)
    assert kept is not None
    assert kept.to_polars(complete=True, labels="de").equals(
        table.to_polars(complete=True, labels="de")
    )
    for name in ("titles", "universe", "notes", "figures", "parts", "provenance", "name"):
        assert getattr(kept, name) == getattr(table, name)
    for each in ("csv", "px", "json-stat"):
        one, two = tmp_path / f"one.{each}", tmp_path / f"two.{each}"
        assert (
            table.write(one, format=each).read_bytes() == kept.write(two, format=each).read_bytes()
        )


def test_files_that_were_changed_are_as_good_as_none(tmp_path: Path) -> None:
    fresh(tmp_path).put(_ONE, census_example())
    (file,) = tmp_path.glob("*.table")
    content = file.read_bytes()
    for place in (0, 40, 60, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        file.write_bytes(bytes(changed))
        assert fresh(tmp_path).get(_ONE) is None
        assert not file.exists()
    for length in (0, 10, 35, len(content) - 1):
        file.write_bytes(content[:length])
        assert fresh(tmp_path).get(_ONE) is None
    file.write_bytes(content)
    assert fresh(tmp_path).get(_ONE) is not None
    file.rename(tmp_path / f"{_TWO}.table")
    assert fresh(tmp_path).get(_TWO) is None, "the file of one answer passed for another"
    fresh(tmp_path).put(_ONE, census_example())
    assert AnswerCache(tmp_path, b"another key").get(_ONE) is None


def test_answers_used_longest_ago_go_first(tmp_path: Path) -> None:
    fresh(tmp_path).put(_ONE, census_example())
    size = next(tmp_path.glob("*.table")).stat().st_size
    small = fresh(tmp_path, most_bytes=size * 4 + size // 2)
    names = [f"{number:064x}" for number in range(6)]
    for at, name in enumerate(names):
        small.put(name, census_example())
        os.utime(tmp_path / f"{name}.table", ns=(at * 10**9, at * 10**9))
    small.get(_ONE)
    left = {path.stem for path in tmp_path.glob("*.table")}
    assert names[-1] in left
    assert names[0] not in left
    assert sum(path.stat().st_size for path in tmp_path.glob("*.table")) <= size * 5


def test_a_disk_that_is_full_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = fresh(tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    cache.put(_ONE, census_example())
    assert list(tmp_path.iterdir()) == []
    assert cache.get(_ONE) is not None, "it is still in memory"


def test_files_are_for_their_owner_and_named_by_digests(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    fresh(folder).put(_ONE, census_example())
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
    with pytest.raises(AssertionError):
        fresh(folder).get("../../etc/passwd")


def test_memory_holds_so_much_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet_service.queries.cache._MOST_HELD", 30_000)
    cache = fresh(tmp_path)
    for number in range(9):
        cache.put(f"{number:064x}", census_example())
    held = cache._held.items()
    assert 1 <= len(held) < 4
    assert held[-1][0] == f"{8:064x}"
    assert cache.get(f"{0:064x}") is not None, "it is still on the disk"
    assert 0 < sum(_held_by(table) for _, table in cache._held.items()) <= 30_000
