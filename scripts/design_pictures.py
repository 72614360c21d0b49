"""Draw the pictures of perturbation tables that the documentation shows.

In: nothing; the table is an example that nobody uses. Out: docs/images/design-*.png,
the same bytes each time.

    python scripts/design_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from discreet.assessment import disclosure_risk, trade_off
from discreet.assessment.pictures import (
    Picture,
    quality_curve,
    risk_curve,
    row_distributions,
    tableau,
    trade_off_curve,
    transition_heatmap,
)
from discreet.protection.noise.design import design_perturbation
from discreet.protection.noise.design.permutation import permuted

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"


def pictures() -> dict[str, Picture]:
    """Every picture by the name of its file."""
    example = design_perturbation(5, 3, (1, 2), name="example: D = 5, V = 3, never 1 or 2")
    others = {
        "D = 2, V = 1": design_perturbation(2, 1),
        "D = 3, V = 1.5": design_perturbation(3, 1.5),
        "D = 5, V = 3, never 1 or 2": example,
    }
    limits = {"1 in 10,000": 1e-4, "1 in 100,000": 1e-5, "1 in 1,000,000": 1e-6}
    return {
        "tableau": tableau(example),
        "tableau-permuted": tableau(permuted(example, seed=1, split=0.2), language="de"),
        "heatmap": transition_heatmap(example),
        "distributions": row_distributions(example),
        "quality": quality_curve(others),
        "risk": risk_curve({name: disclosure_risk(each) for name, each in others.items()}),
        "trade-off": trade_off_curve(
            {name: trade_off(range(2, 11), limit) for name, limit in limits.items()}
        ),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pictures into the folder named in `arguments`, or the documentation's."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        path = picture.save(folder / f"design-{name}.png")
        path.chmod(0o644)  # the example is not secret
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
