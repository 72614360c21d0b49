"""Sessions of random tables: after `protect` nobody finds a small cell, whoever looks.

The outsider here is no part of discreet: one linear program over all combinations of values, with
every number that is shown, solved by SciPy.
"""

import itertools
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import discreet_fire as fire
from discreet.errors import OutputCheckError
from discreet_fire.research_session import ResearchSession

NAMES = ("a", "b", "c")


def _people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(40, 160))
    values = {name: draw.choice(list("xyzw")[: draw.integers(2, 5)], size) for name in NAMES}
    return pl.DataFrame(values)


def _session(seed: int) -> tuple[ResearchSession, pl.DataFrame]:
    people = _people(seed)
    draw = np.random.default_rng(seed + 1)
    session = fire.session("P", data=people)
    spans = [one for width in (1, 2, 3) for one in itertools.combinations(NAMES, width)]
    chosen = draw.choice(len(spans), size=int(draw.integers(2, 5)), replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in chosen.tolist():
            session.crosstab(list(spans[at]))
    return session, people


def _told(session: ResearchSession, people: pl.DataFrame) -> list[str]:
    """Hidden small cells that an outsider knows to be smaller than three."""
    labels = [sorted(set(people[name].to_list())) for name in NAMES]
    atoms = list(itertools.product(*labels))
    rows, ends, hidden = [], [], []
    least = np.zeros(len(atoms))
    for output in session.outputs:
        names = [name for name, _ in output.table.axes]
        for line in output.frame.rows(named=True):
            wanted = {name: line[name] for name in names if line[name] != "Total"}
            member = np.array(
                [all(atom[NAMES.index(name)] == one for name, one in wanted.items())
                 for atom in atoms], dtype=float,
            )  # fmt: skip
            if line["n"] is None:
                hidden.append((f"{output.number} {wanted}", member, wanted))
            else:
                rows.append(member)
                ends.append(line["n"])
    found = []
    for name, member, wanted in hidden:
        true = people.filter(**wanted).height
        if not 0 < true < 3:
            continue
        least_of = np.array([one for _, one, _ in hidden])
        done = linprog(
            -member,
            A_eq=rows or None,
            b_eq=ends or None,
            A_ub=-least_of,
            b_ub=[-float(people.filter(**one).height > 0) for _, _, one in hidden],
            bounds=[(low, None) for low in least],
        )
        if done.status == 0 and -done.fun < 3 - 1e-6:
            found.append(name)
    return found


def _held(seeds: range) -> tuple[int, int]:
    """How many sessions gave cells away before, and after they were protected."""
    before = after = 0
    for seed in seeds:
        session, people = _session(seed)
        before += bool(_told(session, people))
        try:
            session.protect()
        except OutputCheckError:  # nothing protects them; then nothing is written either
            with pytest.raises(OutputCheckError, match="linked"):
                session.finalise("never")
            continue
        told = _told(session, people)
        assert not told, (seed, told)
        assert not session.check().linked
        after += bool(told)
    return before, after


def test_some_sessions() -> None:
    _, after = _held(range(3))
    assert after == 0


@pytest.mark.exhaustive
def test_many_sessions() -> None:
    before, after = _held(range(3, 15))
    assert before > 0  # there was something to protect
    assert after == 0
