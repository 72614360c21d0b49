"""Draw docs/images/architecture.svg from the code: packages, their layers, who uses whom.

In: the layers of import-linter in pyproject.toml, the first line of each package's docstring,
the imports of all modules. Out: one SVG, the same bytes for the same code.

    python scripts/architecture_picture.py [--check]

With --check nothing is written; the exit code is 1 if the picture is not that of the code.
"""

from __future__ import annotations

import ast
import html
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

#: On which side of the confidentiality line each room stands. A room without a side is an
#: error, so that a new package has to be put somewhere.
SIDES: dict[str, dict[str, tuple[str, ...]]] = {
    "confidential": {
        "discreet": (
            "microdata", "tabulation", "rules", "disclosure", "protection", "pretabular",
            "synthesis",
        ),
        "discreet_fire": (
            "statistics", "runners", "logs", "linked_tables", "units", "queue", "extras",
            "research_session", "review_report", "append_only",
        ),
        "discreet_service": (
            "datasets", "cells", "reviews", "parameter_sets", "jobs", "policies", "people", "audit",
            "database", "backup", "installation",
        ),
    },
    "public": {
        "discreet": ("publication", "derived"),
        "discreet_fire": (),
        "discreet_service": ("releases", "client", "facades"),
    },
    "both": {
        "discreet": ("cli", "demo", "release", "operations", "assessment", "tables", "store"),
        "discreet_fire": ("cli",),
        "discreet_service": (
            "cli", "demo", "processes", "application", "studio", "web", "service", "queries",
            "upkeep",
        ),
    },
    "neither": {
        "discreet": (
            "classifications", "key_check", "keygrid", "files", "memory_limit", "record_batches",
            "solver", "compiled", "kernels", "arrays", "confidential", "plugins", "settings",
            "errors", "faces", "renderings",
        ),
        "discreet_fire": (
            "rewriting", "flow", "scripts", "stata", "catalogue", "texts", "persons", "findings",
            "finding_words",
        ),
        "discreet_service": ("operation", "settings", "permissions", "problems", "last_used"),
    },
}  # fmt: skip
COLOURS = {
    "confidential": ("#f7dede", "#a33"),
    "public": ("#dff0df", "#383"),
    "both": ("#f5efd9", "#976f1b"),
    "neither": ("#e8ecf2", "#567"),
}
LEGEND = {
    "confidential": "holds true values, records or programs of researchers",
    "both": "from the confidential side to what may be published",
    "public": "holds protected values only",
    "neither": "knows no data",
}
#: The way of a record to a published cell, and of a do-file to a released log.
WAYS = {
    "discreet": ("microdata", "tabulation", "tables", "rules", "protection", "derived",
                 "publication", "release"),
    "discreet_fire": ("stata", "flow", "rewriting", "runners", "statistics", "logs", "units",
                      "queue"),
    "discreet_service": ("web", "people", "policies", "datasets", "queries", "audit"),
}  # fmt: skip
WIDTH, GAP, ROW, BOX = 560, 40, 92, 62


@dataclass(frozen=True)
class Room:
    """A package or module of the first level, and where it is drawn."""

    name: str
    text: str
    side: str
    left: float
    top: float
    width: float

    @property
    def middle(self) -> float:
        """Where arrows start and end."""
        return self.left + self.width / 2


def layers_of(package: str) -> list[list[str]]:
    """The layers that import-linter holds, highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract.get("containers") == [package] and contract["type"] == "layers":
            rows = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
            return [row for row in rows if not row[0].startswith("(__main__")]
    raise SystemExit(f"no layers of {package} in pyproject.toml")


def summary(package: str, room: str) -> str:
    """The first line of its docstring, up to the first full stop or colon of words."""
    folder = ROOT / "src" / package / room
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    line = (ast.get_docstring(tree) or "").split("\n")[0]
    if not line:
        raise SystemExit(f"{path} has no docstring")
    return line.replace("`", "").split(". ")[0].rstrip(".")


def imports(package: str) -> Iterator[tuple[str, str]]:
    """Pairs of rooms of which the first imports the second, also inside functions."""
    source = ROOT / "src" / package
    for path in sorted(source.rglob("*.py")):
        user = path.relative_to(source).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = node.module.split(".")
                names = parts[1:2] or [alias.name for alias in node.names]
                if parts[0] == package:
                    yield from ((user, name) for name in names if name != user)


def side_of(package: str, room: str) -> str:
    """The side of a room."""
    for side, rooms in SIDES.items():
        if room in rooms[package]:
            return side
    raise SystemExit(f"say in {Path(__file__).name} on which side {package}.{room} stands")


def rooms_of(package: str, left: float, top: float) -> dict[str, Room]:
    """The rooms of a package, a row per layer."""
    found = {}
    for number, row in enumerate(layers_of(package)):
        width = (WIDTH - 24 * (len(row) - 1)) / len(row)
        for place, name in enumerate(row):
            found[name] = Room(
                name=name,
                text=summary(package, name),
                side=side_of(package, name),
                left=left + place * (width + 24),
                top=top + number * ROW,
                width=width,
            )
    return found


def nearest_uses(package: str, rooms: dict[str, Room]) -> list[tuple[str, str]]:
    """Who uses whom, without what follows from others' uses."""
    uses: dict[str, set[str]] = {name: set() for name in rooms}
    for user, used in imports(package):
        if user in uses and used in rooms:
            uses[user].add(used)

    def reached(start: str, seen: set[str]) -> set[str]:
        for name in uses[start]:
            if name not in seen:
                seen.add(name)
                reached(name, seen)
        return seen

    pairs = []
    for user, direct in uses.items():
        further = {name for other in direct for name in reached(other, set())}
        pairs += [(user, used) for used in sorted(direct - further)]
    return sorted(pairs)


def box(package: str, room: Room) -> str:
    """One room: name, what it is, its step on the way."""
    fill, line = COLOURS[room.side]
    letters = int((room.width - 20) / 6.4)
    text = textwrap.shorten(room.text, letters * 2, placeholder=" …")
    lines = textwrap.wrap(text, letters)[:2]
    parts = [
        f'<rect x="{room.left:.0f}" y="{room.top:.0f}" width="{room.width:.0f}" height="{BOX}" '
        f'rx="6" fill="{fill}" stroke="{line}"/>',
        f'<text x="{room.left + 10:.0f}" y="{room.top + 20:.0f}" class="n">{room.name}</text>',
    ]
    for number, words in enumerate(lines):
        parts.append(
            f'<text x="{room.left + 10:.0f}" y="{room.top + 37 + 15 * number:.0f}" '
            f'class="t">{html.escape(words)}</text>'
        )
    if room.name in WAYS[package]:
        step = WAYS[package].index(room.name) + 1
        x, y = room.left + room.width - 18, room.top + 16
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="11" fill="{line}"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" class="s">{step}</text>')
    return "\n".join(parts)


def arrow(user: Room, used: Room, number: int, right: float) -> str:
    """An arrow from a room to one it uses; long ones run in the margin."""
    start, end = user.top + BOX, used.top
    if end - start < ROW:
        return (
            f'<path d="M{user.middle:.0f},{start:.0f} L{used.middle:.0f},{end - 5:.0f}" class="a"/>'
        )
    # Long ways run in the gap below the user, the margin, and the gap above what is used.
    lane = number % 5
    out = right + 12 + 9 * lane
    below, above = start + 5 + 3 * lane, end - 9 - 3 * lane
    x, y = user.middle + 40 + 12 * lane, used.middle + 40 + 12 * lane
    return (
        f'<path d="M{x:.0f},{start:.0f} V{below:.0f} H{out:.0f} V{above:.0f} '
        f'H{y:.0f} V{end - 5:.0f}" class="a"/>'
    )


def panel(package: str, title: str, left: float, top: float) -> tuple[str, float]:
    """One package of the distribution, and where it ends."""
    rooms = rooms_of(package, left, top + 34)
    parts = [f'<text x="{left}" y="{top + 14}" class="h">{title}</text>']
    uses = nearest_uses(package, rooms)
    long = 0
    for user, used in uses:
        far = rooms[used].top - rooms[user].top > ROW + 1
        parts.append(arrow(rooms[user], rooms[used], long, left + WIDTH))
        long += far
    parts += [box(package, room) for room in rooms.values()]
    return "\n".join(parts), top + 34 + len(layers_of(package)) * ROW


def legend(left: float, top: float) -> str:
    """What the colours, numbers and arrows mean."""
    parts = []
    for number, (side, words) in enumerate(LEGEND.items()):
        fill, line = COLOURS[side]
        y = top + 24 * number
        parts.append(
            f'<rect x="{left}" y="{y}" width="22" height="15" rx="3" fill="{fill}" '
            f'stroke="{line}"/><text x="{left + 30}" y="{y + 12}" class="t">{words}</text>'
        )
    sentences = (
        "An arrow: uses, and with it all that is used there.",
        "Numbers: the way of a record to a published cell,",
        "of a do-file to a released log,",
        "and of a question to its answer.",
    )
    for number, sentence in enumerate(sentences):
        y = top + 24 * len(LEGEND) + 16 + 17 * number
        parts.append(f'<text x="{left}" y="{y}" class="t">{sentence}</text>')
    return "\n".join(parts)


def drawing() -> str:
    """The whole picture."""
    left, right = 20, 20 + WIDTH + 60 + GAP
    first, end = panel("discreet", "discreet: records in, publication out", left, 20)
    second, other = panel(
        "discreet_fire",
        "discreet_fire: programs and logs of researchers (uses discreet)",
        right,
        20,
    )
    far = right + WIDTH + 60 + GAP
    third, last = panel(
        "discreet_service", "discreet_service: the same over HTTP (uses both)", far, 20
    )
    key = legend(right, other + 10)
    height = max(end, other + 190, last) + 10
    width = far + WIDTH + 60
    style = (
        "text{font-family:Helvetica,Arial,sans-serif}.h{font-size:17px;font-weight:bold}"
        ".n{font-size:15px;font-weight:bold}.t{font-size:12px;fill:#333}"
        ".s{font-size:12px;fill:#fff;text-anchor:middle;font-weight:bold}"
        ".a{fill:none;stroke:#777;marker-end:url(#e)}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
        f'role="img" aria-label="Packages of discreet and who uses whom">\n'
        f"<style>{style}</style>\n"
        '<defs><marker id="e" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<path d="M0,0 L7,3 L0,6 z" fill="#777"/></marker></defs>\n'
        f'<rect width="{width}" height="{height:.0f}" fill="#fff"/>\n'
        f"{first}\n{second}\n{third}\n{key}\n</svg>\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Draw, or hold the picture against the code."""
    made = drawing()
    if "--check" in arguments:
        current = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == made
        print("the picture is current" if current else "draw it anew: make picture")
        return 0 if current else 1
    PICTURE.write_text(made, encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
