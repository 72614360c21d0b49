"""Browsers that look at the studio of a demonstration: Chromium, as people have it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import without
from tests.helpers.databases import postgresql_server
from tests.helpers.served_studio import PLAYERS, ServedStudio, served_studio
from tests.helpers.shared_demonstration import copied_demonstration

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
#: What a page may weigh with its styles and its script, none of it compressed.
MOST_BYTES = 150_000
#: Processor time until a page begins; a tenth is usual, three where a table is counted for it.
FIRST_BYTE_SECONDS = 30.0
_RULES = {"resultTypes": ["violations"]}

LoggedIn = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs a browser."""
    for item in items:
        if "/studio/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What people do is done with SQLite; pages are read from PostgreSQL, too."""
    if "studio" in metafunc.fixturenames:
        kinds: list[Any] = ["sqlite"]
        if metafunc.function.__name__ == "test_pages_from_another_database":
            kinds = [pytest.param("postgresql", marks=pytest.mark.postgresql)]
        metafunc.parametrize("studio", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def studio(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudio]:
    """The studio of a demonstration, once per session and kind of database."""
    folder = copied_demonstration(tmp_path_factory, tmp_path_factory.mktemp("studio") / "demo")
    if request.param == "sqlite":
        with served_studio(folder) as found:
            yield found
        return
    with postgresql_server() as url, served_studio(folder, database=url) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Chromium, once per module: while it is there, no other test could run a loop of its own."""
    from playwright import sync_api

    if not CHROMIUM.exists():
        without("Chromium is not there")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cookies() -> dict[tuple[str, str], list[Any]]:
    """Those of people who have logged in: they need not once more."""
    return {}


@pytest.fixture
def messages() -> dict[Any, list[str]]:
    """What the console of each page said."""
    return {}


@pytest.fixture
def logged_in(
    studio: ServedStudio,
    chromium: Any,
    messages: dict[Any, list[str]],
    cookies: dict[tuple[str, str], list[Any]],
) -> Iterator[LoggedIn]:
    """Opens a browser of its own for somebody, and gives its page at the first page of the studio.

    logged_in("reader") is nobody in particular; further words: width, height, language, dark,
    scripts, downloads.
    """
    contexts = []

    def open_for(
        role: str,
        *,
        width: int = 1_280,
        height: int = 900,
        language: str = "en",
        dark: bool = False,
        scripts: bool = True,
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            locale={"en": "en-GB", "de": "de-DE"}[language],
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            base_url=studio.url,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        page = context.new_page()
        _listen(page, messages.setdefault(page, []))
        if role == "reader":
            page.goto("/")
            return page
        person = PLAYERS[role]
        context.add_cookies(cookies.get((studio.url, person), []))
        page.goto("/")
        if not page.locator("nav.you a[href='/account']").count():
            page.goto("/login")
            page.fill("#name", person)
            page.fill("#password", studio.passwords[person])
            page.click("main form button[type=submit]")
            page.wait_for_selector("nav.you a[href='/account']")
            own = [each for each in context.cookies() if "language" not in each["name"]]
            cookies[studio.url, person] = own
            page.goto("/")
        return page

    yield open_for
    for context in contexts:
        context.close()
    studio.check_nothing_told()


def _listen(page: Any, heard: list[str]) -> None:
    def on_console(message: Any) -> None:
        # That a page was refused is what its status says; everything else is a mistake of ours.
        refused = message.text.startswith("Failed to load resource")
        address = message.location.get("url", "")
        if message.type in ("error", "warning") and not (refused and address == page.url):
            heard.append(f"{message.type}: {message.text} ({address})")

    page.on("console", on_console)
    page.on("pageerror", lambda error: heard.append(f"exception: {error}"))
    page.on("crash", lambda _: heard.append("crash"))


@pytest.fixture
def check_page(studio: ServedStudio, messages: dict[Any, list[str]]) -> Callable[..., None]:
    """Looks at a page: nothing for axe to find, a clean console, small, fast, nothing told."""
    from urllib.parse import urlsplit

    from axe_playwright_python import base

    def check(page: Any) -> None:
        path = urlsplit(page.url).path
        assert messages[page] == [], messages[page]
        scripts = page.evaluate("() => true") if page.context else True
        if scripts:
            page.evaluate(base.AXE_SCRIPT)
            found = base.AxeResults(page.evaluate("rules => axe.run(rules)", _RULES))
            assert not found.violations_count, f"{path}\n{found.generate_snapshot()}\n" + "\n".join(
                f"{each['id']}: {node['html'][:300]} {node['failureSummary'][:300]}"
                for each in found.response["violations"]
                for node in each["nodes"][:3]
            )
        wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], f"{path} is wider than its window: {wide}"
        sent = studio.pages(path)
        weight = sum(
            one.size
            for one in {each.path: each for each in studio.sent}.values()
            if one.path.startswith("/static/")
        )
        assert sent, f"{path} was not sent"
        assert sent[-1].size + weight <= MOST_BYTES, f"{path}: {sent[-1].size} + {weight} bytes"
        best = min(one.seconds for one in sent)
        assert best <= FIRST_BYTE_SECONDS, f"{path}: first byte after {best:.3f} s"
        studio.check_nothing_told()

    return check
