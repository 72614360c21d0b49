"""How many findings `discreet fire pre` has in SPSS and SAS programs of a folder.

In: a folder with one folder for each collection of programs. Out: a line for each collection and
language: files, lines, places to review and causes for 100 lines. Nothing is run or written.

    python bench/package_programs.py FOLDER
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from discreet.errors import OutputCheckError
from discreet_fire.findings import Severity, causes
from discreet_fire.rewriting.sas_programs import rewrite_sas
from discreet_fire.rewriting.spss_programs import rewrite_spss
from discreet_fire.texts import read_source

REWRITERS = {".sps": rewrite_spss, ".sas": rewrite_sas}


def measured(folder: Path, suffix: str) -> Counter[str]:
    """Counts of one collection."""
    found: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() != suffix or not path.is_file():
            continue
        try:
            text = read_source(path).text
        except OutputCheckError:
            found["unreadable"] += 1
            continue
        done = REWRITERS[suffix](text, folder=path.parent)
        reviews = [one for one in done.findings if one.severity is Severity.REVIEW]
        found["files"] += 1
        found["lines"] += text.count("\n") + 1
        found["reviews"] += len(reviews)
        found["causes"] += len(causes(reviews))
        found["refused"] += sum(one.severity is Severity.REFUSED for one in done.findings)
        found["wrapped"] += sum(edit.action == "wrapped" for edit in done.edits)
        found["errors"] += done.refused
    return found


def main(arguments: list[str]) -> int:
    """Measure all collections of a folder."""
    for suffix in REWRITERS:
        for folder in sorted(each for each in Path(arguments[0]).iterdir() if each.is_dir()):
            start = time.perf_counter()
            found = measured(folder, suffix)
            if found["lines"]:
                rates = [100 * found[each] / found["lines"] for each in ("reviews", "causes")]
                took = time.perf_counter() - start
                told = f"per 100 lines: {rates[0]:.2f} {rates[1]:.2f}, {took:.1f} s"
                print(suffix, folder.name, dict(found), told)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
