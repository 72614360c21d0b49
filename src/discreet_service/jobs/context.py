"""The context of a job: the service, what was asked for, and ways to tell how far it is; inputs,
sealed on the disk with a key of the service, and gone when the job ends. CONFIDENTIAL.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.files import atomic_path, file_digest, kept_on_disk, make_folder, told_if_full
from discreet_service.jobs.records import Job
from discreet_service.problems import ServiceError

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+(; ?[a-z]+=[A-Za-z0-9.\"-]+)*")


@dataclass(frozen=True, kw_only=True)
class JobOutput:
    """Result of the function of a job.

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
        with told_if_full(place):
            if self.content is not None:
                place.write_bytes(self.content)
            kept_on_disk(place)
        return FinishedFile(path=place, digest=file_digest(place), bytes=place.stat().st_size,
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
    """Input of the function of a job."""

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


_NAME = re.compile(r"[0-9a-f]{64}")
_NONCE = 12
#: Seconds after which an input without a job is nobody's: its job was never handed in.
_YOUNG = 600


class JobInputs:
    """Sealed inputs, by name.

    >>> from tempfile import mkdtemp
    >>> inputs = JobInputs(Path(mkdtemp()), bytes(32))
    >>> name = inputs.put(b"cells", owner="anna", again="monday")
    >>> name == inputs.put(b"cells", owner="anna", again="monday"), inputs.get(name)
    (True, b'cells')
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        make_folder(folder, 0o700)
        self.folder, self._key = folder, key

    def put(self, content: bytes, *, owner: str, again: str | None = None) -> str:
        """Keep an input; its name."""
        salt = secrets.token_hex(16) if again is None else again
        seal = hmac.new(self._key, f"input 1\0{owner}\0{salt}\0".encode(), "sha256")
        seal.update(content)
        name, nonce = seal.hexdigest(), secrets.token_bytes(_NONCE)
        place = self.folder / name
        with told_if_full(place), atomic_path(place, private=True) as temporary:
            temporary.write_bytes(nonce + AESGCM(self._key).encrypt(nonce, content, name.encode()))
        return name

    def get(self, name: str) -> bytes:
        """An input. CONFIDENTIAL."""
        try:
            content = self._place(name).read_bytes()
            return AESGCM(self._key).decrypt(content[:_NONCE], content[_NONCE:], name.encode())
        except (OSError, ValueError, InvalidTag):
            message, hint = "the input of this job is no longer available", "submit the job again"
            raise ServiceError(message, "data-not-ready", hint=hint) from None

    def drop(self, name: str) -> None:
        """Delete an input, if it is there."""
        self._place(name).unlink(missing_ok=True)

    def sweep(self, wanted: Collection[str]) -> None:
        """Delete the inputs of jobs that have ended."""
        # Files have the times of the system, whatever clock the service goes by.
        limit = time.time() - _YOUNG
        for place in self.folder.iterdir():
            if place.name not in wanted and place.stat().st_mtime <= limit:
                place.unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError("not the name of an input")
        return self.folder / name
