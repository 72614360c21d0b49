"""A release made with a package beside that of the office: all but the name of the package."""

import json
import re

_NAMED = re.compile(
    rb"<div><dt>(Package of parameters|Parameterpaket)</dt><dd>[^<]*</dd></div>\n"
    rb"|( \xc2\xb7 )?(Package of parameters|Parameterpaket): <span>[^<]*</span>"
)

#: What lists the digests of files that name the package.
_LISTS = ("release.json", ".discreet/release.json", "release.seal")


def without_package(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a release as they are if nothing names the package.

    Pages lose the line that names it; release.json loses what it says of it, and the digests
    of the pages. What the state of the release remembers of these is left out.
    """
    found = {name: data for name, data in files.items() if name not in _LISTS}
    for name in found:
        if name.startswith("index."):
            found[name] = _NAMED.sub(b"", found[name])
    manifest = json.loads(files["release.json"])
    manifest.pop("parameters", None)
    manifest["reports"] = {
        name: digest
        for name, digest in manifest["reports"].items()
        if not name.startswith("index.")
    }
    return {**found, "release.json": json.dumps(manifest).encode()}
