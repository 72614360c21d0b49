"""Conditional responses: 304, or the content with its ETag. What everybody may read may be kept by
everybody; all else by the caller alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import IO

from fastapi.responses import Response, StreamingResponse

from discreet_service.web.access import Visit

_PIECE = 1 << 18
#: Seconds for which what is public may be kept without asking again.
_FRESH = 300
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")

Content = bytes | IO[bytes]


def etag_of(*parts: object) -> str:
    """The ETag of content that is determined by some parts.

    >>> etag_of("seal", "T1", "de") == etag_of("seal", "T1", "en")
    False
    """
    text = "\0".join(str(part) for part in parts)
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def is_known(header: str | None, etag: str) -> bool:
    """Whether a caller who sent If-None-Match has this content already."""
    tags = [part.strip().removeprefix("W/").strip('"') for part in (header or "").split(",")]
    return "*" in tags or etag.strip('"') in tags


def file_response(
    content: bytes, name: str, media_type: str = "application/octet-stream"
) -> Response:
    """A file for the caller to keep, and for nobody on the way: no browser runs what is in it."""
    place = f'attachment; filename="{_UNSAFE.sub("_", name)}"'
    headers = {"Content-Disposition": place, "Cache-Control": "no-store"}
    return Response(content, media_type=media_type, headers=headers)


def conditional(
    visit: Visit,
    etag: str,
    media_type: str,
    content: Callable[[], Content],
    *,
    name: str = "",
    shown: bool = False,
) -> Response:
    """A response about a release with an ETag; 304 without content, if the caller has it."""
    public = visit.service.settings.public_releases
    kept = f"public, max-age={_FRESH}" if public else "private, no-cache"
    told = {"ETag": etag, "Cache-Control": kept, "Vary": "Accept, Authorization"}
    if is_known(visit.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=told)
    if name:
        place = "inline" if shown else "attachment"
        told["Content-Disposition"] = f'{place}; filename="{_UNSAFE.sub("_", name)}"'
    made = content()
    if isinstance(made, bytes):
        return Response(made, media_type=media_type, headers=told)

    def pieces(file: IO[bytes] = made) -> Iterator[bytes]:
        with file:
            while piece := file.read(_PIECE):
                yield piece

    return StreamingResponse(pieces(), media_type=media_type, headers=told)
