"""The page of heat maps: its text, and how a browser shows it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from browsers import Page, browser, violations  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.output.heatmap.page import page
from cgru_cli.output.heatmap.view import Sentence, View

pytestmark = pytest.mark.long


SOURCE = ["<script>alert(1)</script>", "&", "&amp;", "</s>", "'\"\\", "b", "</s>"]
TARGET = ["<img", "src=x", "onerror=alert(2)>", "Mann", "</s>"]
ARABIC = ["ذهب", "الولد", "إلى", "NATO", "</s>"]


def view(source, target, name="model.npz", seed=1, probabilities=True):
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(len(source), 0.2), len(target)).astype(np.float32)
    p = random.random(len(target)).astype(np.float32) if probabilities else None
    return View(name, source, target, weights, p)


HOSTILE = [view(SOURCE, TARGET, name, seed) for seed, name in enumerate(("mean", "<b>a", "c"))]
REVERSED = [view(ARABIC, TARGET, name, seed) for seed, name in enumerate(("mean", "<b>a", "c"))]


def exactly(share):
    """A share as the page writes it."""
    share = round(float(share), 6)
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


SENTENCES = [Sentence(3, HOSTILE), Sentence(7, REVERSED)]


def data_of(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(data)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5))
def test_words_are_kept_and_never_markup(words):
    title = " ".join(words)
    text = page(title, [Sentence(1, [view(words, words)])])
    (shown,) = data_of(text)[0]["views"]
    assert shown["source"] == shown["target"] == words
    empty = page("", [Sentence(1, [view(["a"], ["a"])])])
    assert text.count("<") == empty.count("<")  # no tag is new


def test_data_is_what_was_given():
    bare = view(["a", "</s>"], ["A", "</s>"], probabilities=False)
    sentences = [*SENTENCES, Sentence(9, [bare])]
    data = data_of(page("x", sentences))
    assert [sentence["number"] for sentence in data] == [3, 7, 9]
    assert [sentence["views"][0]["rightToLeft"] for sentence in data] == [False, True, False]
    for told, sentence in zip(data, sentences, strict=True):
        for shown, one in zip(told["views"], sentence.views, strict=True):
            np.testing.assert_allclose(shown["weights"], one.weights, atol=5.1e-7)
            largest = [row.index(max(row)) for row in one.weights.tolist()]
            assert shown["strongest"] == largest
            if one.probabilities is not None:
                np.testing.assert_allclose(shown["probabilities"], one.probabilities, atol=5.1e-7)
    assert shown["probabilities"] is None


def test_nothing_is_fetched():
    text = page("x", SENTENCES[:1])
    assert not re.findall(r"https?:|@import|url\(|fetch\(|XMLHttp", text)
    assert re.findall(r' (?:src|href)="([^"]*)"', text) == ["data:,"]
    assert "default-src 'none'" in text


def test_gallery_has_the_current_page():
    gallery = Path(__file__).parents[3] / "docs/gallery"
    text = (gallery / "translated.html").read_text("utf-8")
    sentences = [
        Sentence(
            told["number"],
            [
                View(
                    one["name"],
                    one["source"],
                    one["target"],
                    np.array(one["weights"]),
                    np.array(one["probabilities"]),
                )
                for one in told["views"]
            ],
            told["source"],
            told["target"],
        )
        for told in data_of(text)
    ]
    title = re.search("<title>(.*)</title>", text)[1]
    assert page(title, sentences) == text, "run docs/gallery/make.sh"


class HeatmapPage(Page):
    """The page of heat maps."""

    def cell(self, row, column):
        """Column 0 is the probability."""
        return self.find(f"tbody tr:nth-child({row + 1}) td:nth-child({column + 2})")

    def told(self):
        return self.run("return document.querySelector('.said').textContent")

    def colours(self, *cells):
        script = "return getComputedStyle(arguments[0]).backgroundColor"
        return [self.run(script, cell) for cell in cells]

    def table(self):
        return self.run(
            "return [...document.querySelectorAll('.heatmap tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))"
        )


@pytest.fixture
def open_page(browser, tmp_path):  # noqa: F811
    """A function that opens a page; afterwards, there must be no errors and no requests."""

    def show(sentences):
        path = tmp_path / "page.html"
        path.write_text(page("Attention of <b>a & c", sentences), "utf-8")
        return HeatmapPage(browser, path.as_uri())

    yield show
    assert browser.get_log("browser") == []
    logged = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = (entry for entry in logged if entry["method"] == "Network.requestWillBeSent")
    schemes = {entry["params"]["request"]["url"].partition(":")[0] for entry in sent}
    assert "file" in schemes
    assert schemes <= {"file", "data"}


@pytest.fixture
def opened(open_page):
    return open_page(SENTENCES)


def expected_table(view):
    rows = [["target", "prob.", *view.source]]
    for word, p, weights in zip(view.target, view.probabilities, view.weights, strict=True):
        rows.append([word, f"{100 * p:.0f} %", *(f"{100 * weight:.0f}" for weight in weights)])
    return rows


def test_words_and_weights_in_a_table(opened):
    assert opened.browser.title == opened.find("h1").text == "Attention of <b>a & c"
    assert opened.table() == expected_table(HOSTILE[0])
    assert opened.run("return document.querySelectorAll('main script, main img').length") == 0
    assert opened.find("#source").text == " ".join(SOURCE[:-1])
    assert opened.find("#target").text == " ".join(TARGET[:-1])
    shades = opened.run(
        "return [...document.querySelectorAll('tbody tr')].map(row => [...row.cells].slice(2)"
        ".map(cell => Number(cell.style.getPropertyValue('--weight'))))"
    )
    np.testing.assert_allclose(shades, 100 * HOSTILE[0].weights, atol=0.051)


def test_the_darker_the_heavier(opened):
    weights = HOSTILE[0].weights[0]
    order = np.argsort(weights)
    cells = [opened.cell(0, int(i) + 1) for i in order]
    scale = [int(re.search(r"oklab\(0?\.(\d{3})", c)[1]) for c in opened.colours(*cells)]
    assert scale == sorted(scale, reverse=True)
    assert scale[0] - scale[-1] > 200


def test_pointer_shows_the_cell(opened):
    from selenium.webdriver.common.action_chains import ActionChains

    view = HOSTILE[0]
    opened.hover(opened.cell(1, 1))
    expected = f"src=x attends to <script>alert(1)</script>: {exactly(view.weights[1, 0])}"
    assert opened.told().removesuffix(" (its strongest)") == expected
    assert opened.find(".tip").text.startswith("src=x attends to <script>alert(1)</script>\n")
    assert exactly(view.weights[1, 0]) in opened.find(".tip").text
    assert [e.text for e in opened.browser.find_elements("css selector", "th.here bdi")] == [
        SOURCE[0],
        TARGET[1],
    ]
    best = int(view.weights[1].argmax())
    opened.hover(opened.cell(1, best + 1))
    assert opened.told().endswith(f"{exactly(view.weights[1, best])} (its strongest)")
    opened.hover(opened.cell(3, 0))
    assert opened.told() == f"probability of Mann: {exactly(view.probabilities[3])}"
    ActionChains(opened.browser, duration=0).move_to_element(opened.find("h1")).perform()
    assert opened.told() == ""
    assert not opened.find(".tip").is_displayed()


def test_keys_move_through_the_cells(opened):
    from selenium.webdriver.common.keys import Keys

    weights = HOSTILE[0].weights
    for _ in range(20):  # Tab leads into the grid, to one cell only
        opened.press(Keys.TAB)
        if opened.run("return document.activeElement.tagName") == "TD":
            break
    assert opened.told().startswith("<img attends to <script>alert(1)</script>: ")
    steps = [
        (Keys.ARROW_RIGHT, 0, 2), (Keys.ARROW_DOWN, 1, 2), (Keys.END, 1, 7),
        (Keys.ARROW_RIGHT, 1, 7), (Keys.PAGE_DOWN, 4, 7), (Keys.ARROW_LEFT, 4, 6),
        (Keys.ARROW_UP, 3, 6), (Keys.PAGE_UP, 0, 6),
    ]  # fmt: skip
    for key, row, column in steps:
        opened.press(key)
        words = f"{TARGET[row]} attends to {SOURCE[column - 1]}"
        expected = f"{words}: {exactly(weights[row, column - 1])}"
        assert opened.told().removesuffix(" (its strongest)") == expected
        assert opened.run(
            "return document.activeElement === arguments[0]", opened.cell(row, column)
        )
    opened.press(Keys.HOME)
    assert opened.told().startswith("probability of <img: ")
    tabbable = opened.run("return document.querySelectorAll('td[tabindex=\"0\"]').length")
    assert tabbable == 1
    opened.press(Keys.ESCAPE)
    assert not opened.find(".tip").is_displayed()


def test_assistive_programs_find_a_grid(opened):
    tree = opened.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nodes = [node for node in tree if not node["ignored"]]
    by_role = {}
    for node in nodes:
        by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value"))
    assert by_role["grid"] == ["Attention, line 3, mean"]
    assert by_role["rowheader"] == TARGET
    assert by_role["columnheader"] == ["Target word", "Probability", *SOURCE]
    assert by_role["gridcell"] == [x for row in expected_table(HOSTILE[0])[1:] for x in row[1:]]
    (live,) = (node for node in nodes if node["role"]["value"] == "status")
    properties = {p["name"]: p["value"].get("value") for p in live["properties"]}
    assert properties["live"] == "polite"
    for name in ("Hard alignment", "Numbers"):
        assert name in by_role["checkbox"]
    assert sorted(by_role["radio"]) == ["<b>a", "Auto", "Dark", "Light", "c", "mean"]
    assert {"Previous line", "Next line"} <= set(by_role["button"])


def test_a_finger_shows_the_percentage(opened):
    opened.width(360)
    opened.click("tbody tr:nth-child(2) td:nth-child(3)")
    expected = f"attends to <script>alert(1)</script>\n{exactly(HOSTILE[0].weights[1, 0])}"
    assert opened.find(".tip").text.startswith(f"src=x {expected}")


def test_shades_and_numbers_are_seen_with_forced_colours(opened):
    shades = opened.colours(opened.cell(0, 1), opened.cell(0, 2))
    opened.force_colours()
    assert opened.colours(opened.cell(0, 1), opened.cell(0, 2)) == shades
    assert opened.find(".scale").is_displayed()


def test_the_page_is_accessible(opened):
    assert violations(opened.browser) == []
    opened.run("arguments[0].focus()", opened.cell(0, 1))
    opened.width(360)
    opened.click("#themes input[value='dark']")
    assert violations(opened.browser) == []


def test_models_are_switched(opened):
    for i in (1, 2, 0):
        opened.click(f"#views input[value='{i}']")
        assert opened.table() == expected_table(HOSTILE[i])


def test_hard_alignment_and_numbers(opened):
    view = HOSTILE[0]
    best = [int(row.argmax()) + 1 for row in view.weights]
    columns = range(1, len(SOURCE) + 1)

    def shades():
        return [opened.colours(*(opened.cell(j, i) for i in columns)) for j in range(len(best))]

    soft = shades()
    size = "return parseFloat(getComputedStyle(arguments[0]).fontSize)"
    opened.click("#hard")
    chosen = [row[i - 1] for row, i in zip(shades(), best, strict=True)]
    assert chosen == [row[i - 1] for row, i in zip(soft, best, strict=True)], "how sure it is"
    assert opened.cell(0, best[0]).text == f"{100 * view.weights[0].max():.0f}"
    assert opened.run(size, opened.cell(0, best[0])) > 9
    others = {c for row, i in zip(shades(), best, strict=True) for c in row[: i - 1] + row[i:]}
    assert len(others) == 1 and not others & set(chosen)
    opened.click("#hard")
    assert shades() == soft
    assert opened.run(size, opened.cell(0, 1)) == 0
    opened.click("#numbers")
    assert opened.run(size, opened.cell(0, 1)) > 9


def test_sentences_are_shown_as_text():
    """The page shows text, even for a model of pieces that reads raw text."""
    words = view(["▁A", "▁cast", "le", "</s>"], ["▁Ein", "▁Schloss", "</s>"])
    (told,) = data_of(page("x", [Sentence(1, [words], "A castle", "Ein Schloss")]))
    assert (told["source"], told["target"]) == ("A castle", "Ein Schloss")


def test_legend_beside_the_matrix_is_in_percent(opened):
    assert opened.find(".scale").text.split("\n") == ["100 %", "50 %", "0 %"]
    place = "const b = arguments[0].getBoundingClientRect(); return [b.left, b.bottom, b.right]"
    left, bottom, _ = opened.run(place, opened.find(".scale"))
    _, matrix, right = opened.run(place, opened.find(".frame"))
    assert right < left < right + 40 and abs(bottom - matrix) < 5


def test_light_and_dark(opened):
    def paper():
        colour = opened.colours(opened.find("body"))[0]
        return "light" if int(re.search(r"\d+", colour)[0]) > 128 else "dark"

    assert paper() == "light"
    opened.prefer("dark")
    assert paper() == "dark"
    opened.click("#themes input[value='light']")
    assert paper() == "light"
    opened.prefer("light")
    opened.click("#themes input[value='dark']")
    assert paper() == "dark"
    opened.click("#themes input[value='']")
    assert paper() == "light"


def test_right_to_left(opened):
    from selenium.webdriver.common.keys import Keys

    opened.click("#next")
    assert opened.table() == expected_table(REVERSED[0])
    left = [opened.cell(0, i).rect["x"] for i in range(len(ARABIC) + 1)]
    assert left == sorted(left, reverse=True)  # the first word is the rightmost
    assert opened.find("tbody th").rect["x"] > left[0]
    opened.run("arguments[0].focus()", opened.cell(0, 1))
    opened.press(Keys.ARROW_LEFT)
    assert opened.told().startswith("<img attends to الولد: ")
    opened.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert opened.told().startswith("probability of <img: ")
    assert (
        opened.run("return getComputedStyle(document.getElementById('source')).direction") == "rtl"
    )
    assert (
        opened.run("return getComputedStyle(document.getElementById('target')).direction") == "ltr"
    )


def test_a_line_of_200_words_scrolls_under_its_words(open_page):
    from selenium.webdriver.common.keys import Keys

    long = view([f"s{i}" for i in range(200)], [f"t{j}" for j in range(60)], probabilities=False)
    opened = open_page([Sentence(1, [long])])
    opened.run("arguments[0].focus()", opened.cell(0, 1))
    opened.press(Keys.HOME)
    assert opened.told() == "probability of t0: \u2013"
    opened.press(Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.END, Keys.ARROW_LEFT)
    told = f"t30 attends to s198: {exactly(long.weights[30, 198])}"
    assert opened.told().removesuffix(" (its strongest)") == told

    def box(selector):
        script = (
            "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [b.left, b.top, b.right, b.bottom]"
        )
        return opened.run(script, selector)

    for pixels in (1280, 390):
        opened.width(pixels)
        assert opened.run("return document.documentElement.scrollWidth") <= pixels
        opened.press(Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
        frame, cell = box(".frame"), box("td:focus")
        above, beside = box("thead th.here"), box("tbody th.here")
        assert above[1] == pytest.approx(frame[1], abs=1)
        assert beside[0] == pytest.approx(frame[0], abs=1)
        assert above[3] <= cell[1] + 1
        assert cell[3] <= min(frame[3], box(".said")[1]) + 1
        assert beside[2] <= cell[0] <= cell[2] <= frame[2] + 1
