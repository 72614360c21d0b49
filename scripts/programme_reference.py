"""The reference of programme files: each section's keys, from its model and their texts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from discreet.release.programme import rule_sections, schema, sources, suppression_sections
from discreet.release.programme.schema import method_settings

TEXTS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    files("discreet.release.programme").joinpath("keys.toml").read_text("utf-8")
)
MODELS: Mapping[str, type[BaseModel]] = {
    "programme": schema.Document,
    "data": sources.DataEntry,
    "data.reading": sources.DataEntry,
    "data.calibrate": sources.CalibrateEntry,
    "keys": sources.KeysEntry,
    "keys.derived": sources.KeysEntry,
    "period": sources.PeriodEntry,
    "sources.NAME": sources.SourceEntry,
    "sources.NAME.keys": sources.SourceKeysEntry,
    "perturbation": schema.PerturbationEntry,
    "parameters": schema.ParametersEntry,
    "publication": schema.PublicationEntry,
    "release": schema.SealEntry,
    "magnitudes.COLUMN": schema.MagnitudeEntry,
    "figures": schema.FiguresEntry,
    "parts": schema.PartsEntry,
    "suppression": suppression_sections.SuppressionEntry,
    "rules.NAME": rule_sections.RuleSetEntry,
    "slivers": schema.SliversEntry,
    "quality": schema.QualityEntry,
    "attacks": schema.AttacksEntry,
    "variables.NAME": schema.VariableEntry,
    "variables.NAME.kinds": schema.VariableEntry,
    "tables.NAME": schema.TableEntry,
    "tables.NAME.figures": schema.FigureEntry,
    "tables.NAME.areas": schema.AreasEntry,
    "tables.NAME.map": schema.MapEntry,
    "tables.NAME.available": schema.AvailableEntry,
    "tables.NAME.flows": schema.FlowsEntry,
    "tables.NAME.quantiles": schema.QuantilesEntry,
    "tables.NAME.notes": schema.CellNoteEntry,
    "tables.NAME.marks": schema.MarkEntry,
    **{f"protection.{name}": form for name, form in method_settings().items()},
}


def table_of_keys(section: str) -> Iterator[str]:
    """Lines of Markdown: the keys of a section with meaning and default."""
    fields = {field.alias or key: field for key, field in MODELS[section].model_fields.items()}
    rows = []
    for keys, entry in TEXTS[section].items():
        texts = entry if isinstance(entry, dict) else {"text": entry}
        defaults = [default for key in keys.split() if (default := shown_default(fields.get(key)))]
        rows.append(
            (
                ", ".join(f"`{key}`" for key in keys.split()),
                texts["text"],
                texts.get("default") or ", ".join(defaults),
                texts.get("of", ""),
            )
        )
    columns = [number for number in range(4) if any(row[number] for row in rows)]
    header = ("key", "meaning", "default", "of")
    for row in (header, ("---",) * 4, *rows):
        yield "".join(f"| {row[number].replace('|', chr(92) + '|')} " for number in columns) + "|"


def shown_default(field: FieldInfo | None) -> str:
    """The default of a key as a programme states it; empty if there is none."""
    if field is None or field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if value in (None, "", [], {}, ()) or isinstance(value, BaseModel):
        return ""
    if isinstance(value, dict):
        return "`{ " + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + " }`"
    if isinstance(value, bool | str | list | tuple):
        return f"`{json.dumps(value)}`"
    return f"{value:g}" if isinstance(value, float | int) else f'`"{value}"`'
