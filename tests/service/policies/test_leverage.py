"""Exposure by leverage, held against dense least squares over all records that may be."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.disclosure import Axis, LayerExposure
from discreet_service.database import ServiceDatabase
from discreet_service.policies import LayerAxis, LayerFigures, Shape, leverage
from discreet_service.policies.exposure import MostExposed, ReleasedLayers
from discreet_service.policies.leverage import ShownFigures
from tests.helpers.policy_cases import ASKING, PolicedTown, Town, TownEvidence, policed

#: A place lies in one of three counties.
PLACES = np.array([0, 0, 1, 1, 1, 2])
SIZES = {"a": 2, "b": 3, "c": 4, "place": len(PLACES), "county": 3}


@dataclass
class Records:
    """Few records, of which cells are shown with noise; places lie in counties."""

    columns: Mapping[str, IntArray]
    draw: np.random.Generator

    @classmethod
    def drawn(cls, number: int, seed: int) -> Records:
        draw = np.random.default_rng(seed)
        columns = {name: draw.integers(0, size, number) for name, size in SIZES.items()}
        columns["county"] = PLACES[columns["place"]]
        return cls(columns, draw)

    def axis(self, variable: str) -> Axis:
        if variable == "place":
            above: dict[str, str | None] = dict.fromkeys("ABC")
            above |= {str(at): "ABC"[county] for at, county in enumerate(PLACES.tolist())}
            return Axis("place", Classification.from_parents("place", above, total="T"))
        codes = [str(code) for code in range(SIZES[variable])]
        return Axis(variable, Classification.flat(variable, codes, total="T"))

    def figures(self, names: Sequence[str]) -> LayerFigures:
        """A layer by some variables; county and place are two levels of one."""
        sizes = tuple(SIZES[name] for name in names)
        cell = np.zeros(len(self.columns["a"]), dtype=np.int64)
        for name, size in zip(names, sizes, strict=True):
            cell = cell * size + self.columns[name]
        counts = np.bincount(cell, minlength=int(np.prod(sizes))).astype(np.float64)
        figures = np.where(counts > 0, counts + self.draw.normal(size=len(counts)), 0.0)
        variables = ["place" if name == "county" else name for name in names]
        box = tuple(LayerAxis(each, name, size, None, each == "place")
                    for each, name, size in zip(variables, names, sizes, strict=True))  # fmt: skip
        levels = tuple(2 if name == "place" else 1 for name in names)
        return LayerFigures(box, levels, np.arange(len(counts)), figures, figures != 0)

    def whole(self, shape: Shape) -> Shape:
        return shape

    def layer_figures(self, shape: Shape, *, every: bool) -> Iterable[LayerFigures]:
        raise AssertionError(shape)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is no published figure")


def dense(layers: Sequence[LayerFigures]) -> FloatArray:
    """Exposures by the projection on everything that records can be where no figure is zero."""
    names = ("a", "b", "c", "place")
    every = [dict(zip(names, codes, strict=True))
             for codes in itertools.product(*(range(SIZES[name]) for name in names))]  # fmt: skip
    columns = {name: np.array([one[name] for one in every]) for name in names}
    columns["county"] = PLACES[columns["place"]]
    rows, noisy = list[BoolArray](), list[bool]()
    for layer in layers:
        sizes = [axis.size for axis in layer.box]
        for cell, shows in zip(layer.cells.tolist(), layer.noisy.tolist(), strict=True):
            place = np.unravel_index(cell, sizes) if sizes else ()
            row = np.ones(len(every), dtype=np.bool_)
            for axis, at in zip(layer.box, place, strict=True):
                row &= columns[axis.level] == at
            rows.append(row)
            noisy.append(shows)
    shown, there = np.array(rows, dtype=np.float64), np.array(noisy)
    shown = shown[:, ~(shown[~there] > 0).any(axis=0)]
    basis, sizes_of, _ = np.linalg.svd(shown[there], full_matrices=False)
    held = (basis[:, sizes_of > 1e-9 * sizes_of[0]] ** 2).sum(axis=1)
    exposure = np.zeros(len(there))
    exposure[there] = 1 / held
    return exposure


def layer_names(draw: np.random.Generator, margins: bool) -> list[tuple[str, ...]]:
    """The layers of some tables, with all their margins or none."""
    names: set[tuple[str, ...]] = set()
    for _ in range(int(draw.integers(1, 5))):
        by = draw.choice(["a", "b", "c", "place"], int(draw.integers(0, 4)), replace=False)
        options = [("county", "place") if name == "place" else (name,) for name in sorted(by)]
        if margins:
            every = itertools.product(*([None, *one] for one in options))
            names |= {tuple(name for name in one if name is not None) for one in every}
        else:
            names.add(tuple(one[-1] for one in options))
    return sorted(names)


@pytest.mark.parametrize("number", [2_000, 40])
@pytest.mark.parametrize("margins", [True, False])
def test_exposure_is_that_of_dense_least_squares(
    number: int, margins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leverage, "_LARGER", 0.0)  # zeros are known
    draw, most = np.random.default_rng(number + margins), 0.0
    for seed in range(12):
        records = Records.drawn(number, seed)
        layers = {one.key: one for one in map(records.figures, layer_names(draw, margins))}
        exposures = leverage._exposures(layers, records)
        expected = dense([layers[key] for key in exposures])
        exposure = np.concatenate(list(exposures.values()))
        clear = exposure > 0
        np.testing.assert_allclose(exposure[clear], expected[clear], rtol=1e-5)
        assert (expected[~clear] == 0).all()
        most = max(most, float(exposure.max()))
    assert most > 1.2, "nothing was averaged"


def test_places_of_one_county_are_enough_to_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that show whole families of places have all relations of these."""
    monkeypatch.setattr(leverage, "_LARGER", 0.0)
    draw = np.random.default_rng(5)
    for seed in range(8):
        records, layers = Records.drawn(1_500, seed), {}
        for names in layer_names(draw, True):
            layer = records.figures(names)
            if "place" in names:
                kept = draw.random(3) < 0.6
                at = np.unravel_index(layer.cells, [axis.size for axis in layer.box])
                kept = kept[PLACES[at[names.index("place")]]]
                layer = layer._replace(cells=layer.cells[kept], figures=layer.figures[kept],
                                       noisy=layer.noisy[kept])  # fmt: skip
            layers[layer.key] = layer
        exposures = leverage._exposures(layers, records)
        expected = dense([layers[key] for key in exposures])
        found = np.concatenate(list(exposures.values()))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_zeros_that_may_be_small_counts_are_less_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where counts of 1 and 2 are shown as zero, sums miss them, and a zero tells less."""
    exposure = []
    for larger in (0.0, leverage._LARGER):
        records, layers = Records.drawn(60, 3), {}
        names = ("a", "b", "c")
        for by in (chosen for k in range(4) for chosen in itertools.combinations(names, k)):
            layer = records.figures(by)
            figures = np.where(layer.figures < 2.5, 0.0, layer.figures)
            layers[layer.key] = layer._replace(figures=figures, noisy=figures != 0)
        monkeypatch.setattr(leverage, "_LARGER", larger)
        found = leverage._exposures(layers, records)
        exposure.append(max(float(one.max()) for one in found.values()))
    assert 1.5 < exposure[1] < 0.9 * exposure[0]


SPARSE = {"district": 6, "sex": 2, "age": 12, "work": 8}


def sparse_town(number: int) -> Town:
    return Town.drawn(number, 3, **SPARSE)


def refused(here: PolicedTown, by: tuple[str, ...], **where: Any) -> list[str]:
    verdict = here.policies.decide(
        here.town.asked(by, where), ASKING, here.town.evidence(by, where)
    )
    return [one.rule for one in verdict.refusing]


def limits(everywhere: float, district: float, more: str = "") -> Any:
    """A policy whose other rules let everything through."""
    return lambda text: (
        text.replace("everywhere = 6.4", f"everywhere = {everywhere}")
        .replace("district = 6.4, ", f"district = {district}, ")
        .replace("[small_universes]", f"{more}\n[small_universes]")
        .replace("share_small = 0.9\nshare_single = 0.9", "share_small = 1.0\nshare_single = 1.0")
    )


@pytest.mark.parametrize(("number", "answered"), [(20_000, True), (250, False)])
def test_a_sparse_table_is_refused_where_sizes_say_nothing(
    number: int, answered: bool, service_database: ServiceDatabase, tmp_path: Path
) -> None:
    """By sizes both towns have 1.5 × 13/12 × 9/8 × 7/6 = 2.13 independent figures."""
    here = policed(sparse_town(number), service_database, tmp_path, limits(3.0, 3.0))
    rules = refused(here, ("district", "sex", "age", "work"))
    assert rules == ([] if answered else ["P3"])


def test_nothing_but_published_figures_is_judged() -> None:
    """Two towns of which all figures are above zero are judged alike, however large they are."""

    class Figures:
        """The published figures of a town, and nothing else of it."""

        def __init__(self, number: int) -> None:
            own = sparse_town(number).evidence()
            self.axis, self.whole, self.layer_figures = own.axis, own.whole, own.layer_figures

    asked, found = sparse_town(20_000).asked(("district", "sex", "age")), []
    for number in (20_000, 30_000):
        evidence: Any = Figures(number)
        measured = ShownFigures().measured(asked, ReleasedLayers(), evidence, 6.4, {"district": 2})
        assert measured is not None
        found.append(round(measured.exposure, 4))
    assert found == [round(3 / 2 * 13 / 12 * 7 / 6, 4)] * 2


def test_other_counts_are_not_exposed_further(
    service_database: ServiceDatabase, tmp_path: Path
) -> None:
    """A table without a district that tells districts more than they may be told."""
    town = Town.drawn(20_000, 5, district=2, sex=2, age=2, work=2)
    here = policed(town, service_database, tmp_path, limits(60.0, 2.38))
    assert refused(here, ("district", "sex")) == []
    assert refused(here, ("age", "sex")) == ["P3"]
    assert refused(here, ("work",)) == []


def test_a_filter_counts_as_its_level() -> None:
    town = Town.drawn(20_000, 5, district=2, sex=2, age=2, work=2)
    exposure = []
    for first in ((), ("sex",)):
        released = ReleasedLayers()
        released.add(town.asked(first, {} if first else {"sex": 1}).shape)
        asked = town.asked(("age",), {"sex": 0})
        found = ShownFigures().measured(asked, released, town.evidence(), 60.0, {})
        assert found is not None
        exposure.append(found.exposure)
    for layers, one in zip(([], [{}]), exposure, strict=True):
        whole = LayerExposure({"sex": [2], "age": [2]})
        for layer in (*layers, {"sex": 1}, {"sex": 1, "age": 1}):
            whole.add(layer)
        assert one == pytest.approx(whole.exposures().max(), 1e-4)


@pytest.mark.parametrize("limit", ["MOST_CELLS", "MOST_FIGURES"])
@pytest.mark.parametrize("unexamined", ["", 'unexamined = "refuse"', 'unexamined = "sizes"'])
def test_too_many_cells_are_refused_unless_the_policy_goes_by_sizes(
    limit: str,
    unexamined: str,
    service_database: ServiceDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leverage, limit, 100)
    here = policed(sparse_town(20_000), service_database, tmp_path, limits(6.4, 6.4, unexamined))
    assert refused(here, ("sex",)) == []
    by_sizes = "sizes" in unexamined
    assert refused(here, ("district", "sex", "age")) == ([] if by_sizes else ["P3"])


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_others_are_answered_meanwhile_counts(
    meanwhile: bool,
    service_database: ServiceDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two processes: the second one is answered while the first one looks at the records."""
    nothing = MostExposed(exposure=0.0, limit=1.0, target=())
    monkeypatch.setattr(ReleasedLayers, "most_exposed", lambda *_: nothing)
    town = Town.drawn(20_000, 5, district=2, sex=2, age=2, work=2)
    first, second = (policed(town, service_database, tmp_path, limits(2.5, 9.0)) for _ in range(2))

    class Slow(TownEvidence):
        def universe_count(self) -> int:
            assert not meanwhile or second.ask(("age", "sex"))
            return super().universe_count()

    evidence = Slow(town, ("age", "work"), {})
    verdict = first.policies.decide(town.asked(("age", "work")), ASKING, evidence)
    assert [one.rule for one in verdict.refusing] == (["P3"] if meanwhile else [])
