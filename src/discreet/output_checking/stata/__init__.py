"""Stata do-files taken apart, with every command word at its place.

In: the text of a do-file. Out: statements, tokens, findings. Nothing is run and nothing is
changed here.
"""

from discreet.output_checking.stata.model import DoFile, Kind, Reading, Statement, Why, Word
from discreet.output_checking.stata.names import (
    canonical,
    command_names,
    is_community,
    is_prefix,
    prefix_kind,
)
from discreet.output_checking.stata.parsing import parse_do
from discreet.output_checking.stata.tokens import Token

__all__ = [
    "DoFile",
    "Kind",
    "Reading",
    "Statement",
    "Token",
    "Why",
    "Word",
    "canonical",
    "command_names",
    "is_community",
    "is_prefix",
    "parse_do",
    "prefix_kind",
]
