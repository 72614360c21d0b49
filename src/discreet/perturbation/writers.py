"""Writing perturbation tables, so that reading them back gives the same table.

In: `Intervals`. Out: text of one of the formats. SECRET: files are readable by
their owner only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from discreet.errors import PerturbationError
from discreet.perturbation.intervals import DECIMAL_SCALE, Intervals
from discreet.perturbation.ons import write_ons
from discreet.perturbation.readers import JSON_NAME, JSON_VERSION
from discreet.perturbation.sources import Format

__all__ = ["as_text"]


def as_text(content: Intervals, kind: Format, *, name: str, version: str) -> str:
    """The table as text in format `kind`."""
    if kind == "ons":
        return write_ons(content)
    if kind == "json":
        return _json(content, name, version)
    closed = "right" if kind == "argus" else "left"
    if content.scale != DECIMAL_SCALE or content.beyond != "last":
        raise PerturbationError(
            f"a table for {content.scale} keys cannot be written as {kind!r} without loss",
            code="perturbation-format",
            hint='use format="ons" or format="json"',
        )
    if content.closed != closed:
        raise PerturbationError(
            f"intervals of this table are closed on the other side than those of {kind!r}",
            code="perturbation-format",
            hint=f'convert first: table.with_closed("{closed}"), or use format="json"',
        )
    if kind == "cumulative":
        return _cumulative(content)
    lines = _argus(content) if kind == "argus" else _intervals(content)
    return "\n".join([*lines, ""])


def _decimal(units: int) -> str:
    """Units of 10^-15 as a decimal, without trailing zeros.

    >>> _decimal(250000000000000)
    '0.25'
    """
    whole, part = divmod(units, DECIMAL_SCALE)
    return f"{whole}.{part:015d}".rstrip("0").rstrip(".")


def _intervals(content: Intervals) -> Iterator[str]:
    yield '"i","j","p","v","p_int_lb","p_int_ub","type"'
    for count, upper, noise in content.rows():
        below = 0
        for bound, value in zip(upper, noise, strict=True):
            cells = (count, count + value, _decimal(bound - below), value)
            bounds = (_decimal(below), _decimal(bound), "all")
            yield ",".join(f'"{cell}"' for cell in (*cells, *bounds))
            below = bound


def _argus(content: Intervals) -> Iterator[str]:
    yield "i;j;p;v;p_int_ub"
    for count, upper, noise in content.rows():
        below = 0
        for bound, value in zip(upper, noise, strict=True):
            share = _decimal(bound - below)
            yield f"{count};{count + value};{share};{value};{_decimal(bound)}"
            below = bound


def _cumulative(content: Intervals) -> str:
    columns = range(int(content.noise.min()), int(content.noise.max()) + 1)
    lines = [",".join(["count", *map(str, columns)])]
    for count, upper, noise in content.rows():
        if np.any(np.diff(noise) < 0):
            raise PerturbationError(
                "a cumulative matrix needs rows in ascending order of the noise",
                code="perturbation-format",
                where=f"row {count}",
                hint='use format="intervals" or format="json"',
            )
        reached = dict(zip(noise, upper, strict=True))
        bound = 0
        cells = []
        for value in columns:
            bound = reached.get(value, bound)
            cells.append(_decimal(bound))
        lines.append(",".join([str(count), *cells]))
    return "\n".join([*lines, ""])


def _json(content: Intervals, name: str, version: str) -> str:
    beyond: object = content.beyond
    if content.beyond != "last":
        beyond = {"start": content.beyond[0], "length": content.beyond[1]}
    head = {
        "format": JSON_NAME,
        "format_version": JSON_VERSION,
        "name": name,
        "version": version,
        "scale": content.scale,
        "closed": content.closed,
        "beyond": beyond,
        "zeros": content.zeros,
    }
    fields = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = [
        json.dumps({"upper": upper, "noise": noise}, separators=(",", ":"))
        for _, upper, noise in content.rows()
    ]
    body = ",\n    ".join(rows)
    return "{\n" + ",\n".join([*fields, f'  "rows": [\n    {body}\n  ]']) + "\n}\n"
