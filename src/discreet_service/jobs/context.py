"""The context of a job: the service, what was asked for, and ways to tell how far it is.
CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import told_if_full
from discreet_service.jobs.records import Job

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+(; ?[a-z]+=[A-Za-z0-9.\"-]+)*")


@dataclass(frozen=True, kw_only=True)
class JobOutput:
    """What the function of a job gives back: released as soon as it does.

    >>> JobOutput(file_name="table.csv", media_type="text/csv", content=b"a,b").path is None
    True
    """

    file_name: str  # What it is called when it is downloaded
    media_type: str
    content: bytes | None = None  # The result; or
    path: Path | None = None  # a file of the result in the job's folder

    def __post_init__(self) -> None:
        if (self.content is None) == (self.path is None):
            raise ValueError("a result needs content or a file")
        if not _FILE_NAME.fullmatch(self.file_name):
            raise ValueError("file names must be short, with letters and digits")
        if not _MEDIA_TYPE.fullmatch(self.media_type):
            raise ValueError("not a media type")

    def written(self, folder: Path) -> FinishedFile:
        """The file of the result, on the disk."""
        place = folder / "result" if self.path is None else self.path
        if place.is_symlink() or place.parent.resolve() != folder.resolve():
            raise ValueError("the file of a result must be in the folder of the job")
        digest = hashlib.sha256()
        with told_if_full(place):
            if self.content is not None:
                place.write_bytes(self.content)
            with place.open("rb") as file:
                while part := file.read(2**20):
                    digest.update(part)
                os.fsync(file.fileno())
        return FinishedFile(path=place, digest=digest.hexdigest(), bytes=place.stat().st_size,
                            file_name=self.file_name, media_type=self.media_type)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedFile:
    """The file of a result before it is released."""

    path: Path  # Where it is
    digest: str  # Its SHA-256
    bytes: int  # How large it is
    file_name: str  # What it is called when it is downloaded
    media_type: str


@dataclass(frozen=True, kw_only=True)
class JobContext:
    """What the function of a job gets."""

    service: Any  # The service, built in the process of the job
    job: Job  # The job; `job.asked()` is its request.
    # A folder of its own, for the file of the result and all it needs on the way; it is deleted
    # afterwards
    folder: Path
    # Tells how much is done, in percent, and what is being done, in a fixed word of small
    # letters. May be called as often as one likes.
    report: Callable[[int, str], None]
    # Whether it is to be stopped: who looks now and then ends in good order, others are killed
    # after some seconds
    cancelled: Callable[[], bool]

    def __repr__(self) -> str:
        return f"<JobContext: {self.job!r}>"
