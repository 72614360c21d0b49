"""Cases of the runner that read files from disk: delimited texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.run_cases.cases import found, same
from tests.helpers.run_data import Run


@dataclass(frozen=True)
class OnDisk:
    """A file, lines that read it, and what comes out."""

    content: bytes
    lines: str
    wanted: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its name among the tests."""
        return self.lines

    def check(self, folder: Path) -> None:
        """Fail unless what comes out is what is wanted."""
        (folder / "d.csv").write_bytes(self.content)
        run = Run(self.lines, folder=folder)
        for key, value in self.wanted.items():
            same(found(run, key), value, f"{self.lines} -> {key}", 1e-12)


COMMAS = b'Id,Name,x\n1,a,1.5\n2,"b, c",\n'
PLAIN = b"1,a\n2,b\n"
TABS = b"id,x,y\tname\n1\ta,b\n"
MIXED = b"a;b;c,d\n1;2;3,4\n"
LATIN = "id,name\n1,ü\n".encode("latin-1")

DISK = [
    OnDisk(COMMAS, f"{word} d.csv, clear", {
        "names": ["id", "name", "x"], "id": [1, 2], "name": ["a", "b, c"], "x": [1.5, "."],
        "type id": "byte", "type x": "float"})
    for word in ("import delimited", "import delimited using", "insheet using")
] + [
    case
    for word in ("import delimited", "insheet using")
    for case in (
        OnDisk(COMMAS, f"{word} d.csv\ngenerate k = 1\n{word} d.csv, clear", {
            "names": ["id", "name", "x"]}),
        OnDisk(COMMAS, f"{word} d.csv, case(preserve)", {"names": ["Id", "Name", "x"]}),
        OnDisk(COMMAS, f"{word} d.csv, case(upper)", {"names": ["ID", "NAME", "X"]}),
        OnDisk(COMMAS, f"{word} d.csv, stringcols(1)", {"id": ["1", "2"]}),
        OnDisk(COMMAS, f"{word} d.csv, stringcols(_all)", {"x": ["1.5", ""]}),
        OnDisk(PLAIN, f"{word} d.csv", {"names": ["v1", "v2"], "v1": [1, 2]}),
        OnDisk(COMMAS, f"{word} d.csv, varnames(nonames)", {"v1": ["Id", "1", "2"]}),
        OnDisk(COMMAS, f"{word} d.csv, nonames", {"v1": ["Id", "1", "2"]}),
        OnDisk(PLAIN, f"{word} d.csv, varnames(1)", {"names": ["_1", "a"]}),
        OnDisk(PLAIN, f"{word} d.csv, names", {"names": ["_1", "a"]}),
        OnDisk(TABS, f"{word} d.csv, delimiters(\"\\t\")", {"name": ["a,b"]}),
        OnDisk(TABS, f"{word} d.csv, tab", {"name": ["a,b"]}),
        OnDisk(MIXED, f"{word} d.csv, comma", {"names": ["abc", "d"], "d": [4]}),
        OnDisk(MIXED, f"{word} d.csv", {"names": ["a", "b", "cd"]}),
        OnDisk(LATIN, f"{word} d.csv, encoding(\"latin1\")", {"name": ["ü"]}),
    )
]  # fmt: skip
