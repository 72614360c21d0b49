"""Build what people install: wheel, source archive, bill of materials, checksums.

In: the files that git tracks, or those of a source archive. Out, in `dist/`: a wheel and a
source archive, the same bytes each time; what they bring along as CycloneDX; SHA-256 of all
three, signed if there is a key.

    python scripts/packages.py dist [--sign-key office.key]
    python scripts/packages.py dist --verify-key office.pub
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
SUMS, SIGNATURE, BILL = "SHA256SUMS", "SHA256SUMS.sig", "discreet.cdx.json"
#: Files carry no clock time; archives of the ZIP format begin in 1980.
EPOCH = 315_532_800
#: What is built in a folder of its own, so that leftovers of earlier builds stay outside.
_BUILD = "import sys; from setuptools import build_meta; build_meta.{}(sys.argv[1])"
_LEFT_OUT = {".git", ".venv", "build", "dist", "demo-output"}
_LOCKED = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")


def build(dist: Path) -> list[Path]:
    """Make wheel, source archive and bill of materials anew."""
    dist.mkdir(parents=True, exist_ok=True)
    for old in (*dist.glob("discreet-*"), *(dist / name for name in (SUMS, SIGNATURE, BILL))):
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source", Path(folder) / "made"
        made.mkdir()
        for file in _sources():
            target = source / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, target)
            target.chmod(0o644)
        settings = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "PYTHONHASHSEED": "0"}
        for step in ("build_sdist", "build_wheel"):
            command = [sys.executable, "-c", _BUILD.format(step), str(made)]
            done = subprocess.run(command, cwd=source, env=settings, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
        (wheel,), (archive,) = made.glob("*.whl"), made.glob("*.tar.gz")
        (dist / wheel.name).write_bytes(_plain_zip(wheel))
        (dist / archive.name).write_bytes(_plain_tar(archive))
    bill = dist / BILL
    bill.write_text(json.dumps(bill_of_materials(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    return [dist / wheel.name, dist / archive.name, bill]


def _sources() -> list[str]:
    """The files that git tracks; those that are there, where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        every = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return sorted(str(path) for path in every if not _LEFT_OUT.intersection(path.parts))
    return sorted(file for file in listed.split("\0") if file and (ROOT / file).is_file())


def _plain_zip(path: Path) -> bytes:
    """The same files by name, without times, owners or hints at the machine."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in sorted(old.namelist()):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr, info.create_system = 0o100644 << 16, 3
            new.writestr(info, old.read(name), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def _plain_tar(path: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            if not member.isfile():
                continue
            plain = tarfile.TarInfo(member.name)
            plain.size, plain.mtime, plain.mode = member.size, EPOCH, 0o644
            new.addfile(plain, old.extractfile(member))
    return gzip.compress(out.getvalue(), 9, mtime=0)


# -- bill of materials -------------------------------------------------------------


def bill_of_materials() -> dict[str, Any]:
    """What installing brings along, in CycloneDX 1.6: packages in the versions that are pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = metadata.version("discreet")
    locked = dict(_LOCKED.findall((ROOT / "constraints.txt").read_text("utf-8")))
    names = sorted(_closure(project["dependencies"]))
    parts = [_part(name, locked) for name in names]
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "discreet",
                "name": "discreet",
                "version": version,
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": f"pkg:pypi/discreet@{version}",
            }
        },
        "components": parts,
        "dependencies": [
            {"ref": "discreet", "dependsOn": _refs(project["dependencies"], parts)},
            *({"ref": p["bom-ref"], "dependsOn": _refs(_needs(p["name"]), parts)} for p in parts),
        ],
    }
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {**body, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}"}


def _closure(requirements: list[str]) -> set[str]:
    """Names of all packages that these need, without extras that nobody asks for."""
    found: set[str] = set()
    waiting = list(_names(requirements))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _names(_needs(name))
    return found


def _names(requirements: list[str]) -> Iterator[str]:
    for text in requirements:
        needed = Requirement(text)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield _normal(needed.name)


def _needs(name: str) -> list[str]:
    return metadata.requires(name) or []


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _part(name: str, locked: dict[str, str]) -> dict[str, Any]:
    about: Any = metadata.metadata(name)
    pinned = {_normal(each): version for each, version in locked.items()}
    if pinned.get(name) != metadata.version(name):
        raise SystemExit(f"{name}: installed is another version than constraints.txt pins")
    licence = about.get("License-Expression") or _licence(about)
    return {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": pinned[name],
        "licenses": [{"license": {"name": licence}}],
        "purl": f"pkg:pypi/{name}@{pinned[name]}",
    }


def _licence(about: Any) -> str:
    """What a package says of its licence, in a line."""
    classes = [each for each in about.get_all("Classifier") or [] if each.startswith("License ::")]
    named = [each.rpartition(" :: ")[2] for each in classes]
    text = next(iter((about.get("License") or "").strip().splitlines()), "")
    return ", ".join(named) or text or "not stated"


def _refs(requirements: list[str], parts: list[dict[str, Any]]) -> list[str]:
    known = {part["name"] for part in parts}
    return sorted(known.intersection(_names(requirements)))


# -- checksums ---------------------------------------------------------------------


def sums_of(files: list[Path]) -> str:
    """A line for each file, as sha256sum writes and reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    return "\n".join(sorted(lines, key=lambda line: line[66:])) + "\n"


def sign(dist: Path, key: Path) -> None:
    """Sign the checksums with a key that ``discreet params keys`` made."""
    from discreet.release.packages.keys import read_signing_key

    signature = read_signing_key(key).sign((dist / SUMS).read_bytes())
    (dist / SIGNATURE).write_text(base64.b64encode(signature).decode() + "\n", "ascii")


def verify(dist: Path, key: Path) -> list[str]:
    """What is wrong with the files of a folder; nothing if they are as they were signed."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from discreet.release.packages.keys import read_verify_key

    sums, signature = dist / SUMS, dist / SIGNATURE
    if not sums.is_file() or not signature.is_file():
        return [f"{SUMS} and {SIGNATURE} are needed in {dist}"]
    try:
        signed = base64.b64decode(signature.read_text("ascii"), validate=False)
        Ed25519PublicKey.from_public_bytes(read_verify_key(key)).verify(signed, sums.read_bytes())
    except (InvalidSignature, ValueError):
        return [f"{SUMS} was not signed by this key"]
    wrong = []
    for line in sums.read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        file = dist / Path(name).name
        if not file.is_file():
            wrong.append(f"{name} is missing")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            wrong.append(f"{name} is not as it was signed")
    return wrong


def main() -> int:
    """Build, sign or verify."""
    parser = argparse.ArgumentParser(description="Build what people install.")
    parser.add_argument("dist", type=Path)
    parser.add_argument("--sign-key", type=Path, help="key of the office, to sign with")
    parser.add_argument("--verify-key", type=Path, help="build nothing; verify what is there")
    given = parser.parse_args()
    if given.verify_key is not None:
        wrong = verify(given.dist, given.verify_key)
        print("\n".join(wrong) or "All files are as they were signed.")
        return int(bool(wrong))
    files = build(given.dist)
    (given.dist / SUMS).write_text(sums_of(files), "utf-8")
    if given.sign_key is not None:
        sign(given.dist, given.sign_key)
    for file in sorted(given.dist.iterdir()):
        print(f"{file.stat().st_size:>12,}  {file}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
