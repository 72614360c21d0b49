"""Signers: whose packages of parameters a service believes.

In: the public keys of the office, and the key of the studio, if it has one. Out: public key files.
The key of the studio lies on the server: it counts for packages of parameters, which two persons
bring into use, and for nothing else that is signed, such as policies and releases. SECRET.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.release import key_id, public_bytes, read_signing_key, read_verify_key
from discreet_service.settings import SettingsError


def parameter_signers(trusted: Sequence[Path], studio_key: Path | None) -> tuple[Path, ...]:
    """The public key files of those who may sign packages of parameters.

    >>> parameter_signers([], None)
    ()
    """
    if studio_key is None:
        return tuple(trusted)
    where = "studio_key_file"
    public = studio_key.with_suffix(".pub")
    own = public_bytes(read_signing_key(studio_key))
    if read_verify_key(public) != own:
        what, hint = "the .pub beside it is of another key", "discreet params keys studio"
        raise SettingsError(what, code="settings", where=where, hint=hint)
    if key_id(own) in {key_id(read_verify_key(item)) for item in trusted}:
        what = "the studio signs with a key of its own, which signs no policies and no releases"
        hint = "discreet params keys studio; and keep the key of the office off this machine"
        raise SettingsError(what, code="settings", where=where, hint=hint)
    return (*trusted, public)
