"""Pictures of all pages of the studio, for the documentation and to be looked at.

python scripts/studio_pictures.py [NAME…] [--out FOLDER] [--looks] [--folder DEMONSTRATION]

In: a demonstration, made anew if none is named. Out: one small PNG per page; with --looks, also in
the dark, on a telephone and in German. Nothing in it is secret: its people are invented.
"""

from __future__ import annotations

import argparse
import base64
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
#: The largest file of a picture, and how tall one may be.
MOST_BYTES, TALLEST = 80_000, 1_400
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "-dark": {"color_scheme": "dark"},
    "-narrow": {"viewport": {"width": 360, "height": 740}},
    "-de": {"locale": "de-DE"},
}
_BY, _DISTRICTS = "unit=person&by=region:state,sex", "unit=person&by=region:district,sex"


@dataclass(frozen=True, kw_only=True, slots=True)
class StudioPicture:
    """A page to be shown.

    Args:
        name: Name of its file.
        person: Who looks at it; nobody in particular if empty.
        path: Its path.
        pressed: The button that is pressed before the picture is taken; none if empty.
        typed: What is filled in before, by field; "on" checks it.
        part: The part that is shown; the page from its top if empty.
    """

    name: str
    person: str
    path: str
    pressed: str = ""
    typed: tuple[tuple[str, str], ...] = ()
    part: str = ""


def _page(name: str, person: str, path: str, pressed: str = "", **more: Any) -> StudioPicture:
    return StudioPicture(name=name, person=person, path=path, pressed=pressed, **more)


_COMPARED = (("input[name=compared]", "on"),)
_IMPOSSIBLE = (("#a_exact", "0.5"),)
_EFFECT = (("#place", f"/tables/census?{_BY}"), ("input[name=true]", "on"))
_POLICY = "/policies/census/2022-1"
#: What was asked before anybody takes pictures; the last one is refused, and then overridden.
_ASKED = (
    ("rita", "unit=person&by=region:state,sex"),
    ("rita", "unit=person&by=region:municipality,sex"),
    ("paul", "unit=person&by=region:district,age5"),
    ("rita", "unit=dwelling&by=region:district"),
    ("rita", "unit=person&by=region:municipality,sex,marital_status,education:1"),
)
_SAVED = (("#statistic", "census"),)
#: Output 2 is held back, and output 3 would tell it.
_GIVEN_AWAY = (
    ("#v2-hold", "on"),
    ("#c2", "one firm dominates"),
    ("#rest", "on"),
    ("#reason", "looked at each output"),
)
_STRICTER = (
    ("[id='variables.depth.municipality']", "1"),
    ("[id='small_universes.least']", "60"),
)
_REASON = (("input[name=reason]", "less noise where it costs readers most"),)
#: Pages that no navigation leads to directly; those that it leads to are found.
DEEP = (
    _page("login", "", "/login"),
    _page("home-reader", "", "/"),
    _page("home", "rita", "/"),
    _page("account", "rita", "/account"),
    _page("help", "rita", "/help"),
    _page("builder-empty", "rita", "/tables/census"),
    _page("builder", "rita", f"/tables/census?{_BY}"),
    _page("result", "rita", f"/tables/census/result?{_BY}"),
    _page(
        "result-map", "rita", "/tables/census/result?unit=person&by=region:district,sex&chart=map"
    ),
    _page("basket", "rita", f"/tables/census/result?{_BY}", "form[action='/basket'] button"),
    _page(
        "result-figures",
        "rita",
        "/tables/census/result?unit=dwelling&by=region:district&measures=mean:rent,vacancy",
    ),
    _page("refused", "rita", "/tables/census/result?unit=person&by=region:municipality,sex,age5"),
    _page("large", "rita", "/tables/census/result?unit=person&by=region:municipality,age5"),
    _page("release", "", "/releases/census-2022"),
    _page("suppression-form", "paul", "/suppression?example=firms"),
    _page("suppression-outcome", "paul", "/suppression?example=firms", "button[value=run]"),
    _page("rounding-form", "paul", "/rounding?example=firms"),
    _page("rounding-outcome", "paul", "/rounding?example=firms", "button[value=run]"),
    _page("records-form", "paul", "/records?example=persons"),
    _page("records-outcome", "paul", "/records?example=persons", "button[value=run]"),
    _page("design-compared", "mira", "/designs", "button[value=draw]", typed=_COMPARED),
    _page("design-impossible", "mira", "/designs", "button[value=draw]", typed=_IMPOSSIBLE),
    _page(
        "design-effect", "mira", "/designs", "button[value=effect]", typed=_EFFECT, part="#effect"
    ),
    _page("design-save", "mira", "/designs", part=".tools"),
    _page("design-sets", "mira", "/designs", "button[value=save]", typed=_SAVED),
    _page("design-proposed", "mira", "/designs/sets", "button[value=activate]", typed=_REASON),
    _page("design-approval", "carl", "/approvals", "#proposals a"),
    _page("home-custodian", "carl", "/"),
    _page("person", "adam", "/people", "#people a:text-is('rita')"),
    _page("system-key", "adam", "/people", "#people a:text-is('demo-client')", part="main"),
    _page("policy", "cora", _POLICY),
    _page(
        "policy-propose",
        "cora",
        f"{_POLICY}/changes",
        ".outcome button[value=check]",
        typed=_STRICTER,
        part=".outcome",
    ),
    _page("policy-areas", "cora", f"{_POLICY}/areas/person"),
    _page("refusal", "paul", _POLICY, "a[href*='/refusals/']"),
    _page("dashboard", "cora", "/quality/census/2022-1"),
    _page("trail", "otto", "/administration/trail"),
    _page("trail-verified", "otto", "/administration/trail", "form[action$=verify] button"),
    _page("overrides", "otto", "/administration/overrides"),
    _page("log", "otto", "/administration/log"),
    _page("review", "vera", "/reviews/2"),
    _page("review-output", "vera", "/reviews/2", part="#o3"),
    _page(
        "review-refused",
        "vera",
        "/reviews/2",
        "#bar button[form=decide]:not([formaction])",
        typed=_GIVEN_AWAY,
        part="#problem",
    ),
    _page("submission", "rosa", "/submissions/1"),
)
PEOPLE = ("paul", "mira", "cora", "vera", "rosa", "otto", "adam", "rita")


class Camera:
    """Takes pictures of a studio.

    Args:
        browser: Chromium.
        url: Address of the studio.
        passwords: Per person, the password.
    """

    def __init__(self, browser: Any, url: str, passwords: Mapping[str, str]) -> None:
        self._browser, self._url, self._passwords = browser, url, passwords
        self._dark_room = browser.new_page()

    def open(self, person: str, look: Mapping[str, Any]) -> Any:
        """A page of somebody's own browser."""
        common = {"viewport": {"width": 1_180, "height": 820}, "locale": "en-GB"}
        page = self._browser.new_context(**(common | dict(look)), base_url=self._url).new_page()
        if person:
            page.goto("/login")
            page.fill("#name", person)
            page.fill("#password", self._passwords[person])
            page.click("main form button[type=submit]")
            page.wait_for_selector("nav.you a[href='/account']")
        return page

    def take(self, page: Any, one: StudioPicture) -> bytes:
        """A picture of a page, from its top, or of a part of it, as a small PNG."""
        page.goto(one.path)
        for field, value in one.typed:
            if value == "on":
                page.locator(field).first.check()
            else:
                page.locator(field).first.fill(value)
        if one.typed:
            page.wait_for_timeout(500)
        if one.pressed:
            page.locator(one.pressed).first.click()
        page.wait_for_load_state("networkidle")
        if one.part:
            return small_png(self.pixels(page.locator(one.part).first.screenshot()))
        size = page.viewport_size
        tall = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({**size, "height": max(size["height"], min(tall, TALLEST))})
        shot = page.screenshot()
        page.set_viewport_size(size)
        return small_png(self.pixels(shot))

    def pixels(self, shot: bytes) -> npt.NDArray[np.uint8]:
        """The colours of a picture: the browser itself knows best how to read its PNG."""
        told = self._dark_room.evaluate(
            """async text => {
              const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
              const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
              const canvas = new OffscreenCanvas(image.width, image.height);
              const context = canvas.getContext('2d');
              context.drawImage(image, 0, 0);
              const data = context.getImageData(0, 0, image.width, image.height).data;
              let out = '';
              for (let k = 0; k < data.length; k += 32768)
                out += String.fromCharCode(...data.subarray(k, k + 32768));
              return [image.width, image.height, btoa(out)];
            }""",
            base64.b64encode(shot).decode(),
        )
        width, height, text = told
        flat = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
        return flat.reshape(height, width, 4)[:, :, :3].copy()


def small_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    r"""A PNG of at most 256 colours: pages are flat, few colours draw them.

    Args:
        pixels: Height × width × red, green, blue.

    >>> small_png(np.zeros((2, 3, 3), dtype=np.uint8))[:4]
    b'\x89PNG'
    """
    height, width, _ = pixels.shape
    # Shades of the edges of letters that nobody can tell apart become one.
    coarse = (pixels & 0xF0) | (pixels >> 4)
    keys = coarse.astype(np.uint32) @ np.array([65_536, 256, 1], dtype=np.uint32)
    found, place, often = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(-often.astype(np.int64), kind="stable")
    kept = found[order[:256]]
    colours = np.stack([kept >> 16, (kept >> 8) & 255, kept & 255], axis=1).astype(np.int32)
    every = np.stack([found >> 16, (found >> 8) & 255, found & 255], axis=1).astype(np.int32)
    far = ((every[:, None, :] - colours[None, :, :]) ** 2).sum(axis=2)
    rows = far.argmin(axis=1).astype(np.uint8)[place].reshape(height, width)
    exact = {int(key): k for k, key in enumerate(kept)}
    palette = bytearray(colours.astype(np.uint8).tobytes())
    for key, k in exact.items():  # the commonest true colour of each shade
        palette[3 * k : 3 * k + 3] = _true_colour(pixels, keys, key)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", bytes(palette)), (b"IDAT", zlib.compress(raw, 9)))
    chunks = b"".join(_chunk(name, content) for name, content in (*parts, (b"IEND", b"")))
    return b"\x89PNG\r\n\x1a\n" + chunks


def _true_colour(pixels: npt.NDArray[np.uint8], keys: npt.NDArray[np.uint32], key: int) -> bytes:
    at = np.argwhere(keys == key)[:2_000]
    colours, often = np.unique(pixels[at[:, 0], at[:, 1]], axis=0, return_counts=True)
    return bytes(colours[often.argmax()].tobytes())


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def _navigated(camera: Camera) -> Iterator[StudioPicture]:
    """The pages that the navigation leads to, each by the first person who may."""
    known = set()
    for person in PEOPLE:
        page = camera.open(person, {})
        page.goto("/")
        links = "all => all.map(a => a.getAttribute('href'))"
        for path in page.eval_on_selector_all("nav.pages a", links):
            if path not in known:
                known.add(path)
                yield _page(path.strip("/").replace("/", "-"), person, path)
        page.context.close()


def live_in(service: Any) -> None:
    """Let things happen that pages can tell of: tables, a refusal, and that it is overridden."""
    from discreet_service.audit.trail import LogMode, LogVerdict
    from discreet_service.people.approvals import ProposalState
    from discreet_service.permissions import Grant, Principal
    from discreet_service.problems import ServiceError
    from discreet_service.web.queries import note_query, read_address
    from tests.helpers.service_callers import visit_as

    def somebody(name: str, role: str) -> Principal:
        return Principal(name=name, kind="session", grants=(Grant(role),))

    for name, asked in _ASKED:
        pairs = [(part, value) for part, _, value in (e.partition("=") for e in asked.split("&"))]
        prepared = service.answers.prepared("census", read_address(pairs))
        who, start = somebody(name, "requester"), time.perf_counter()
        visit = visit_as(service, who)
        try:
            service.answers.admit(prepared, who, "en")
            note_query(visit, prepared, LogMode.query, LogVerdict.answered, start)
        except ServiceError as error:
            rules = [error.rule]
            note_query(visit, prepared, LogMode.query, LogVerdict.refused, start, rules=rules)
    digest = prepared.plan.asked.digest
    first, second = somebody("paul", "producer"), somebody("pia", "producer")
    reason = "agreed with the ministry: the areas are large enough"
    with service.database.writing() as connection:
        made = service.policies.in_force.propose_override(
            connection, "census", "2022-1", digest, first, reason
        )
        done = service.approvals.approve(connection, made.id, second, digest=digest)
    assert done.state is ProposalState.approved


def programmes(service: Any) -> list[StudioPicture]:
    """Pages of programmes: one that is published, a later one with a draft, one with mistakes."""
    from tests.helpers.studio_programmes import LATER, PEOPLE, WRONG, hand_in, publish, run

    first, later = hand_in(service, PEOPLE), hand_in(service, LATER)
    publish(service, first, run(service, first), "people")
    here = f"/programmes/{later}"
    draft = f"{here}/drafts/{run(service, later)}"
    wrong = f"/programmes/new?of={hand_in(service, WRONG)}"
    return [
        _page("programme-new", "paul", "/programmes/new"),
        _page("programme-editor", "paul", "/programmes/new", "button[value='edit:person']"),
        _page("programme-wrong", "paul", wrong),
        _page("programme", "paul", here),
        _page("draft", "paul", draft),
        _page("draft-table", "paul", f"{draft}/tables/homes"),
    ]


def reviews(service: Any) -> list[StudioPicture]:
    """Pages of the review queue: submissions on their way from decisions to a release."""
    from tests.helpers.studio_reviews import accepted, handed_in

    numbers = []
    for approvals, name in enumerate(("sexes", "ages", "occupations")):
        variable = {"sexes": "sex", "ages": "age", "occupations": "occupation"}[name]
        numbers.append(handed_in(service, f"{name}.do", f"summarize {variable}\n"))
        accepted(service, numbers[-1], approvals)
    names = ("review-approve", "review-second", "review-release")
    people = ("vera", "vera", "viktor")
    return [
        _page(
            name,
            person,
            f"/reviews/{number}",
            part="#verdict" if name == "review-second" else "#bar",
        )
        for name, person, number in zip(names, people, numbers, strict=True)
    ]


def take_all(
    camera: Camera,
    out: Path,
    names: list[str],
    looks: Mapping[str, Any],
    more: Iterable[StudioPicture] = (),
) -> list[str]:
    """Write all pictures; what is wrong with them is given back."""
    wrong = []
    pictures = [*DEEP, *more, *_navigated(camera)]
    for person in dict.fromkeys(one.person for one in pictures):
        for suffix, look in looks.items():
            page = camera.open(person, look)
            for one in pictures:
                if one.person != person or (names and one.name not in names):
                    continue
                content = camera.take(page, one)
                (out / f"{one.name}{suffix}.png").write_bytes(content)
                print(f"{one.name}{suffix}.png  {len(content):,} bytes  {one.path}")
                if len(content) > MOST_BYTES:
                    wrong.append(f"{one.name}{suffix}.png has {len(content):,} bytes")
            page.context.close()
    return wrong


def main() -> int:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    from tests.helpers.served_studio import served_studio

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "studio")
    parser.add_argument("--looks", action="store_true")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    looks = LOOKS if asked.looks else {"": {}}
    with tempfile.TemporaryDirectory(prefix="studio-") as place:
        folder = asked.folder or Path(place) / "demo"
        with served_studio(folder, persons=8_000) as studio, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            live_in(studio.service)
            more = [*programmes(studio.service), *reviews(studio.service)]
            camera = Camera(browser, studio.url, studio.passwords)
            wrong = take_all(camera, asked.out, asked.names, looks, more)
            browser.close()
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
