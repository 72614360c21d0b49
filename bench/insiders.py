"""What it costs to keep insiders out: open cells and cost with and without, kind by kind.

    PYTHONPATH=src:. python bench/insiders.py [tables per kind] [method]

The tables and the attacker are those of the tests: one linear program per contributor, cell and
direction, written apart from the library.
"""

from __future__ import annotations

import sys
import time

from tests.helpers.insiders_apart import KINDS, InsiderCase, insider_case


def outcome(case: InsiderCase, method: str, **options: object) -> tuple[int, int, float]:
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
    print("| tables | open without | open with | cost with / without | CPU s with / without |")
    print("|---|---|---|---|---|")
    for span, per in KINDS:
        sums = [[0, 0, 0.0], [0, 0, 0.0]]
        for seed in range(number):
            case = insider_case(span, per, seed)
            for at, options in enumerate(({"singletons": False}, {})):
                for place, each in enumerate(outcome(case, method, **options)):
                    sums[at][place] += each
        (before, cost, short), (after, dearer, long) = sums
        print(
            f"| {number} {span}, {per}s | {before} | {after} | {dearer / cost:.2f} | "
            f"{long / number:.2f} / {short / number:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
