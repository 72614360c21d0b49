"""Runs lines of a do-file on a small frame, for the tests of the runner."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

import polars as pl

from discreet_fire.runners.builtin.data.dataset import DataSet
from discreet_fire.runners.builtin.disclosure.units import number_microdata
from discreet_fire.runners.builtin.interpreter import Interpreter
from discreet_fire.runners.builtin.language.steps import steps_of
from discreet_fire.runners.builtin.language.values import MISSING, letter_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.stata.parser import parse_do
from discreet_fire.statistics.limits import SafeLimits


class Run:
    """What a program left behind: its session and its log."""

    def __init__(self, text, frame=None, folder=None, **settings):
        self.log = []
        # Without a folder of its own a run has one that goes when it is forgotten.
        if folder is None:
            folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        folder = Path(folder)
        self.session = Session(folder, SafeLimits(), tell=self.log.append, **settings)
        if frame is not None:
            self.session.data = DataSet.of(
                frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
            )
            number_microdata(self.session, self.session.data)
        self.more(text)

    def more(self, text):
        """Run further lines."""
        lines = "\n".join(line.strip() for line in text.strip().splitlines())
        Interpreter(self.session).steps(steps_of(parse_do(lines)))

    def __getitem__(self, name):
        """The values of a variable; missing ones as `.`, `.a`, …"""
        values = self.session.data.variables[name].values
        return [
            one if isinstance(one, str) else letter_of(one) if one >= MISSING else float(one)
            for one in values
        ]

    def kind(self, name):
        """The storage type of a variable."""
        return self.session.data.variables[name].kind

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
        return [str(one.result.verdict) for one in self.session.log.outputs]
