"""The release as an entry of data catalogues: DCAT-AP and StatDCAT-AP, as JSON-LD and RDF/XML.

In: the imprint, released tables and their files. Out: two texts that say the same. Public: titles,
variables, files with their digests, and the notes on how figures were protected.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from discreet._version import __version__
from discreet.publication import LANGUAGES
from discreet.tables import Dimension, Imprint, ProtectedTable

_TABLES = tomllib.loads(
    resources.files("discreet.release.report").joinpath("catalogue.toml").read_text("utf-8")
)
#: The vocabularies, as both texts name them.
PREFIXES: Mapping[str, str] = _TABLES["prefixes"]
_TYPES: Mapping[str, str] = _TABLES["types"]
_AUTHORITY: Mapping[str, str] = _TABLES["languages"]
_MEDIA = "http://www.iana.org/assignments/media-types/"
_LANGUAGE = "http://publications.europa.eu/resource/authority/language/"

Node = dict[str, Any]


def catalogue_entry(
    *,
    address: str,
    title: Mapping[str, str],
    date: str | None,
    imprint: Imprint,
    languages: Sequence[str],
    tables: Sequence[ProtectedTable],
    files: Mapping[str, Mapping[str, str]],
) -> Node:
    """The data set and its distributions, as a tree of nodes.

    Args:
        address: Where the release will stand; empty for beside this file.
        title: language → heading of the release.
        date: The date of release.
        imprint: Who publishes it.
        languages: Its languages.
        tables: Its tables, with or without cells.
        files: table → file → SHA-256.
    """
    notes = {
        language: " ".join(
            dict.fromkeys(note.text(language) for table in tables for note in table.notes)
        )
        for language in languages
    }
    spanning: dict[str, Dimension] = {}  # each spanning variable once
    for dimension in (each for table in tables for each in table.spanning):
        spanning.setdefault(dimension.name, dimension)
    entry: Node = {
        "@id": address,
        "@type": "dcat:Dataset",
        "dct:title": _texts(title),
        "dct:description": _texts(
            {one: "; ".join(table.title(one) for table in tables) for one in languages}
        ),
        "dct:language": [{"@id": _LANGUAGE + _AUTHORITY[one]} for one in languages],
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": _texts(notes)},
        "stat:dimension": [
            {
                "@type": "stat:DimensionProperty",
                "rdfs:label": _texts({one: dimension.title(one) for one in LANGUAGES}),
            }
            for dimension in spanning.values()
        ],
        "dcat:distribution": [
            _distribution(address, table, file, digest)
            for table in tables
            for file, digest in files[table.name].items()
        ],
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": _texts(imprint.publisher)},
    }
    if date:
        entry["dct:issued"] = {"@value": date, "@type": "xsd:date"}
    if imprint.contact:
        contact = next(iter(imprint.contact.values()))
        own: Node = {"@type": "vcard:Organization", "vcard:fn": _texts(imprint.publisher)}
        own |= {"vcard:hasEmail": {"@id": f"mailto:{contact}"}} if "@" in contact else {}
        entry["dcat:contactPoint"] = own
    if imprint.licence:
        licence = {"@type": "dct:LicenseDocument", "rdfs:label": _texts(imprint.licence)}
        for distribution in entry["dcat:distribution"]:
            distribution["dct:license"] = licence
    if imprint.source:
        entry["dct:source"] = {"@type": "dcat:Dataset", "dct:title": _texts(imprint.source)}
    if imprint.reference_date:
        entry["dct:temporal"] = {
            "@type": "dct:PeriodOfTime",
            "rdfs:label": _texts(imprint.reference_date),
        }
    return entry


def _texts(texts: Mapping[str, str]) -> list[Node]:
    return [{"@value": text, "@language": one} for one, text in texts.items() if text]


def _distribution(address: str, table: ProtectedTable, file: str, digest: str) -> Node:
    """One file of a table."""
    suffix = PurePosixPath(file).suffix.removeprefix(".")
    language = next((one for one in LANGUAGES if f".{one}." in file), "en")
    return {
        "@type": "dcat:Distribution",
        "dct:title": _texts({language: table.title(language)}),
        "dcat:accessURL": {"@id": address + file},
        "dcat:downloadURL": {"@id": address + file},
        **({"dcat:mediaType": {"@id": _MEDIA + _TYPES[suffix]}} if suffix in _TYPES else {}),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": f"{PREFIXES['spdx']}checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@value": digest, "@type": "xsd:hexBinary"},
        },
    }


def json_ld(entry: Node) -> str:
    """The entry as JSON-LD."""
    return json.dumps({"@context": PREFIXES, **entry}, ensure_ascii=False, indent=1) + "\n"


def rdf_xml(entry: Node) -> str:
    """The entry as RDF/XML."""
    names = "".join(f"\n  xmlns:{name}={_quoted(address)}" for name, address in PREFIXES.items())
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<!-- discreet {__version__} -->\n'
        f"<rdf:RDF{names}>\n{''.join(_element(entry))}</rdf:RDF>\n"
    )


def _element(node: Node) -> Iterator[str]:
    """A node with its properties."""
    about = f" rdf:about={_quoted(node['@id'])}" if "@id" in node else ""
    yield f"<{node['@type']}{about}>\n"
    for name, values in node.items():
        for value in (values if isinstance(values, list) else [values]) if name[0] != "@" else ():
            if "@value" in value:
                kind = value.get("@type", "")
                prefix, _, local = kind.partition(":")
                own = f" rdf:datatype={_quoted(PREFIXES[prefix] + local)}" if kind else ""
                own += f" xml:lang={_quoted(value['@language'])}" if "@language" in value else ""
                yield f"<{name}{own}>{escape(value['@value'], quote=False)}</{name}>\n"
            elif "@type" in value:
                yield f"<{name}>\n"
                yield from _element(value)
                yield f"</{name}>\n"
            else:
                yield f"<{name} rdf:resource={_quoted(value['@id'])}/>\n"
    yield f"</{node['@type']}>\n"


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'
