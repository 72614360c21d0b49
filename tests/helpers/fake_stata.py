"""Plays Stata's batch mode: `fake_stata -b do FILE`, for tests of what runs Stata.

It reads a do-file, writes FILE.log beside it as Stata does, runs a few commands, and ends with code
0 whatever happens, as Stata does. `fdzsummarize`, `fdztabstat` and `fdztabulate` show what the ado
files show, and leave the evidence that these leave. Commands that begin with `fake_` misbehave.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import polars as pl

from discreet_fire.runners.builtin.data import DataSet, dta_bytes, read_data
from discreet_fire.statistics import SafeLimits, summarize, tabstat, tabulate


class FakeStata:
    """A session: data in memory, and a log."""

    def __init__(self, log: Path) -> None:
        self.log = log.open("w", encoding="utf-8")
        self.frame = pl.DataFrame()
        self.number = 0

    def say(self, text: str) -> None:
        self.log.write(f"{text}\n")
        self.log.flush()

    def do(self, path: Path) -> bool:
        """Run a do-file; False if it stopped."""
        loop = False
        for line in path.read_text(encoding="utf-8").splitlines():
            self.say(f"  2. {line}" if loop else f". {line}")
            loop = line.endswith("{") or (loop and line != "}")
            if not loop and not self.run(line.strip()):
                return False
        return True

    def run(self, line: str) -> bool:
        words = line.replace(",", " , ").split()
        words = words[1:] if words[:1] == ["quietly"] else words
        if words[:2] == ["exit", ","] or not words:
            return True
        name = getattr(self, f"_{words[0]}", None)
        if name is not None:
            return name(line, words) is not False
        return True

    def _use(self, line: str, words: list[str]) -> None:
        name = re.search(r'"(.*?)"', line)[1]
        data = read_data(Path(name))
        self.frame = (
            pl.read_csv(name) if name.endswith(".csv") else data.frame(list(data.variables))
        )

    _import = _use

    def _generate(self, line: str, words: list[str]) -> None:
        if "fdz_place" in words:
            self.frame = self.frame.with_row_index("fdz_place")
        else:
            expression = line.partition("=")[2].strip()
            self.frame = self.frame.with_columns(pl.sql_expr(expression).alias(words[1]))

    def _display(self, line: str, words: list[str]) -> None:
        found = re.search(r'"(.*)"', line)
        self.say(found[1] if found else f"{self.frame['wage'].max()}")

    def _do(self, line: str, words: list[str]) -> bool:
        self.say("")
        done = self.do(Path(re.search(r'"(.*)"', line)[1]))
        self.say(". \nend of do-file\n")
        return done

    def _keep(self, line: str, words: list[str]) -> None:
        before = self.frame.height
        self.frame = self.frame.filter(pl.sql_expr(line.partition(" if ")[2]))
        self.say(f"({before - self.frame.height} observations deleted)")

    def _drop(self, line: str, words: list[str]) -> None:
        self.frame = self.frame.drop(words[1:])

    def _error(self, line: str, words: list[str]) -> bool:
        self.say(f"r({words[1]});")
        return False

    def _chosen(self, line: str) -> pl.DataFrame:
        condition = line.partition(",")[0].partition(" if ")[2]
        return self.frame.filter(pl.sql_expr(condition)) if condition else self.frame

    def _evidence(self, command: str, frame: pl.DataFrame, names: list[str], by: str = "") -> None:
        if "DISCREET_EVIDENCE" not in os.environ:
            return
        self.number += 1
        place = os.environ["DISCREET_EVIDENCE"]
        kept = [*names, *([by] if by else []), *(["fdz_place"] if "fdz_place" in frame else [])]
        Path(f"{place}_{self.number}.dta").write_bytes(dta_bytes(DataSet.of(frame.select(kept))))
        told = {"command": command, "number": self.number, "variables": " ".join(names), "by": by}
        with Path(place).open("a") as file:
            file.write(json.dumps(told) + "\n")

    def _names(self, words: list[str]) -> list[str]:
        end = min([words.index(one) for one in ("if", ",") if one in words], default=len(words))
        return words[1:end]

    def _fdzsummarize(self, line: str, words: list[str]) -> None:
        names, frame = self._names(words), self._chosen(line)
        self._evidence("summarize", frame, names)
        found = summarize(frame, names, limits=SafeLimits()).frame
        self.say(
            "\n    Variable |        Obs        Mean    Std. Dev.\n" + "-" * 13 + "+" + "-" * 36
        )
        for row in found.to_dicts():
            numbers = ["." if row[one] is None else f"{row[one]:.8g}" for one in ("mean", "sd")]
            self.say(f"{row['variable']:>12} |{row['n']:>11,.0f}{numbers[0]:>12}{numbers[1]:>13}")

    def _fdztabstat(self, line: str, words: list[str]) -> None:
        names, frame, by = (
            self._names(words),
            self._chosen(line),
            re.search(r"by\((\w+)\)", line)[1],
        )
        self._evidence("tabstat", frame, names, by)
        for row in tabstat(frame, names, statistics="mean n", by=by).frame.to_dicts():
            self.say(f"{row[by]:>12} |{row['mean']:>12.7g}{row['n']:>10.0f}")

    def _fdztabulate(self, line: str, words: list[str]) -> None:
        names, frame = self._names(words), self._chosen(line)
        self._evidence("tabulate", frame, names)
        self.say(tabulate(frame, *names).shown)

    def _fdzregress(self, line: str, words: list[str]) -> None:
        self.say("   Number of obs = 400\n   _cons |  12.5")

    def _fake_hang(self, line: str, words: list[str]) -> None:
        time.sleep(1000)

    def _fake_crash(self, line: str, words: list[str]) -> None:
        self.log.flush()
        os.abort()

    def _fake_latin(self, line: str, words: list[str]) -> None:
        self.log.flush()
        self.log.buffer.write("M\xfcnchen\n".encode("latin-1"))

    def _fake_lie(self, line: str, words: list[str]) -> None:
        """Show another figure than the safe command would, with its evidence."""
        self._evidence("summarize", self.frame, ["wage"])
        self.say(f"        wage |        400    {self.frame['wage'].max():.8g}")

    def _fake_evidence(self, line: str, words: list[str]) -> None:
        with Path(os.environ["DISCREET_EVIDENCE"]).open("a") as file:
            file.write('{"command": "summarize", "numb\n[]\n{"command": 1}\n')


def main() -> None:
    assert sys.argv[1:3] == ["-b", "do"]
    program = Path(sys.argv[3])
    session = FakeStata(Path(f"{program.stem}.log"))
    session.say("  ___  ____  ____  ____  ____ (R)\n /__    /   ____/   /   ____/      a banner\n")
    session.do(program)
    session.log.close()


if __name__ == "__main__":
    main()
