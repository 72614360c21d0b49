"""Passwords (SECRET): how they are stretched, kept and compared. To compare with nothing takes as
long: nobody learns from the time whether there is such a user.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import unicodedata
from dataclasses import dataclass

from discreet.confidential import without_values
from discreet_service.problems import ServiceError

#: Least and greatest number of characters.
SHORTEST, LONGEST = 12, 256
_FEWEST_DIFFERENT = 6
_SALT, _DIGEST = 16, 32
#: So many are stretched at once, since each takes memory, and so many more may wait: whoever floods
#: the login is not to hold all threads of the service.
_AT_ONCE, _ADMITTED = threading.BoundedSemaphore(2), threading.BoundedSemaphore(8)
#: Letters and figures of one-time passwords: none looks like another.
_CLEAR = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, kw_only=True, slots=True)
class PasswordCost:
    """Cost parameters of scrypt."""

    log_n: int = 16  # Binary logarithm of the blocks in memory; 16 are 64 MiB
    r: int = 8  # Size of a block
    p: int = 2  # Passes

    def __post_init__(self) -> None:
        # Read back from the database, so bounded: nobody makes the service stretch for ever.
        if not (10 <= self.log_n <= 18 and self.r == 8 and 1 <= self.p <= 4):
            raise ServiceError("the cost of passwords is out of range", "internal")


@without_values
def kept_password(password: str, cost: PasswordCost) -> str:
    """The form in which a password is kept. SECRET.

    >>> kept = kept_password("quiet rivers run", PasswordCost(log_n=10, p=1))
    >>> password_fits("quiet rivers run", kept, PasswordCost(log_n=10, p=1))
    True
    """
    salt = secrets.token_bytes(_SALT)
    digest = _stretched(password, salt, cost)
    parts = (base64.b64encode(part).decode("ascii") for part in (salt, digest))
    return "$".join(("scrypt", str(cost.log_n), str(cost.r), str(cost.p), *parts))


@without_values
def password_fits(password: str, kept: str | None, cost: PasswordCost) -> bool:
    """Whether a password is the one that is kept.

    >>> password_fits("anything", None, PasswordCost(log_n=10, p=1))
    False
    """
    found = None if kept is None else _read(kept)
    used, salt, digest = found or (cost, bytes(_SALT), bytes(_DIGEST))
    return hmac.compare_digest(_stretched(password, salt, used), digest) and found is not None


def cost_of(kept: str) -> PasswordCost | None:
    """The cost with which a password was stretched."""
    found = _read(kept)
    return None if found is None else found[0]


def one_time_password() -> str:
    """A new password to be used once, of 98 random bits.

    >>> len(one_time_password())
    23
    """
    parts = ("".join(secrets.choice(_CLEAR) for _ in range(5)) for _ in range(4))
    return "-".join(parts)


@without_values
def check_password(password: str, name: str) -> None:
    """Raise an error if a new password is easy to guess.

    >>> check_password("anna-anna-anna", "anna")
    Traceback (most recent call last):
        ...
    discreet_service.problems.ServiceError: [invalid-input] password: ...
    """
    plain = _plain(password)
    hint = f"use {SHORTEST} to {LONGEST} characters, such as several words"
    if not SHORTEST <= len(plain) <= LONGEST or len(password) > 2 * LONGEST:
        message = "the password is too short or too long"
    elif len(set(plain.casefold())) < _FEWEST_DIFFERENT or plain.isdigit():
        message = "the password is easy to guess: it has few different characters"
    elif name.casefold() in plain.casefold():
        message = "the password is easy to guess: it contains the name of the user"
    else:
        return
    raise ServiceError(message, "invalid-input", "password", hint)


def _plain(password: str) -> str:
    return unicodedata.normalize("NFKC", password)


def _stretched(password: str, salt: bytes, cost: PasswordCost) -> bytes:
    # Longer ones are cut: they were refused when set, so that they cannot fit.
    secret = _plain(password[: 2 * LONGEST]).encode("utf-8", "replace")
    n = 1 << cost.log_n
    memory = 256 * n * cost.r
    if not _ADMITTED.acquire(blocking=False):
        raise ServiceError("too many simultaneous logins", "overloaded", retry_after=2)
    try:
        with _AT_ONCE:
            return hashlib.scrypt(
                secret, salt=salt, n=n, r=cost.r, p=cost.p, maxmem=memory, dklen=_DIGEST
            )
    finally:
        _ADMITTED.release()


def _read(kept: str) -> tuple[PasswordCost, bytes, bytes] | None:
    try:
        kind, log_n, r, p, salt, digest = kept.split("$")
        cost = PasswordCost(log_n=int(log_n), r=int(r), p=int(p))
        found = cost, base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True)
    except (ValueError, ServiceError):
        return None
    right = kind == "scrypt" and len(found[1]) == _SALT and len(found[2]) == _DIGEST
    return found if right else None
