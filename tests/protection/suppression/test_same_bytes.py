"""Problems, patterns, audits and attacks stay the same, byte for byte, until somebody says why not.

`digests.json` holds the first figures of SHA-256 digests. Where a change is meant, write the file
again with ``python -m tests.protection.suppression.test_same_bytes``, and say in the change which
entries differ and which leak that closes.
"""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import demo
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression
from discreet.protection.suppression.methods import branch_and_cut
from tests.protection.suppression.methods.test_never_absurd import firm_records

DIGESTS = Path(__file__).with_name("digests.json")
#: Thirty have each combination of methods, values and zeros (by remainders of 2, 3 and 5) once.
QUICK, ALL = (0, 1, 3, 7, 9, 10, 11), range(30)
TREE = {"N": None, "S": None, "a": "N", "b": "N", "c": "S", "d": "S", "e": "S"}


def short(*parts: Any) -> str:
    """The first figures of a digest over texts, bytes and arrays."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else bytes(part))
        digest.update(b"|")
    return digest.hexdigest()[:16]


def records_of(seed: int) -> pl.DataFrame:
    """Records of five variables of which none determines another."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(300, 1_500))
    columns: dict[str, Any] = {
        name: draw.choice(list(codes), size, p=draw.dirichlet(np.full(len(codes), 2.0)))
        for name, codes in (("region", "abcde"), ("sex", "mwd"), ("age", "01234"), ("work", "xyz"))
    }
    return pl.DataFrame({**columns, "sales": np.rint(draw.lognormal(3, 1.2, size))})


def queries_of(seed: int) -> list[list[Any]]:
    """What spans two to four tables; where they share a variable, it has the same name."""
    draw = np.random.default_rng(1_000 + seed)
    region = dc.Classification.from_parents("region", TREE)
    variables = [region, "sex", "age", "work"]
    chosen = [
        sorted(draw.choice(4, int(draw.integers(1, 4)), replace=False).tolist())
        for _ in range(int(draw.integers(2, 5)))
    ]
    return [[variables[at] for at in own] for own in dict.fromkeys(map(tuple, chosen))]


def programme(seed: int) -> str:
    """One programme: the digest of its problem, its pattern, its tables and their audit.

    The records are at hand: they add nothing where tables are linked by names.
    """
    frame, value = records_of(seed), None if seed % 2 else "sales"
    rules = [dc.rules.MinimumFrequency(3)] + ([] if value is None else [dc.rules.PPercent(10)])
    told = {"values": ["sales"], "contributions": 3} if value else {}
    tables = [
        dc.tabulate(frame, by=by, name=f"t{at}", **told) for at, by in enumerate(queries_of(seed))
    ]
    judged = [dc.primary(table, rules, value=value) for table in tables]
    try:
        done = Suppression.of(
            list(zip(tables, judged, strict=True)),
            method="auto" if seed % 3 == 0 else "fast",
            zero_cells="partners" if seed % 5 == 0 else "fixed",
            seed=seed,
            records=frame,
        )
    except SuppressionError as refused:
        return short(refused.code, *(problem.where for problem in refused.problems))
    audit = dc.audit(list(done.tables), tables, judged, records=frame)
    cells = [safe.to_polars().write_csv() for safe in done.tables]
    verdict = "open" if audit.verdict == "open" else "safe"
    pattern = np.packbits(done.pattern.hidden)
    return short(done.problem.digest(), pattern, *cells, audit.digest(), verdict)


#: Tables of firms, from two variables to three, and how much work a search does, in steps.
SEARCHED = (((9, 7), 4.0, 1), ((6, 5, 3), 6.0, 2), ((4, 3, 3), 9.0, 2))
WORK = 2e7


def searches(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Patterns with their bounds, of searches that end early: work is counted, not timed."""
    monkeypatch.setattr(branch_and_cut, "_LEAST", WORK)
    monkeypatch.setattr(branch_and_cut, "_MOST", WORK)
    digests = {}
    for sizes, rate, seed in SEARCHED:
        by = list("abc"[: len(sizes)])
        table = dc.tabulate(firm_records(sizes, rate, seed), by, values=["v"], contributions=2)
        judged = dc.primary(table, [dc.rules.PPercent(10)], value="v")
        for method in ("fast", "auto"):
            for insiders in ("off", "levels"):
                done = Suppression.of((table, judged), method=method, insiders=insiders)
                name = f"{'x'.join(map(str, sizes))} {method} {insiders}"
                digests[name] = short(done.pattern.digest())
    return digests


def firms() -> dict[str, str]:
    """The files of the release of the demonstration's firms, and what its audit says."""
    with tempfile.TemporaryDirectory() as folder:
        place, out = Path(folder) / "firms", Path(folder) / "release"
        place.mkdir()
        file = demo.write_firms(place)
        dc.protect(file, out)
        digests = {}
        for path in sorted([*out.rglob("*.csv"), out / "suppression.json"]):
            digests[f"firms {path.relative_to(out)}"] = short(path.read_bytes())
        internal = json.loads(
            (file.parent / "internal" / "suppression-internal.json").read_text("utf-8")
        )
        proofs = json.dumps([each["values"] for each in internal["systems"]], sort_keys=True)
        return {**digests, "firms internal": short(_timeless(proofs))}


def _timeless(text: str) -> str:
    """The internal report without how long things took, and without last digits."""

    def without(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: without(own) for key, own in item.items() if "seconds" not in key}
        if isinstance(item, float):
            return f"{item:.6g}"
        return [without(own) for own in item] if isinstance(item, list) else item

    return json.dumps(without(json.loads(text)), sort_keys=True)


def attacks() -> dict[str, str]:
    """What attackers on the release of a small demonstration find."""
    with tempfile.TemporaryDirectory() as folder:
        census = Path(folder) / "census"
        census.mkdir()
        demo.write_census(census, persons=2_000)
        file = demo.write_programme(census)
        dc.protect(file, Path(folder) / "release")
        report = dc.attack(Path(folder) / "release", knows="table")
        return {"attack": short(_timeless(json.dumps(report.described(), default=str)))}


def test_small_programmes() -> None:
    """Some programmes that are linked by names."""
    known = json.loads(DIGESTS.read_text("utf-8"))
    assert {str(seed): programme(seed) for seed in QUICK} == {str(s): known[str(s)] for s in QUICK}


def test_searches_that_end_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither patterns nor bounds change, of tables that are not solved to the end."""
    known = json.loads(DIGESTS.read_text("utf-8"))
    found = searches(monkeypatch)
    assert found == {name: known.get(name) for name in found}


@pytest.mark.exhaustive
def test_all_programmes() -> None:
    """All of them, the release of the firms, and attacks on the demonstration."""
    known = json.loads(DIGESTS.read_text("utf-8"))
    now = {str(seed): programme(seed) for seed in ALL} | firms() | attacks()
    assert now == {name: known.get(name) for name in now}


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patched:
        found = searches(patched)
    found = {str(seed): programme(seed) for seed in ALL} | firms() | attacks() | found
    DIGESTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
