"""Runs lines of a do-file on a small frame, for the tests of the small Stata."""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from discreet_fire.runners.builtin.data import DataSet
from discreet_fire.runners.builtin.runner import Interpreter
from discreet_fire.runners.builtin.session import Session
from discreet_fire.runners.builtin.syntax import LETTERS, MISSING, STEP, steps_of
from discreet_fire.stata import parse_do
from discreet_fire.statistics import SafeLimits


def missing_letter(value: float) -> str:
    """The letter of a missing value: `.`, `.a` … `.z`."""
    number = round((value - MISSING) / STEP)
    return "." + (LETTERS[number - 1] if 1 <= number <= len(LETTERS) else "")


class Run:
    """What a program left behind: its session and its log; `files` are data that it may name."""

    def __init__(self, text="", frame=None, *, entity=None, files=None, seconds=None, folder=None):
        self.log, self.seconds = [], seconds
        place = folder or Path(tempfile.gettempdir())
        self.session = Session(place, SafeLimits(), entity, self.log.append)
        self.files = files or {}
        if folder is None:  # else files of this folder are read
            self.session.file = self.read
        if frame is not None:
            self.files["master.dta"] = frame
            self.session.data = self.read("master.dta")
        self.more(text)

    def read(self, name):
        """The data of a name, as of a file."""
        frame = self.files[name.strip('"')]
        data = DataSet.of(frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame))
        return self.session.numbered(data, Path(name))

    def more(self, text):
        """Run further lines."""
        lines = "\n".join(line.strip() for line in text.strip().splitlines())
        Interpreter(self.session, self.seconds).steps(steps_of(parse_do(lines)))

    def __getitem__(self, name):
        """The values of a variable; missing ones as `.`, `.a`, …"""
        values = self.session.data.variables[name].values
        return [
            one if isinstance(one, str) else missing_letter(one) if one >= MISSING else float(one)
            for one in values
        ]

    def rows(self, *places):
        """A mask of some records."""
        mask = np.zeros(self.session.data.rows, dtype=np.bool_)
        mask[list(places)] = True
        return mask

    @property
    def names(self):
        """The names of the variables in order."""
        return list(self.session.data.variables)

    @property
    def text(self):
        """The log."""
        return "\n".join(self.log)

    @property
    def verdicts(self):
        """The verdict of each output."""
        return [str(one.result.verdict) for one in self.session.outputs]
