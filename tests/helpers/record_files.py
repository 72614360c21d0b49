"""Invented records, steps of each method, and the same steps as a programme for records."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.microdata import Secret
from discreet.release.anonymisation import anonymise

#: A step of each method that pages and interface offer.
STEPS: Mapping[str, Mapping[str, Any]] = {
    "recode": {"variable": "age", "intervals": [0, 30, 60]},
    "top_code": {"variable": "age", "above": 70},
    "bottom_code": {"variable": "income", "below": 1_000, "mean": True},
    "round_values": {"variables": ["income"], "base": 1_000},
    "calibrate": {"totals": "sex,value\nm,40000\nw,42000", "weight": ["income"]},
    "drop_identifiers": {"direct": ["person"], "harmless": ["income"]},
    "local_suppression": {"keys": ["region", "sex", "status"], "k": 5},
    "microaggregate": {"variables": ["age", "income"], "k": 4},
    "permute": {"variables": ["status"], "share": 0.4, "within": ["region"]},
    "pram": {"variables": {"status": {"stay": 0.7}, "sex": {"stay": 0.9, "alpha": 0.5}}},
    "rank_swap": {"variables": ["income"], "window": 0.1},
    "safe": {"variables": ["region", "sex", "status"], "controls": [["region", "sex"], ["status"]]},
    "swap": {
        "household": "household", "areas": ["region"], "risk": ["status", "sex"],
        "similar": ["size"], "k": 3, "rate": 0.1,
    },
}  # fmt: skip


def people(number: int = 300) -> pl.DataFrame:
    """Persons in households, with codes that begin with 0."""
    draw = np.random.default_rng(11)
    household = np.sort(draw.integers(0, number // 2, number))
    frame = pl.DataFrame({"person": range(number), "household": household})
    region = draw.choice(["01", "02", "03"], number)
    return frame.with_columns(
        region=pl.Series(region[household]),
        sex=pl.Series(draw.choice(["m", "w"], number)),
        age=pl.Series(draw.integers(0, 90, number)),
        status=pl.Series(draw.choice(["s", "m", "d", "w"], number, p=[0.5, 0.4, 0.07, 0.03])),
        income=pl.Series(draw.integers(5, 90, number) * 100),
        size=pl.len().over("household"),
    )


def programme_file(
    folder: Path,
    records: pl.DataFrame,
    steps: Sequence[Mapping[str, Any]],
    secret: Secret,
    drop: Sequence[str],
    form: str = "csv",
) -> bytes:
    """What `discreet anonymise` makes of the same records, steps and secret."""
    records.write_csv(folder / "people.csv")
    secret.write(folder / "secret.key")
    lines = [
        '[data]\nsource = "people.csv"\n[keys]\nid = "person"\nsecret_file = "secret.key"',
        *(_step(each) for each in steps),
        f'[output]\nfile = "records.{form}"\ndrop = {json.dumps([*drop])}',
    ]
    (folder / "people.toml").write_text("\n".join(lines), "utf-8")
    made = anonymise(folder / "people.toml", folder / "out")
    assert made.path is not None
    return made.path.read_bytes()


def _step(step: Mapping[str, Any]) -> str:
    lines = ["[[steps]]"]
    for name, value in step.items():
        if isinstance(value, Mapping):
            lines += [
                f"{name}.{json.dumps(part)} = {{ "
                + ", ".join(f"{k} = {json.dumps(v)}" for k, v in said.items())
                + " }"
                for part, said in value.items()
            ]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines)
