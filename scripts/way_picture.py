"""Draw the way from microdata to publication: docs/images/way.svg, and way-de.svg in German.

    python scripts/way_picture.py [FOLDER]

In: the words below. Out: two pictures without scripts or fonts of their own.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"

#: By file: title, both sides of the line, and lanes of boxes with a heading and two lines.
WORDS = {
    "way.svg": (
        "The way from microdata to publication",
        "CONFIDENTIAL",
        "MAY BE PUBLISHED",
        {
            "Tables": (
                ("Microdata", "one row per unit,", "each with a record key"),
                ("Table", "true values,", "all totals, cell keys"),
                ("Protection", "cell key, suppression,", "rounding, noise"),
                ("Protected table", "values and", "their status"),
                ("Release", "XLSX, HTML, PX, SDMX,", "maps, quality report"),
            ),
            "On demand": (
                ("Query", "table builder", "or API"),
                ("Policy", "answer, review", "or refusal"),
                ("Protection", "same cell,", "same value"),
                ("Answer", "in the reader's format,", "logged in the audit trail"),
            ),
            "Research": (
                ("Program", "Stata, R, Python,", "SPSS, SAS"),
                ("Safe commands", "discreet rewrites", "the program"),
                ("Review", "discreet cleans the log,", "a reviewer decides"),
                ("Released output", "compared with all", "earlier outputs"),
            ),
        },
    ),
    "way-de.svg": (
        "Der Weg von den Einzeldaten zur Veröffentlichung",
        "VERTRAULICH",
        "ZUR VERÖFFENTLICHUNG",
        {
            "Tabellen": (
                ("Einzeldaten", "eine Zeile je Einheit,", "jede mit Record-Key"),
                ("Tabelle", "wahre Werte, alle", "Summen, Cell-Keys"),
                ("Geheimhaltung", "Cell-Key, Sperrung,", "Rundung, Überlagerung"),
                ("Geschützte Tabelle", "Werte und", "ihr Zustand"),
                ("Veröffentlichung", "XLSX, HTML, PX, SDMX,", "Karten, Qualitätsbericht"),
            ),
            "Auf Abruf": (
                ("Abfrage", "Tabellenbaukasten", "oder Schnittstelle"),
                ("Regeln", "Antwort, Prüfung", "oder Ablehnung"),
                ("Geheimhaltung", "gleiches Feld,", "gleicher Wert"),
                ("Antwort", "im gewünschten Format,", "im Prüfprotokoll vermerkt"),
            ),
            "Forschung": (
                ("Programm", "Stata, R, Python,", "SPSS, SAS"),
                ("Sichere Befehle", "discreet schreibt", "das Programm um"),
                ("Prüfung", "bereinigtes Log,", "eine Person entscheidet"),
                ("Freigegebene Ausgabe", "verglichen mit allen", "früheren Ausgaben"),
            ),
        },
    ),
}

WIDTH, HEIGHT = 1200, 560
#: Left edges of the columns; the line of confidentiality lies between the third and the fourth.
COLUMNS = (24, 256, 488, 752, 984)
BOX, TALL, LINE, TOP, STEP = 192, 92, 716, 132, 138
CONFIDENTIAL, PUBLIC = ("#fff3e6", "#b45309"), ("#e6f4f1", "#0f766e")


def text(x: float, y: float, words: str, *, size: int = 14, **looks: str) -> str:
    """One line of text; `looks` are attributes of SVG."""
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in looks.items())
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{attributes}>{escape(words)}</text>'


def box(at: int, top: int, words: tuple[str, str, str], *, wide: bool) -> list[str]:
    """A box of the column `at`, with its arrow from the column before."""
    left = COLUMNS[at]
    width = COLUMNS[-1] + BOX - left if wide else BOX
    fill, edge = CONFIDENTIAL if at < 3 else PUBLIC
    middle, half = left + width / 2, top + TALL / 2
    drawn = [
        f'<rect x="{left}" y="{top}" width="{width}" height="{TALL}" rx="10" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1.5"/>',
        text(middle, top + 31, words[0], size=16, font_weight="bold", text_anchor="middle"),
        text(middle, top + 55, words[1], text_anchor="middle"),
        text(middle, top + 75, words[2], text_anchor="middle"),
    ]
    if at:
        start = COLUMNS[at - 1] + BOX + 4
        path = f"M{start} {half:g}H{left - 10}"
        drawn.append(
            f'<path d="{path}" stroke="#475569" stroke-width="2.5" marker-end="url(#end)"/>'
        )
    return drawn


def picture(name: str) -> str:
    """The picture as SVG."""
    title, confidential, public, lanes = WORDS[name]
    middles = ((COLUMNS[0] + LINE) / 2, (LINE + COLUMNS[-1] + BOX) / 2)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" fill="#1e293b">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="5" '
        'markerHeight="5" orient="auto"><path d="M0 0L8 4L0 8z" fill="#475569"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="#ffffff"/>',
        text(COLUMNS[0], 46, title, size=26, font_weight="bold"),
        text(middles[0], 88, confidential, fill=CONFIDENTIAL[1], text_anchor="middle"),
        text(middles[1], 88, public, fill=PUBLIC[1], text_anchor="middle"),
        f'<path d="M{LINE} 72V{HEIGHT - 24}" stroke="#b91c1c" stroke-width="2.5" '
        'stroke-dasharray="8 7"/>',
    ]
    for row, (lane, boxes) in enumerate(lanes.items()):
        top = TOP + row * STEP
        drawn.append(text(COLUMNS[0], top - 10, lane, size=16, font_style="italic"))
        for at, words in enumerate(boxes):
            drawn += box(at, top, words, wide=at == 3 and len(boxes) == 4)
    return "\n".join([*drawn, "</svg>", ""])


def main(arguments: list[str]) -> int:
    """Write the pictures into the folder named in `arguments`, or the documentation's."""
    folder = Path(arguments[0]) if arguments else FOLDER
    for name in WORDS:
        (folder / name).write_text(picture(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
