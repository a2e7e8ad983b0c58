"""The report of a study in a real browser: hover, legend, zoom, dark pages."""

import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

STUDY = """
title = "Small"
source = "none"
[cell]
drive = "hp-c2247"
policy = "{policy}"
workload = "poisson(rate={rate}/s) uniform size=8KiB"
requests = 2000
replications = 2
max_waiting = 100
[[axis]]
name = "policy"
title = "Policy"
values = [{ value = "fcfs", label = "FCFS" }, { value = "sptf", label = "SPTF" }]
[[axis]]
name = "rate"
title = "Rate"
values = [20, 30, 40, 60, 80]
[[figure]]
name = "response"
title = "Mean response time"
x = "rate"
y = "response_ms_mean"
series = "policy"
[[figure]]
name = "logarithmic"
title = "Mean response time, by powers"
x = "rate"
x_scale = "log10"
y = "response_ms_mean"
y_scale = "log2"
series = "policy"
[[table]]
name = "1"
title = "Everything"
rows = "policy"
columns = "rate"
metric = "response_ms_mean"
[[claim]]
says = "FCFS is slower"
source = "none"
theirs = "slower"
check = "order"
metric = "response_ms_mean"
ascending = [{ policy = "SPTF" }, { policy = "FCFS" }]
where = { rate = 40 }
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "small.toml").write_text(STUDY)
    program = str(Path(sys.executable).with_name("diskarm"))
    command = [program, "study", "run", str(folder / "small.toml"), "--output", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "small" / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("no Chromium")
    with playwright.sync_playwright() as driver:
        # The tests may run as root, for whom browsers have no sandbox.
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


class Figure:
    """A figure of a page, the first unless another is named, as it is shown at some width."""

    def __init__(
        self,
        browser: Any,
        report: Path,
        width: int,
        scheme: str = "light",
        has_touch: bool = False,
        number: int = 0,
    ) -> None:
        view = {"width": width, "height": 900}
        self.page = browser.new_page(viewport=view, color_scheme=scheme, has_touch=has_touch)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Nothing may be asked of a network.
        self.page.context.set_offline(True)
        self.page.goto(report.as_uri())
        self.svg = self.page.locator("figure svg:visible").nth(number)
        self.svg.scroll_into_view_if_needed()

    def on_page(self, x: float, y: float) -> tuple[float, float]:
        """Where a place of the drawing is."""
        script = """(svg, [x, y]) => {
            const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y];
        }"""
        x, y = self.svg.evaluate(script, [x, y])
        return x, y

    def point(self, series: int, number: int) -> Any:
        points = self.svg.locator(f'.series[data-series="{series}"] .point[data-y]')
        return points.nth(number)

    def hover(self, series: int, number: int) -> str:
        place = self.point(series, number).get_attribute("data-at").split()
        self.page.mouse.move(*self.on_page(float(place[0]), float(place[1])))
        tip = self.page.locator("figure .tip:visible")
        return str(tip.inner_text()) if tip.count() else ""

    def drag(self, parts: list[float]) -> None:
        """From one corner to the other, as parts of the plot."""
        plot = self.svg.locator(".data").get_attribute("data-plot").split()
        left, top, right, bottom = (float(edge) for edge in plot)
        places = [
            self.on_page(left + x * (right - left), top + y * (bottom - top))
            for x, y in (parts[:2], parts[2:])
        ]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        self.page.mouse.move(*places[1], steps=3)
        self.page.mouse.up()

    def numbers_across(self) -> list[str]:
        """The numbers below the horizontal axis."""
        script = """(svg) => {
            const bottom = Number(svg.querySelector(".data").dataset.plot.split(" ")[3]);
            const shown = [...svg.querySelectorAll(".ticks")]
                .find((ticks) => ticks.getAttribute("display") !== "none");
            return [...shown.querySelectorAll("text")]
                .filter((text) => Number(text.getAttribute("y")) > bottom + 100)
                .map((text) => text.textContent.trim());
        }"""
        return list(self.svg.evaluate(script))


@pytest.mark.parametrize("width", [400, 1100])
def test_hover_shows_the_values_of_the_table(browser: Any, report: Path, width: int) -> None:
    figure = Figure(browser, report, width)
    for series, name in enumerate(["FCFS", "SPTF"]):
        cells = figure.page.locator("#tables tbody tr").nth(series).locator("td").all_inner_texts()
        shown = figure.hover(series, 2)
        assert "40" in shown and name in shown and cells[2] in shown, (shown, cells)
    assert figure.errors == []


def test_the_legend_hides_a_series_and_shows_it_again(browser: Any, report: Path) -> None:
    figure = Figure(browser, report, 1100)
    key = figure.svg.locator('.key[data-series="0"]')
    line = figure.svg.locator('.series[data-series="0"] polyline').first
    other = figure.svg.locator('.series[data-series="1"] polyline').first
    assert line.is_visible() and other.is_visible()
    key.click()
    assert not line.is_visible() and other.is_visible()
    assert "FCFS" not in figure.hover(0, 0)
    key.focus()
    figure.page.keyboard.press("Enter")
    assert line.is_visible()
    assert figure.errors == []


def test_a_drag_zooms_and_a_double_click_shows_everything(browser: Any, report: Path) -> None:
    figure = Figure(browser, report, 1100)
    whole = figure.numbers_across()
    path = figure.svg.locator('.series[data-series="0"] polyline').first
    points = path.get_attribute("points").split()
    figure.drag([0.2, 0.1, 0.7, 0.95])
    part = figure.numbers_across()
    ends = [float(part[0]), float(part[-1])]
    assert part != whole and float(whole[0]) < ends[0] < ends[1] < float(whole[-1])
    assert path.get_attribute("points").split() != points
    # What is shown at a place is still what belongs there.
    zoomed = figure.point(0, 1)
    box = zoomed.bounding_box()
    figure.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "30" in figure.page.locator("figure .tip:visible").inner_text()
    figure.page.mouse.dblclick(box["x"], box["y"])
    assert figure.numbers_across() == whole
    assert path.get_attribute("points").split() == points
    assert figure.errors == []


def test_logarithmic_axes_have_numbers_and_values_where_they_belong(
    browser: Any, report: Path
) -> None:
    figure = Figure(browser, report, 1100, number=1)
    corners = [0.2, 0.3, 0.8, 0.98]
    figure.drag(corners)
    data = figure.svg.locator(".data")
    left, top, right, bottom = (float(n) for n in data.get_attribute("data-plot").split())

    def place(axis: int, value: float) -> float:
        """Where a value is on an axis, of which the drag has left a part."""
        scale, *ends = data.get_attribute(f"data-{'xy'[axis]}").split()
        low, high = (float(end) for end in ends)
        part = (math.log(value, float(scale.removeprefix("log"))) - low) / (high - low)
        if axis == 0:
            return left + (part - corners[0]) / (corners[2] - corners[0]) * (right - left)
        return top + (1 - part - corners[1]) / (corners[3] - corners[1]) * (bottom - top)

    script = """(svg) => [...svg.querySelectorAll(".ticks.part text")].map((text) => [
        text.textContent, Number(text.getAttribute("x")), Number(text.getAttribute("y"))])"""
    ticks = figure.svg.evaluate(script)
    across = [(text, x) for text, x, y in ticks if y > bottom + 100]
    # Their line is 4.5 pixels, of ten units each, above.
    up = [(text, y - 45) for text, _, y in ticks if y <= bottom + 100]
    assert len(across) >= 2 and len(up) >= 2
    for axis, numbers in enumerate([across, up]):
        for text, at in numbers:
            assert abs(at - place(axis, float(text))) < 20, (text, at)
    zoomed = figure.point(1, 2)
    box = zoomed.bounding_box()
    figure.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown = figure.page.locator("figure .tip:visible").inner_text()
    cells = figure.page.locator("#tables tbody tr").nth(1).locator("td").all_inner_texts()
    assert "Rate: 40" in shown and "SPTF" in shown and cells[2] in shown, (shown, cells)
    assert figure.errors == []


def test_repeated_zooms_end_before_ticks_coincide(browser: Any, report: Path) -> None:
    figure = Figure(browser, report, 1100)
    seen = []
    for _ in range(20):
        figure.drag([0.85, 0.85, 0.95, 0.95])
        numbers = figure.numbers_across()
        assert 2 <= len(numbers) <= 7 and len(set(numbers)) == len(numbers), numbers
        seen.append(numbers)
    assert seen[4] != seen[3] and seen[-1] == seen[-2]
    assert figure.errors == []


def test_values_stay_after_a_tap(browser: Any, report: Path) -> None:
    figure = Figure(browser, report, 1100, has_touch=True)
    x, y = figure.point(0, 2).get_attribute("data-at").split()
    figure.page.touchscreen.tap(*figure.on_page(float(x), float(y)))
    assert "40" in figure.page.locator("figure .tip:visible").inner_text()
    assert figure.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_have_the_colours_of_the_page(browser: Any, report: Path, scheme: str) -> None:
    figure = Figure(browser, report, 1100, scheme)
    colour = "(element, name) => getComputedStyle(element)[name]"
    paper = figure.page.locator("body").evaluate(colour, "backgroundColor")
    ink = figure.page.locator("body").evaluate(colour, "color")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert figure.svg.locator("rect").first.evaluate(colour, "fill") == paper
    assert figure.svg.locator(".ticks text").first.evaluate(colour, "fill") == ink
