"""Invented firms, and the table programme that hides cells of their figures.

In: a folder and a seed. Out: firms as a Parquet file, their branches and states as code trees,
and a programme over them. A few firms are giants, some divisions have few firms in a state,
some firms belong together: what cell suppression is for. All of it is invented.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from discreet.arrays import AnyArray, IntArray
from discreet.demo.census import PROGRAMME
from discreet.demo.classifications import coded, finest_codes, state_of
from discreet.demo.draws import Outcomes, Stream, skewed
from discreet.demo.geography import Geography
from discreet.files import atomic_path, check_writable, write_text

# By section: the middle of employees, and of turnover per employee in EUR 1,000.
_EMPLOYEES = (32, 30, 20, 18, 20, 18)
_TURNOVER = (190, 620, 150, 340, 110, 120)
_EMPLOYEES_SPREAD, _TURNOVER_SPREAD = 1.0, 0.5

_FIRMS_PER_STATE = 200
_FOLLOWING = 0.3  # the share of firms that are where people live; others are spread evenly
_GIANTS, _GIANT = 100, 8  # one firm of so many is so many times as large
_IN_HOLDINGS, _HOLDING = 7, 3  # one firm of so many belongs to a holding, of so many firms

_COUNTRY = 20_000  # the firms are the same ones for every size of census
_FIRMS_STREAM = 2**64 - 2
_FIRMS, _BRANCH_FILE, _STATE_FILE = "firms.parquet", "branch.json", "state.json"


def firms_of(country: Geography) -> pl.DataFrame:
    """The firms of a country: branch, state, holding, employees, turnover in EUR 1,000.

    >>> firms = firms_of(Geography.of(20_000, seed=2026))
    >>> len(firms), firms["holding"].n_unique() < len(firms)
    (600, True)
    """
    stream = Stream(country.seed, _FIRMS_STREAM)
    number = _FIRMS_PER_STATE * len(country.states)
    codes = finest_codes("branch")
    sections = list(dict.fromkeys(code.above for code in codes))
    section_of = np.array([sections.index(code.above) for code in codes])
    division = Outcomes.of([[code.share for code in codes]]).pick(stream.draw(number))
    inhabitants = np.bincount(country.municipality_state, weights=country.population)
    shares = _FOLLOWING * inhabitants + (1 - _FOLLOWING) * inhabitants.mean()
    state = Outcomes.of([shares]).pick(stream.draw(number))
    section = section_of[division]
    order = stream.order(number)
    chances = skewed(_EMPLOYEES, [_EMPLOYEES_SPREAD] * len(_EMPLOYEES), least=1, most=2_000)
    employees = chances.pick(stream.draw(number), section)
    employees[order[-(number // _GIANTS) :]] *= _GIANT
    per_employee = skewed(_TURNOVER, [_TURNOVER_SPREAD] * len(_TURNOVER), least=5, most=20_000)
    turnover = employees * per_employee.pick(stream.draw(number), section)
    return pl.DataFrame(
        {
            "firm_id": np.arange(1, number + 1),
            "holding": _holdings(order, division),
            "branch": np.array([code.code for code in codes])[division],
            "state": np.array(country.states)[state],
            "employees": employees,
            "turnover": turnover,
        }
    )


def _holdings(order: IntArray, division: AnyArray) -> IntArray:
    """The number of the holding of each firm: that of its first firm, or the firm's own."""
    members = order[: len(order) // _IN_HOLDINGS]
    # Mostly of one branch: a holding matters where its firms share a cell.
    members = members[np.argsort(division[members], kind="stable")]
    first = np.arange(len(members)) // _HOLDING * _HOLDING
    holding = np.arange(1, len(order) + 1)
    holding[members] = holding[members[first]]
    return holding


def write_firms(folder: str | os.PathLike[str], seed: int = 2026) -> Path:
    """Write invented firms, with a programme that hides cells of their figures.

    Returns:
        The programme file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_firms(folder).name
    'programme.toml'
    """
    country, place = Geography.of(_COUNTRY, seed), Path(folder)
    check_writable(place)
    with atomic_path(place / _FIRMS) as temporary:
        firms_of(country).write_parquet(temporary)
    coded("branch").write(place / _BRANCH_FILE)
    state_of(country).write(place / _STATE_FILE)
    programme = place / PROGRAMME
    text = files("discreet.demo").joinpath("firms.toml").read_text("utf-8")
    write_text(programme, text, private=True)  # as the rules of real programmes must be
    return programme
