"""Digests that tell whether anything behind a released table has changed.

In: files, the record-key secret, entries of a programme. Out: keyed digests.
A plain hash of a perturbation table could be found by trial; every digest here
is therefore keyed with the confidential data (and the secret, where there is
one), and safe to publish.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MicrodataError

if TYPE_CHECKING:
    from discreet.microdata import Secret

__all__ = ["DIGEST_BYTES", "ReleaseKey", "file_digest"]

DIGEST_BYTES = 32

_CONTEXT = b"discreet release 1"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ReleaseKey:
    """The key of a release's digests; shows nothing of itself.

    Args:
        data: Digest of the data's content.
        secret: The secret of the record keys, if they are made on the way.

    >>> ReleaseKey(b"0" * 32)
    <ReleaseKey>
    """

    __slots__ = ("value",)

    def __init__(self, data: bytes, secret: Secret | None = None) -> None:
        extra = b"" if secret is None else secret.derive("discreet release digests 1")
        self.value = hmac.digest(data, _CONTEXT + extra, "sha256")

    @classmethod
    def of_data(
        cls, source: Path, secret: Secret | None = None, parts: ReleaseKey | None = None
    ) -> ReleaseKey:
        """The key for data in a file, a folder of files, or files matching a pattern.

        Args:
            source: The file, folder or pattern.
            secret: The secret of the record keys, if any are made on the way.
            parts: The key for the data that record keys are inherited from.
        """
        digest = hashlib.sha256(b"" if parts is None else parts.value)
        for path in _files(source):
            digest.update(bytes.fromhex(file_digest(path)))
        return cls(digest.digest(), secret)

    def digest(self, entry: Any) -> str:
        """The digest of an entry made of texts, numbers, lists and mappings."""
        text = json.dumps(entry, sort_keys=True, ensure_ascii=False, default=str)
        return hmac.new(self.value, text.encode(), "sha256").hexdigest()

    def __repr__(self) -> str:
        return "<ReleaseKey>"


def _files(source: Path) -> Iterable[Path]:
    if source.is_file():
        return [source]
    if source.is_dir():
        found = sorted(path for path in source.rglob("*") if path.is_file())
    else:
        anchor = Path(source.anchor)
        pattern = str(source.relative_to(anchor))
        found = sorted(path for path in anchor.glob(pattern) if path.is_file())
    if not found:
        raise MicrodataError("there are no files here", code="no-data", where=str(source))
    return found
