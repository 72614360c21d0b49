"""The designer in Chromium: as it is moved, and as others see it."""

import re
from typing import Any

import pytest

_MOVED = """async value => {
  const slider = document.querySelector("#a_variance");
  const drawn = new Promise(done => document.addEventListener("swapped", done, { once: true }));
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn;
}"""


def _press(page: Any, selector: str, *keys: str) -> None:
    page.locator(selector).first.focus()
    for key in keys:
        page.keyboard.press(key)


def _check_redraw(page: Any) -> None:
    """A slider is moved, and all is drawn anew; how fast is in `test_pages_are_drawn_fast`."""
    begun = float(page.input_value("#a_variance"))
    page.evaluate(_MOVED, str(begun + 1 / 4))


def test_sliders_draw_while_they_move(logged_in: Any, check_page: Any) -> None:
    page = logged_in("methodologist")
    page.goto("/designs")
    check_page(page)
    _check_redraw(page)
    drawn = page.locator("#figures td").first.inner_text()
    assert float(drawn) == float(page.input_value("#a_variance"))
    # By keys: the slider keeps the focus while everything else is drawn anew.
    with page.expect_response("**/designs"):
        _press(page, "#a_noise", "ArrowRight")
    page.wait_for_selector("#chart-noise[aria-busy], #chart-noise")
    page.wait_for_function("document.querySelector('.force td:not(:empty)').innerText === '6'")
    assert page.evaluate("document.activeElement.id") == "a_noise"
    assert page.locator("#live").inner_text() == "Drawn"
    with page.expect_response("**/designs"):
        _press(page, "input[name=compared]", "Space")
    page.wait_for_selector("#chart-tableauB")
    _check_redraw(page)
    check_page(page)
    # What cannot be is said at the side, with a way out.
    page.fill("#a_exact", "0.5")
    page.wait_for_selector("#drawn .problem")
    check_page(page)
    page.get_by_role("button", name=re.compile("Use variance")).press("Enter")
    page.wait_for_selector("#chart-noise")
    assert page.input_value("#a_exact") == ""
    assert page.input_value("#a_variance") == "2.5"
    # Whoever moves the slider means the slider.
    page.fill("#a_exact", "4.1")
    _press(page, "#a_variance", "ArrowRight")
    assert page.input_value("#a_exact") == ""
    assert page.locator("[data-value-of=a_variance]").inner_text() == "2.75"


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_telephone_in_german_without_scripts(
    logged_in: Any, check_page: Any, dark: bool
) -> None:
    page = logged_in("methodologist", width=360, height=740, language="de", dark=dark, scripts=dark)
    page.goto("/designs")
    page.locator("#a_noise").focus()
    page.keyboard.press("ArrowLeft")
    page.check("input[name=compared]")
    page.get_by_role("button", name="Diagramme zeichnen", exact=True).press("Enter")
    page.wait_for_selector("#chart-transitionB")
    heads = page.locator(".force thead").first.inner_text()
    assert "Entwurf A" in heads
    assert "Entwurf B" in heads
    first = page.locator(".force tbody tr").first.inner_text()
    assert first.split()[-2:] == ["4", "4"]
    if dark:
        check_page(page)
    for path in ("/designs", "/designs/sets"):
        page.goto(path)
        wide = page.locator("html").bounding_box()["width"]
        assert wide <= 360, path
        if dark:
            check_page(page)
