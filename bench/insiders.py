"""What it costs to keep insiders out: open cells and cost by aim, kind by kind.

    python bench/insiders.py [tables per kind] [method]

The tables and the attacker are those of the tests: one linear program per contributor, cell and
direction, written apart from the library.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.insiders_apart import KINDS, InsiderCase, insider_case

AIMS = ("off", "exact", "levels")


def outcome(case: InsiderCase, method: str, **options: Any) -> tuple[int, int, float]:
    """Cells that insiders compute, cost of the secondaries, and CPU seconds."""
    began = time.process_time()
    safe = case.suppressed(method, **options)
    spent = time.process_time() - began
    cells, sensitive = case.cells(), case.sensitive()
    cost = sum(cells[each][0] for each in case.blanks(safe) - sensitive if each in cells)
    return len({cell for _, cell in case.computed(safe)}), cost, spent


def main() -> None:
    """Print one line per kind of table."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    method = sys.argv[2] if len(sys.argv) > 2 else "fast"
    print("| tables | open without | open with | cost: exact, levels / without | CPU s |")
    print("|---|---|---|---|---|")
    for span, per in KINDS:
        sums = [[0, 0, 0.0] for _ in AIMS]
        for seed in range(number):
            case = insider_case(span, per, seed)
            for at, aim in enumerate(AIMS):
                for place, each in enumerate(outcome(case, method, insiders=aim)):
                    sums[at][place] += each
        (before, cost, short), (some, exact, _), (after, levels, long) = sums
        print(
            f"| {number} {span}, {per}s | {before} | {some + after} | {exact / cost:.2f}, "
            f"{levels / cost:.2f} | {short / number:.2f} to {long / number:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
