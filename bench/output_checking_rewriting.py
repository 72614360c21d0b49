"""Rewrite a megabyte of do-files: processor seconds, the least of some rounds.

    python bench/output_checking_rewriting.py [FILE.do ...] [--size 1000000] [--rounds 5]

Files are written one after another until the size is reached; without any, the programs
that the tests are made on: one like those of researchers, all of them with every lexical
trap, and one that changes the names in each copy, so that no line of its comes twice. The
promise is under two seconds. `--old FOLDER` measures another version (a folder with its
`src`) in turn, and prints the ratio.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "tests" / "fire" / "data" / "stata_corpus"
_NAME = re.compile(r"(?<![\w`#\\/%_.])[a-z_]\w{2,}(?![\w(])")
_WORDS = frozenset(("using", "robust", "cluster", "detail", "statistics", "noobs", "delimit"))


def texts(files: list[str], size: int) -> dict[str, str]:
    """The programs by their name."""
    from discreet_fire.texts import read_source

    def joined(paths: list[Path]) -> str:
        return "".join(f"{read_source(path).text}\n#delimit cr\n" for path in paths)

    if files:
        return {"files": _filled(joined([Path(file) for file in files]), size)}
    real = joined([CORPUS / "panel_wages.do"])
    every = joined(sorted(CORPUS.glob("*.do")))
    return {
        "a program": _filled(real, size),
        "all programs": _filled(every, size),
        "a program, new names": _filled(real, size, renamed=True),
        "all programs, new names": _filled(every, size, renamed=True),
    }


def _filled(text: str, size: int, *, renamed: bool = False) -> str:
    """Copies of a text, up to a size, each with names of its own if wanted."""
    from discreet_fire.catalogue.command_names import canonical

    copies, length = [], 0
    while length < size:
        number = len(copies)

        def name(found: re.Match[str], number: int = number) -> str:
            word = found.group()
            return word if canonical(word) or word in _WORDS else f"{word}{number}"

        copies.append(_NAME.sub(name, text) if renamed else text)
        length += len(copies[-1])
    return "".join(copies)[:size]


def serve(files: list[str], size: int) -> None:
    """Rewrite what is asked for on each line of the input, and say how long it took."""
    from discreet_fire.rewriting.do_files import rewrite

    known = texts(files, size)
    rewrite(next(iter(known.values()))[:10_000])
    print("\t".join(known), flush=True)
    for line in sys.stdin:
        text = known[line.strip()]
        start = time.process_time()
        done = rewrite(text)
        seconds = time.process_time() - start
        print(f"{seconds}\t{text.count(chr(10))}\t{len(done.edits)}", flush=True)


class Worker:
    """A version of the package in a process of its own."""

    def __init__(self, source: Path | None, options: argparse.Namespace) -> None:
        command = [sys.executable, __file__, "--serve", "--size", str(options.size)]
        path = {"PYTHONPATH": str(source / "src")} if source else {}
        self._process = subprocess.Popen(
            [*command, *options.files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **path},
        )  # fmt: skip
        self.names = self._line().split("\t")

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def seconds(self, name: str) -> list[str]:
        """Seconds, lines and edits of one run."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return self._line().split("\t")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--old", type=Path, help="folder of another version")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.files, options.size)
        return
    here, old = Worker(None, options), Worker(options.old, options) if options.old else None
    print(f"{'':<26}{'lines':>8}{'edits':>8}{'least s':>9}{'median s':>10}{'of old':>8}")
    for name in here.names:
        times, ratios = [], []
        for _ in range(options.rounds):
            before = float(old.seconds(name)[0]) if old else 0.0
            seconds, lines, edits = here.seconds(name)
            times.append(float(seconds))
            ratios.append(times[-1] / before if old else 0.0)
        ratio = f"{statistics.median(ratios):>8.2f}" if old else ""
        least, median = min(times), statistics.median(times)
        print(f"{name:<26}{lines:>8}{edits:>8}{least:>9.2f}{median:>10.2f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
