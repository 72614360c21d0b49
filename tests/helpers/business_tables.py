"""Tables of a published file of business records, as problems in the form of τ-ARGUS.

In: the records and the tree of regions. Out: the text of a `.jj` file: all combinations of
codes, also empty ones, costs scaled to 20,000, and the sensitive cells of the p% rule.
"""

import gzip
from collections import Counter
from decimal import Decimal
from itertools import product
from pathlib import Path

#: code → the code it is a part of; the total is None's child and comes first.
Tree = dict[str, str | None]

SCALE, PERCENT, MISSING = 20_000, 10, "99"


def records(folder: Path) -> list[dict[str, str]]:
    """Columns of the records that the tables use."""
    text = gzip.decompress((folder / "tau_testW.asc.gz").read_bytes()).decode()
    return [
        {
            "Year": line[0:2].strip(),
            "Ind": line[3:8].strip(),
            "Size": line[8:10].strip(),
            "Reg": line[11:13].strip(),
            "value": line[27:37].strip(),
        }
        for line in text.splitlines()
    ]


def flat(codes: set[str]) -> Tree:
    """A total and its codes."""
    return {"Total": None, **dict.fromkeys(sorted(codes), "Total")}


def regions(path: Path) -> Tree:
    """The tree of a hierarchy file: as many @ as there are levels above."""
    tree: Tree = {"Total": None}
    above = ["Total"]
    for line in path.read_text().splitlines():
        code = line.lstrip("@").strip()
        depth = len(line) - len(line.lstrip("@"))
        if code:
            above = [*above[: depth + 1], code]
            tree[code] = above[depth]
    return tree


def industries(codes: set[str]) -> Tree:
    """Groups of three and of four digits; a group of a single code is that code."""
    groups = {code[:digits] for code in codes for digits in (3, 4)} | codes
    tree: Tree = {"Total": None}
    for group in sorted(groups):
        tree[group] = next((group[:d] for d in (4, 3) if d < len(group)), "Total")
    children = Counter(tree.values())
    for group in [group for group in tree if group != "Total" and children[group] == 1]:
        (child,) = (code for code, parent in tree.items() if parent == group)
        tree[child] = tree.pop(group)
        children[group] = 0
    return tree


def problem_text(rows: list[dict[str, str]], trees: dict[str, Tree]) -> str:
    """A `.jj` file of the table over these variables."""
    chains = {
        name: {code: list(_chain(tree, code)) for code in tree} for name, tree in trees.items()
    }
    cells = list(product(*trees.values()))
    number = {cell: at for at, cell in enumerate(cells)}
    value, largest = [Decimal(0)] * len(cells), [[Decimal(0)] * 2 for _ in cells]
    count = [0] * len(cells)
    for row in rows:
        own = Decimal(row["value"])
        for cell in product(*(chains[name][row[name]] for name in trees)):
            at = number[cell]
            value[at] += own
            count[at] += 1
            largest[at] = sorted([*largest[at], own], reverse=True)[:2]
    most = max(value)
    lines = ["0", str(len(cells))]
    for at, own in enumerate(value):
        lines.append(_line(at, own, count[at], largest[at], most))
    sums = list(_sums(trees, number))
    return "\n".join([*lines, str(len(sums)), *sums]) + "\n"


def _chain(tree: Tree, code: str | None) -> list[str]:
    return [] if code is None else [code, *_chain(tree, tree[code])]


def _line(at: int, value: Decimal, count: int, largest: list[Decimal], most: Decimal) -> str:
    rest = value - sum(largest)
    level = largest[0] * PERCENT / 100 - rest
    sensitive = value > 0 and level > 0
    level = max(level, Decimal("0.01")) if sensitive else Decimal(0)
    mark = "u" if sensitive else "s" if count else "z"
    cost = max(1, int(value * SCALE / most + Decimal("0.5")))
    return f"{at} {value} {cost} {mark} 0 {most} {level} {level} 0"


def _sums(trees: dict[str, Tree], number: dict[tuple[str, ...], int]) -> list[str]:
    found = []
    for place, tree in enumerate(trees.values()):
        parts: dict[str, list[str]] = {}
        for code, parent in tree.items():
            if parent is not None:
                parts.setdefault(parent, []).append(code)
        others = [other for at, other in enumerate(trees.values()) if at != place]
        for around in product(*others):
            for parent, codes in parts.items():
                row = [number[(*around[:place], code, *around[place:])] for code in codes]
                whole = number[(*around[:place], parent, *around[place:])]
                body = " ".join(f"{cell} (1)" for cell in row)
                found.append(f"0 {len(row) + 1} : {whole} (-1) {body}")
    return found


def table(reference: Path, *names: str) -> str:
    """The table of some of the variables Year, Size, Reg, Ind."""
    rows = records(reference / "argus")
    seen = {name: {row[name] for row in rows} for name in names}
    made = {}
    for name, codes in seen.items():
        tree = industries(codes) if name == "Ind" else flat(codes)
        if name == "Reg":
            tree = regions(reference / "argus" / "region2.hrc")
        # The code of missing values is there in any case.
        made[name] = tree if MISSING in codes else tree | {MISSING: "Total"}
    return problem_text(rows, made)
