"""Parameters as the bytes that are sealed in a package, and back, without loss.

In: `Parameters`. Out: JSON. SECRET on both sides; exact, since every number of a
perturbation table is a whole one. What is read back is checked like any other input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, PackageError
from discreet.perturbation.intervals import DECIMAL_SCALE, pack
from discreet.perturbation.magnitude_files import Part, check_kind
from discreet.perturbation.readers import read_json
from discreet.perturbation.sources import Source
from discreet.perturbation.writers import as_text
from discreet.release.packages.parameters import Parameters
from discreet.release.packages.sections import parameters_of

if TYPE_CHECKING:
    from discreet.perturbation import MagnitudePerturbationTable, PerturbationTable

__all__ = ["from_bytes", "to_bytes"]

_FIELDS = {"tables", "magnitude_tables", "sections", "secret"}


def to_bytes(parameters: Parameters) -> bytes:
    """The parameters as JSON. SECRET."""
    table = parameters.perturbation_table
    text = as_text(table.content, "json", name=table.name, version=table.version)
    magnitudes = {
        column: {
            "name": magnitude.table.name,
            "parts": [_part_values(part) for part in magnitude.table.parts],
        }
        for column, magnitude in parameters.magnitudes.items()
    }
    secret = None if parameters.secret is None else parameters.secret.reveal().hex()
    content = {
        "tables": json.loads(text),
        "magnitude_tables": magnitudes,
        "sections": parameters.sections(),
        "secret": secret,
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def from_bytes(content: bytes, *, where: str, statistic: str, version: str) -> Parameters:
    """The parameters that JSON holds. SECRET.

    Args:
        content: The JSON.
        where: The file it comes from, for messages.
        statistic: The statistic of the package.
        version: The version of the package.
    """
    from discreet.microdata import Secret

    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise _other_form(where) from None
    if not isinstance(data, dict) or set(data) != _FIELDS:
        raise _other_form(where)
    secret = data["secret"]
    try:
        return parameters_of(
            data["sections"],
            _counts(data["tables"], where),
            {column: _magnitudes(table) for column, table in data["magnitude_tables"].items()},
            secret=None if secret is None else Secret(bytes.fromhex(secret)),
            statistic=statistic,
            version=version,
        )
    except DiscreetError as error:
        raise PackageError(
            "the package holds parameters that cannot be used",
            code="package-content",
            where=where,
            hint="a newer version of this program may know them",
            problems=error.problems,
        ) from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise _other_form(where) from None  # values of other kinds than were written


def _counts(data: Any, where: str) -> PerturbationTable:
    from discreet.perturbation import PerturbationTable

    content, name, version = read_json(Source(where, json.dumps(data).encode()))
    return PerturbationTable(content, name, version)


def _part_values(part: Part) -> dict[str, Any]:
    rows = [{"upper": upper, "noise": noise} for _, upper, noise in part.content.rows()]
    return {
        "kind": part.kind,
        "classes": list(part.classes),
        "step": part.step,
        "closed": part.content.closed,
        "rows": rows,
    }


def _magnitudes(data: Mapping[str, Any]) -> MagnitudePerturbationTable:
    from discreet.perturbation import MagnitudePerturbationTable

    return MagnitudePerturbationTable(tuple(_part(part) for part in data["parts"]), data["name"])


def _part(data: Mapping[str, Any]) -> Part:
    """A part whose every row is sound."""
    classes, step, rows = tuple(data["classes"]), data["step"], data["rows"]
    packed = [list(zip(row["upper"], row["noise"], strict=True)) for row in rows]
    sound = (
        _whole([step, *classes])
        and step >= 1
        and len(classes) == len(packed)
        and classes[:1] == (0,)
        and all(earlier < later for earlier, later in pairwise(classes))
        and not any(rows[0]["noise"])
        and data["closed"] in ("left", "right")
        and all(_sound_row(row, size * step) for size, row in zip(classes, packed, strict=True))
    )
    if not sound:
        raise ValueError  # becomes an error about the package
    content = pack(packed, closed=data["closed"])
    return Part(check_kind(data["kind"]), classes, step, content)


def _sound_row(row: list[tuple[int, int]], middle: int) -> bool:
    """Whether bounds rise to the end of the grid and no noise changes the sign."""
    if not row or not _whole([number for pair in row for number in pair]):
        return False
    bounds = [bound for bound, _ in row]
    rising = bounds[0] >= 0 and all(earlier < later for earlier, later in pairwise(bounds))
    return rising and bounds[-1] == DECIMAL_SCALE and all(middle + noise >= 0 for _, noise in row)


def _whole(numbers: list[Any]) -> bool:
    return all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)


def _other_form(where: str) -> PackageError:
    return PackageError(
        "the content of the package has another form than this program writes",
        code="package-content",
        where=where,
        hint="a newer version of this program may read it",
    )
