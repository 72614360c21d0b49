"""Inputs of jobs (CONFIDENTIAL): sealed on the disk with a key of the service, readable by its user
only, and gone when the job ends.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Collection
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.files import atomic_path, make_folder, told_if_full
from discreet_service.problems import ServiceError

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
            what, hint = "the input of this job is no longer available", "submit the job again"
            raise ServiceError(what, "data-not-ready", hint=hint) from None

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
