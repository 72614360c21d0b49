"""Files of classifications, told apart by their suffix.

In and out: .hrc and .cdl (τ-ARGUS), .json, .toml and .csv, each also with .gz for
reading.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.classifications import documents, hrc
from discreet.classifications.text_files import file_error, read_text, save_text, suffix_of
from discreet.classifications.tree import TOTAL, CodeTree
from discreet.errors import ClassificationError

READABLE = (".hrc", ".json", ".toml", ".csv")
WRITABLE = (*READABLE, ".cdl")

PathLike = str | os.PathLike[str]


def read_tree(
    path: PathLike,
    *,
    name: str | None,
    total: str | None,
    codelist: PathLike | None,
    language: str,
    lead: str | None,
    strip: bool,
    encoding: str,
    missing: str | None,
) -> CodeTree:
    """Read a classification; see `Classification.read`."""
    given: object = path
    if not isinstance(given, str | os.PathLike):
        raise ClassificationError(
            f"the path of a file is needed, this is a {type(given).__name__}",
            code="classification-file",
            hint='such as Classification.read("region.hrc")',
        )
    source = Path(path)
    suffix = _known(source, READABLE)
    file = read_text(source, encoding)
    title = name or source.name.split(".")[0]
    if suffix == ".hrc":
        tree = hrc.read_hrc(file, title, total=total or TOTAL, lead=lead, strip=strip)
    elif suffix == ".csv":
        tree = documents.read_csv(file, title, total=total)
    elif suffix == ".json":
        tree = documents.read_json(file, name, total=total)
    else:
        tree = documents.read_toml(file, name, total=total)
    if codelist is None:
        return tree
    if missing is not None:
        tree = tree.replace(missing=missing)
    texts = hrc.read_cdl(read_text(codelist, encoding), tree, strip=strip)
    labels = {code: {**tree.labels.get(code, {}), language: text} for code, text in texts.items()}
    return tree.replace(labels={**tree.labels, **labels})


def write_tree(tree: CodeTree, path: PathLike, *, lead: str, language: str) -> Path:
    """Write a classification; see `Classification.write`."""
    target = Path(path)
    suffix = _known(target, WRITABLE)
    if suffix != target.suffix.lower():
        raise file_error("compressed files are read but not written", target, hint="leave out .gz")
    if suffix == ".hrc":
        text = hrc.hrc_text(tree, lead=lead)
    elif suffix == ".cdl":
        text = hrc.cdl_text(tree, language)
    elif suffix == ".csv":
        text = documents.csv_text(tree)
    elif suffix == ".json":
        text = documents.json_text(tree)
    else:
        text = documents.toml_text(tree)
    save_text(target, text)
    return target


def _known(path: Path, suffixes: tuple[str, ...]) -> str:
    suffix = suffix_of(path)
    if suffix not in suffixes:
        what = f"the suffix {suffix!r} is not that of a classification file"
        raise file_error(what, path, hint=f"known suffixes: {', '.join(suffixes)}")
    return suffix
