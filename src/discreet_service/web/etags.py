"""Conditional responses: what did not change is not sent again.

In: a request, what identifies the content, and who may keep it. Out: 304, or the content with its
ETag. What everybody may read may be kept by everybody; all else by the caller alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from discreet_service.service import Service

_PIECE = 1 << 18
#: Seconds for which what is public may be kept without asking again.
_FRESH = 300
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_TAG = re.compile(r'(?:W/)?"([^"]*)"')

Content = bytes | IO[bytes]


def etag_of(*parts: object) -> str:
    """The ETag of content that is determined by some parts.

    >>> etag_of("seal", "T1", "de") == etag_of("seal", "T1", "en")
    False
    """
    text = "\0".join(str(part) for part in parts)
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def caching(service: Service) -> dict[str, str]:
    """Who may keep responses about releases."""
    if service.settings.public_releases:
        return {"Cache-Control": f"public, max-age={_FRESH}"}
    return {"Cache-Control": "private, no-cache"}


def _known(request: Request, etag: str) -> bool:
    """Whether the caller has this content already."""
    header = request.headers.get("if-none-match", "")
    if header.strip() == "*":
        return True
    return etag.strip('"') in _TAG.findall(header)


def conditional(
    request: Request,
    service: Service,
    etag: str,
    media_type: str,
    content: Callable[[], Content],
    *,
    name: str = "",
    shown: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A response with an ETag; 304 without content, if the caller has it."""
    told = {"ETag": etag, **caching(service), "Vary": "Accept, Authorization", **(headers or {})}
    if _known(request, etag):
        return Response(status_code=304, headers=told)
    if name:
        place = "inline" if shown else "attachment"
        told["Content-Disposition"] = f'{place}; filename="{_UNSAFE.sub("_", name)}"'
    made = content()
    if isinstance(made, bytes):
        return Response(made, media_type=media_type, headers=told)
    return StreamingResponse(_pieces(made), media_type=media_type, headers=told)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
