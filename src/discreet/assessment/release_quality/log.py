"""`QualityLog`: what protection did to the tables of a release. CONFIDENTIAL.

In: true and protected tables, one after another. Out: whole numbers, whatever the order
of the tables and however often the work was interrupted; sealed, so that they can rest
in a folder where others may look.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from discreet.assessment.release_quality.table_quality import TableQuality, table_quality
from discreet.derived import KeyFigure
from discreet.errors import PublicationError, TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.suppression import PartDecisions
from discreet.tables import ProtectedTable, Table

__all__ = ["QualityLog"]

_CONTEXT = b"discreet quality log 1"
_FORMAT = "discreet-quality-log"
_KEY_BYTES = 64
_SHORTEST_KEY = 16

#: Room for what is sealed, for each table part of each figure and besides.
_ROOM_PER_PART, _ROOM = 512, 4096


class QualityLog:
    """Tallies about the tables of a release (confidential).

    Args:
        tables: Name of table → what is known of it.

    >>> import polars as pl
    >>> from discreet.perturbation import PerturbationTable, perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [5, 3, 2], "key": [0.8, 0.5, 0.9]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> log = QualityLog()
    >>> log.add("T1", table, perturb(table, ptable))
    >>> log
    <QualityLog (confidential): 1 tables>
    >>> QualityLog.opened(log.sealed(b"0" * 32), b"0" * 32).to_dict() == log.to_dict()
    True
    """

    def __init__(self, tables: Mapping[str, TableQuality] | None = None) -> None:
        self._tables = dict(tables or {})

    @property
    def tables(self) -> Mapping[str, TableQuality]:
        """What is known of each table, by name."""
        return MappingProxyType(dict(sorted(self._tables.items())))

    def add(
        self,
        name: str,
        table: Table | None,
        protected: ProtectedTable,
        *,
        ingredients: Mapping[str, Ingredient] | None = None,
        figures: Sequence[KeyFigure] = (),
        decisions: PartDecisions | None = None,
    ) -> None:
        """Assess a table and keep the tallies, nothing else.

        Args:
            name: Name of the table; each is added once.
            table: The true table; None where ingredients say it all.
            protected: The table as it is published.
            ingredients: Name → what the table was made of, with originals, where it has
                figures other than plain counts.
            figures: The key figures it was derived with; without them, the ingredients
                are taken for the figures.
            decisions: The decisions about its parts, for the reasons they name.
        """
        if name in self._tables:
            raise _twice(name)
        reasons = _reasons(decisions)
        self._tables[name] = table_quality(table, protected, ingredients or {}, figures, reasons)

    def merge(self, other: QualityLog) -> QualityLog:
        """A log with the tables of both.

        >>> QualityLog().merge(QualityLog())
        <QualityLog (confidential): 0 tables>
        """
        twice = sorted(set(self._tables) & set(other._tables))
        if twice:
            raise _twice(twice[0])
        return QualityLog({**self._tables, **other._tables})

    def only(self, *names: str) -> QualityLog:
        """A log with some of the tables."""
        missing = [name for name in names if name not in self._tables]
        if missing:
            raise TableError(
                "nothing is known of this table", code="quality", where=", ".join(missing)
            )
        return QualityLog({name: self._tables[name] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it, in whole numbers and names. CONFIDENTIAL."""
        tables = {name: table.to_dict() for name, table in self.tables.items()}
        return {"format": _FORMAT, "version": 1, "tables": tables}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> QualityLog:
        """The log that was written by `to_dict`."""
        try:
            if entry["format"] != _FORMAT or entry["version"] != 1:
                raise _unreadable()
            tables = entry["tables"].items()
            return cls({name: TableQuality.from_dict(table) for name, table in tables})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise _unreadable() from None

    def sealed(self, key: bytes) -> bytes:
        """The log, encrypted. The same log and key give the same bytes.

        Equal bytes tell that nothing has changed, and nothing else: the nonce is made of
        the content, so none is ever used for two contents. The length depends on what is
        public, for that of the content grows with the maximum noise.

        Args:
            key: At least 16 secret bytes, such as the key of the release.
        """
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        packed = zlib.compress(text.encode(), 6)
        return bytes(_cipher(key).encrypt(_padded(packed, self._room), [_CONTEXT]))

    @property
    def _room(self) -> int:
        """A number of bytes that the tallies fit, made of shapes only."""
        places = sum(len(table.parts) * len(table.figures) for table in self._tables.values())
        return _ROOM + _ROOM_PER_PART * places

    @classmethod
    def opened(cls, sealed: bytes, key: bytes) -> QualityLog:
        """The log that was sealed with this key."""
        from cryptography.exceptions import InvalidTag

        try:
            padded = _cipher(key).decrypt(sealed, [_CONTEXT])
            text = zlib.decompressobj().decompress(padded)
        except (InvalidTag, ValueError, zlib.error):
            raise _unreadable() from None
        return cls.from_dict(json.loads(text))

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<QualityLog (confidential): {len(self)} tables>"


def _cipher(key: bytes) -> Any:
    """AES-SIV, which stays safe without random nonces, under a key made for this use only."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise PublicationError(
            f"the key of a quality log has at least {_SHORTEST_KEY} bytes", code="quality-key"
        )
    derived = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_CONTEXT).derive(key)
    return AESSIV(derived)


def _padded(packed: bytes, room: int) -> bytes:
    """Filled up to a multiple of the room."""
    return packed.ljust(-(-len(packed) // room) * room, b"\0")


def _twice(name: str) -> TableError:
    return TableError(
        "this table was assessed before",
        code="quality",
        where=name,
        hint="add each table once",
    )


def _unreadable() -> PublicationError:
    return PublicationError(
        "these are no statistics of this release, or they are damaged",
        code="quality-log",
        hint="make all tables of the release anew",
    )


def _reasons(decisions: PartDecisions | None) -> dict[str, int]:
    """How many parts were suppressed for each reason."""
    parts = decisions.parts if decisions is not None else ()
    return dict(
        Counter(
            code
            for part in parts
            if part.action == "suppressed"
            for code in {reason.code for reason in part.reasons}
        )
    )
