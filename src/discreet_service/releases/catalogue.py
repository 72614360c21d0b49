"""`ReleaseCatalogue`: all releases, found anew when folders change. Public. One that changes is
read in full, then takes its place at once; what is damaged or not signed is not there.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from discreet.errors import DiscreetError
from discreet.release import FOLDER, MANIFEST, SEAL, read_verify_key
from discreet.tables import ProtectedTable
from discreet_service.last_used import LastUsed
from discreet_service.problems import ServiceError
from discreet_service.releases.release import ListedTable, ServedRelease, open_release

#: Cells of all tables that are kept in memory.
_CELLS_KEPT = 20_000_000
#: Seconds during which folders are not looked at again, and single files in them.
_UNSEEN = 1.0
_UNSEEN_FILES = 30.0

_Mark = tuple[tuple[int, ...], ...]
_Derived = TypeVar("_Derived")


class ReleaseCatalogue:
    """The releases in some folders.

    >>> ReleaseCatalogue([Path("no-such-folder")]).releases()
    mappingproxy({})
    """

    def __init__(
        self,
        folders: Path | Sequence[Path],
        *,
        signers: Sequence[Path] = (),
        unseen: float = _UNSEEN,
        clock: Callable[[], int] = lambda: time.time_ns() // 10**6,
    ) -> None:
        self._clock = clock
        # Folders of releases under embargo → when they become public.
        self._waiting: dict[str, float] = {}
        self._folders = (folders,) if isinstance(folders, Path) else tuple(folders)
        self.keys = tuple(read_verify_key(path) for path in signers)
        self._unseen, self._looked = unseen, -math.inf
        self._looked_closely = -math.inf
        self._served: Mapping[str, ServedRelease] = MappingProxyType({})
        self._tables: Mapping[str, ListedTable] = MappingProxyType({})
        self._refused: Mapping[str, str] = MappingProxyType({})
        self._marks: dict[Path, _Mark] = {}
        self._lock = threading.Lock()
        self._opened = LastUsed[tuple[str, str], ProtectedTable](
            _CELLS_KEPT, lambda table: table.stored + 1
        )
        self._made: dict[Any, tuple[Mapping[str, ListedTable], Any]] = {}

    def releases(self) -> Mapping[str, ServedRelease]:
        """The releases by name."""
        self._look()
        return self._served

    @property
    def shelf(self) -> Path:
        """The folder that new releases are put in: the first."""
        return self._folders[0]

    def refused(self) -> Mapping[str, str]:
        """Folder → why it is not served; for staff."""
        self._look()
        return self._refused

    def release(self, name: str) -> ServedRelease:
        """One release."""
        found = self.releases().get(name)
        if found is None:
            raise ServiceError("release not found", "not-found", "release")
        return found

    def tables(self) -> Mapping[str, ListedTable]:
        """All tables of all releases, by their names RELEASE.TABLE, in order."""
        self._look()
        return self._tables

    def listed(self, table: str) -> ListedTable:
        """Entry of one table."""
        found = self.tables().get(table)
        if found is None:
            raise ServiceError("table not found", "not-found", "table")
        return found

    def table(self, table: str) -> ProtectedTable:
        """One table, as it was protected. Do not change its arrays: others read them, too."""
        listed = self.listed(table)
        release = self.release(listed.release)
        key = (release.identity, listed.name)
        found = self._opened.get(key)
        if found is None:
            found = release.read_table(listed.name)
            self._opened.put(key, found)
        return found

    def identity(self, table: str) -> str:
        """Short name of the release's seal; it changes whenever a table may have changed."""
        return self.release(self.listed(table).release).identity

    def derived(self, make: Callable[[Mapping[str, ListedTable]], _Derived]) -> _Derived:
        """Something made of the list of tables; made anew only when there is another list."""
        tables = self.tables()
        known = self._made.get(make)
        if known is None or known[0] is not tables:
            known = (tables, make(tables))
            self._made[make] = known
        made: _Derived = known[1]
        return made

    def look_again(self) -> None:
        """Look at the folders now."""
        with self._lock:
            self._looked_closely = -math.inf
            self._find()

    # -- finding -----------------------------------------------------------------

    def _look(self) -> None:
        """Look at the folders, unless somebody has just done so or is about to."""
        if time.monotonic() - self._looked < self._unseen:
            return
        if not self._lock.acquire(blocking=self._looked == -math.inf):
            return  # somebody reads a new release: the old ones are good until then
        try:
            if time.monotonic() - self._looked >= self._unseen:
                self._find()
        finally:
            self._lock.release()

    def _find(self) -> None:
        served: dict[str, ServedRelease] = {}
        refused: dict[str, str] = {}
        marks: dict[Path, _Mark] = {}
        closely = time.monotonic() - self._looked_closely >= _UNSEEN_FILES
        for folder in self._candidates():
            before = self._marks.get(folder, ())
            marks[folder] = _mark(folder) + (_file_mark(folder) if closely else before[1:])
            held = self._served.get(folder.name)
            old = held if held is not None and held.files.folder == folder else None
            known, why = before == marks[folder], self._refused.get(str(folder), "")
            release: ServedRelease | None
            if folder.name in served:
                release, why = None, "another release has the same name"
            elif old is not None and known and not old.files.doubtful:
                release = old
            elif (
                old is None
                and known
                and why
                and self._waiting.get(str(folder), math.inf) > self._clock()
            ):
                stays = held is not None and held.files.folder == earlier(folder)
                release = held if stays else None
            else:
                release, why = self._read(folder, old)
                marks[folder] = _mark(folder) + _file_mark(folder)
            served |= {} if release is None else {folder.name: release}
            refused |= {str(folder): why} if why else {}
        self._marks = marks
        self._looked_closely = time.monotonic() if closely else self._looked_closely
        tables = {each.id: each for name in sorted(served) for each in served[name].tables.values()}
        if served != self._served:
            # Readers take one of these after the other: a table without its release is not found.
            self._served, self._tables = MappingProxyType(served), MappingProxyType(tables)
        self._refused = MappingProxyType(refused)
        self._looked = time.monotonic()

    def _read(self, folder: Path, old: ServedRelease | None) -> tuple[ServedRelease | None, str]:
        """What a folder serves, and why that is not what stands there; empty if it is.

        The old release stays while a run is writing there.
        """
        try:
            memory = folder / FOLDER
            if (memory / "stage").exists() or any(memory.glob("*.seal")):
                stays = old is not None and not old.files.doubtful
                why = "a run is writing to the folder, or was interrupted"
                return old if stays else None, why
            found = open_release(folder, self.keys)
            if found.public_from <= self._clock():
                self._waiting.pop(str(folder), None)
                return found, ""
            self._waiting[str(folder)] = found.public_from
            why = f"under embargo until {found.embargo}"
            with suppress(DiscreetError):
                before = open_release(earlier(folder), self.keys, folder.name)
                if before.public_from <= self._clock():
                    return before, why
        except DiscreetError as error:
            why = error.what
        except (OSError, ValueError, KeyError, TypeError, LookupError):
            why = "the release cannot be read"
        return None, why

    def _candidates(self) -> Iterator[Path]:
        for folder in self._folders:
            if (folder / SEAL).exists() or (folder / MANIFEST).exists():
                yield folder
            elif folder.is_dir():
                inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
                yield from (item for item in inside if item.is_dir())


def earlier(folder: Path) -> Path:
    """Where the release stays that is served until the embargo of the one in a folder ends."""
    return folder.with_name(f".{folder.name}.earlier")


def _mark(folder: Path) -> _Mark:
    """What changes when a release is put here, or a run writes here."""
    return (tuple(each for path in _OUTER for each in _state(folder / path)),)


#: The folder, what is written last, and what a run is busy with.
_OUTER = ("", SEAL, MANIFEST, FOLDER)


def _file_mark(folder: Path) -> _Mark:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    return tuple(_state(folder / name) for name in names)


def _state(path: Path) -> tuple[int, ...]:
    try:
        state = path.lstat()
    except OSError:
        return (0,)
    return (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
