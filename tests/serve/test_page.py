"""The page for people: its files, and their behaviour in a browser."""

import itertools
import json
import re
import time
from importlib.resources import files

import numpy as np
import pytest
from browsers import Page, browser, violations  # noqa: F401
from patience import PATIENCE
from serving import client, listening, loaded, serving

from cgru_cli import Translator
from cgru_cli.serve.page import PATHS, TYPES
from cgru_cli.web.page import page_files

pytestmark = pytest.mark.long


FOLDER = files("cgru_cli.web").joinpath("page_files")
TEXT = "a b c\nf f a d"
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
READY = "return document.getElementById('status').textContent === 'Ready'"


def test_all_files_are_served_and_load_nothing_from_other_sites(web):
    contents = page_files()
    for path, name in PATHS.items():
        answer, content = web.get(path), contents[name]
        kind = TYPES[f".{name.rpartition('.')[2]}"]
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
        text = content.decode()
        assert answer.text == text
        links = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not links
        assert "innerHTML" not in text and not re.search(r"\bstyle=|\son\w+=", text)
    assert {entry.name for entry in FOLDER.iterdir()} == set(contents)


def test_a_server_without_a_page(models):
    with serving(models, no_page=True) as app:
        assert client(app).get("/").status_code == 404


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "too late"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def address(model_path):
    both = loaded(f"one={model_path}", f"two={model_path}", beam_size=3)
    with serving(both) as app, listening(app) as url:
        yield url


class TranslatorPage(Page):
    """The page in a browser."""

    def __init__(self, browser, address):  # noqa: F811
        super().__init__(browser, "about:blank")
        browser.get(address)
        self.loaded()

    def loaded(self):
        until(lambda: self.run("return document.querySelectorAll('#outputs .pane').length"))

    def choose(self, menu, value):
        """Choose in a menu, as a user does."""
        script = """const [menu, value] = arguments, box = document.querySelector(menu);
            box.value = value;
            box.dispatchEvent(new Event("change"));"""
        self.run(script, menu, value)

    def menus(self):
        """The menus on display: what each shows, and its other entries."""
        script = """return ["#from", "#to", "#model"].map((one) => document.querySelector(one))
            .filter((menu) => menu.checkVisibility()).map((menu) => [menu.selectedOptions[0],
                ...[...menu.options].filter((one) => !one.selected)].map((one) => one.text))"""
        return self.run(script)

    def translate(self, text=TEXT):
        self.find("#source").clear()
        self.find("#source").send_keys(text)
        self.click("#translate")
        self.ready()

    def ready(self):
        until(lambda: self.run(READY))

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return [" ".join(text.split()) for text in self.run(script, selector)]


@pytest.fixture
def opened(browser, address):  # noqa: F811
    page = TranslatorPage(browser, address)
    yield page
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"] == []
    page.run("localStorage.clear(); sessionStorage.clear()")


@pytest.fixture(scope="module")
def expected(model_path):
    translator = Translator(model_path, beam_size=3, translation_maxlen=8)
    return translator.translate(TEXT.split("\n"), n_best=3)


HIGHLIGHTED = """
    return [...CSS.highlights.values()].flatMap((one) => [...one].map((range) => range.toString()));
"""


def test_text_is_translated_and_aligned_words_are_highlighted(opened, expected):
    opened.translate()
    assert opened.texts(".translation p") == [listed[0].text for listed in expected]
    until(lambda: opened.all(".row .word"))
    first = opened.find(".translation .word")
    opened.hover(first)
    until(lambda: opened.run("return document.querySelectorAll('.row .word.lit').length") >= 2)
    assert "lit" in opened.find('[aria-label="Words of the translation"] .word').get_attribute(
        "class"
    )
    best = expected[0][0]
    aligned = {
        word for word, weight in zip("abc", best.alignment[0], strict=False) if weight >= 0.1
    }
    assert set(opened.run(HIGHLIGHTED)) == aligned
    opened.hover(opened.find('[aria-label="Words of the text"] .word'))
    lit = opened.texts('[aria-label="Words of the text"] .word.lit')
    assert lit[0] == "a" and "a" in opened.run(HIGHLIGHTED)
    opened.click("#as-map")
    until(lambda: len(opened.all("#attention tbody tr")) == len(best.tokens))
    assert "</s>" not in opened.find("#attention").text
    opened.click("#detailed")
    until(lambda: len(opened.all("#attention tbody tr")) == len(best.tokens) + best.finished)
    shares = opened.texts("#attention tbody tr:first-child td:not(.probability)")
    assert [float(share) for share in shares] == pytest.approx(
        [100 * weight for weight in best.alignment[0]], abs=0.51
    )
    assert f"log-probability {best.score:.2f}" in opened.find("#others").text


def test_the_heat_map_is_that_of_files(opened, expected):
    opened.translate()
    opened.click("#as-map")
    until(lambda: opened.all("#attention td"))
    assert opened.texts("#attention .scale span") == ["100 %", "50 %", "0 %"]
    assert opened.find("#attention table").get_attribute("aria-label") == "Attention of one"
    opened.width(360)
    opened.click("#attention tbody tr:first-child td:nth-child(3)")
    best = expected[0][0]
    told = f"{best.tokens[0]} attends to a: {100 * best.alignment[0][0]:.1f} %"
    assert opened.texts("#attention .said")[0].removesuffix(" (its strongest)") == told
    opened.press("\ue011")  # Home
    told = f"probability of {best.tokens[0]}: {100 * np.exp(best.word_scores[0]):.1f} %"
    assert opened.texts("#attention .said") == [told]
    opened.translate("a b c d e f " * 5)
    until(lambda: len(opened.all("#attention thead th")) > 30)
    opened.run("document.querySelector('#attention .frame').scrollLeft = 150")
    left = """return ['#attention .frame', '#attention tbody th']
        .map(one => document.querySelector(one).getBoundingClientRect().left)"""
    frame, words = opened.run(left)
    assert frame == pytest.approx(words, abs=1)
    opened.force_colours()
    mixed = "return getComputedStyle(document.querySelector('td.strongest')).backgroundColor"
    assert "oklab" in opened.run(mixed)


def test_labels_have_no_end(described):
    page = described({"type": "classifier"}, {})
    page.translate("a b c")
    page.click("#as-map")
    page.click("#detailed")
    until(lambda: page.all("#attention td"))
    assert "</s>" not in page.texts("#attention tbody th")


def test_words_of_the_text_are_highlighted_at_the_pointer_and_the_caret(opened):
    opened.translate("a b c\nf f a d")
    until(lambda: opened.all(".row .word"))
    opened.hover(opened.find("#source"))  # its middle is empty
    assert opened.run(HIGHLIGHTED) == []
    opened.run("""const [x, y] = [4, 12], box = document.getElementById("source")
        .getBoundingClientRect();
      document.getElementById("source").dispatchEvent(new PointerEvent("pointermove",
        { clientX: box.left + x, clientY: box.top + y }));""")
    assert opened.run(HIGHLIGHTED) == ["a"]
    opened.run("document.getElementById('source').focus()")
    opened.run("document.getElementById('source').setSelectionRange(12, 12)")
    until(lambda: opened.run(HIGHLIGHTED) == ["d"])
    until(lambda: opened.texts('[aria-label="Words of the text"] .word') == ["f", "f", "a", "d"])
    assert opened.texts(".translation .chosen") == opened.texts(".translation p:last-child")


def test_attention_is_asked_for_one_sentence_only(opened):
    opened.run(FAULTY % "")
    opened.translate("a b c\nf f a d\na")
    until(lambda: opened.all(".row .word"))
    asked = opened.run("return window.requests")
    assert [(len(one["texts"]), one["n_best"], one.get("alignment")) for one in asked] == [
        (3, 1, None),
        (1, 3, True),
    ]
    height = opened.run("return document.querySelector('main').getBoundingClientRect().height")
    for word in opened.all(".translation .word"):
        opened.hover(word)
    assert height == opened.run(
        "return document.querySelector('main').getBoundingClientRect().height"
    )


def test_the_first_sentence_takes_few_bytes(opened):
    """On 50 kbit/s, 6,250 bytes a second, half a second is left to compute."""
    opened.run(FAULTY % "")
    lines = [" ".join("abcdf"[(i + j) % 5] for j in range(60)) for i in range(30)]
    # at once, because the page translates in a pause of the typing
    opened.run("document.getElementById('source').value = arguments[0]", "\n".join(lines))
    opened.click("#translate")
    opened.ready()
    requests = opened.run("return window.requests")
    first, *_ = asked = [one for one in requests if one["n_best"] == 1]  # not those of details
    entries = "return performance.getEntriesByType('resource').map((one) => one.toJSON())"
    answers = [one for one in opened.run(entries) if one["name"].endswith("/v1/translate")]
    assert [text for one in asked for text in one["texts"]] == lines
    headers = 700  # of a request; an answer's are in its size
    assert len(json.dumps(first)) + headers + answers[0]["transferSize"] < 6250 / 2


def test_translations_can_be_selected(opened):
    opened.translate("a b c")
    words = opened.all(".translation .word")
    assert {word.tag_name for word in words} == {"span"}
    from selenium.webdriver.common.action_chains import ActionChains

    chain = ActionChains(opened.browser, duration=0).move_to_element_with_offset(words[0], -4, 0)
    chain.click_and_hold().move_to_element(words[-1]).release().perform()
    assert words[1].text in opened.run("return getSelection().toString()")
    assert not opened.find("#choices").is_displayed()


WORDS = [
    ("Don't go, now.", "▁Don ' t ▁go , ▁now .", ["Don't", "go", ",", "now", "."]),
    ("ﬁne “x”", '▁fine ▁" x "', ["ﬁne", "“", "x", "”"]),
    ("an odd 😀 one", "▁an ▁odd ▁ 😀 ▁one", ["an", "odd", "😀", "one"]),
    ("don't re-do", "don &apos;t re @-@ do", ["don't", "re", "-", "do"]),
    ("Fernseher aus", "Fern@@ seh@@ er aus", ["Fernseher", "aus"]),
    ("今日は晴れ", "▁今日は 晴れ", ["今日は", "晴れ"]),
    ("İst 1.5 km", "▁i ̇ st ▁1 . 5 ▁km", ["İst", "1.5", "km"]),
]


def test_pieces_are_shown_as_words(opened):
    script = "const [text, pieces, back] = arguments; import('/text.js').then((it) => back("
    for text, pieces, words in WORDS:
        parts = opened.browser.execute_async_script(
            script + "it.wordsOf(text, pieces)));", text, pieces.split()
        )
        assert "".join(part["text"] for part in parts) == text
        shown = [part for part in parts if part["pieces"]]
        assert [part["text"] for part in shown] == words
        found = sorted(piece for part in shown for piece in part["pieces"])
        assert found == list(range(len(pieces.split())))
        assert [part["start"] for part in parts] == list(
            itertools.accumulate(
                (len(part["text"].encode("utf-16-le")) // 2 for part in parts), initial=0
            )
        )[:-1]


def test_alternatives_replace_translations_and_words(opened, expected):
    opened.translate("a b c")
    until(lambda: opened.all("#others button"))
    others = opened.texts("#others button span:last-child")
    listed = sorted(expected[0][:3], key=lambda hypothesis: -hypothesis.score)
    assert others == [hypothesis.text for hypothesis in listed]
    chances = np.exp([hypothesis.score for hypothesis in listed])
    shown = [f"{100 * chance / sum(chances):.0f} %" for chance in chances]
    assert opened.texts("#others .score") == shown
    assert opened.texts("#others [aria-current=true] span:last-child") == [expected[0][0].text]
    assert opened.find("#others .hint").is_displayed() == (listed[0] is not expected[0][0])
    opened.click("#others li:nth-child(2) button")
    assert opened.texts(".translation p") == [others[1]]
    current = opened.find(".translation .word").text
    opened.click(".translation .word")
    until(lambda: opened.all("#choices-list button"))
    words = opened.texts("#choices-list strong")
    assert 4 <= len(words) <= 5 and current not in words
    assert all(re.fullmatch("(<1|[1-9][0-9]*) %", one) for one in opened.texts("#choices .share"))
    opened.click("#choices-list li:nth-child(3) button")
    assert opened.texts(".translation p")[0].startswith(words[2])
    opened.click(".translation .word:nth-of-type(2)")
    kept = opened.texts(".translation .word")[:1]
    until(lambda: opened.all("#choices-list button"))
    other = opened.texts("#choices-list strong")[0]
    rest = opened.texts("#choices-list .rest")[0]
    opened.click("#choices-list button")
    assert opened.texts(".translation p") == [" ".join([*kept, other, rest]).strip()]
    focused = "return document.activeElement.textContent"
    assert opened.run(focused) == (other if other != "(end)" else kept[0])
    assert not opened.find("#choices").is_displayed()


PIECES = """
    const word = (text, words, first, later) => ({ text, words, word: words[0], probability: first,
      finished: true, score: -1, total: -1, word_scores: [Math.log(first), later, -0.1, -0.1] });
    if (path === "/v1/alternatives") return Promise.resolve(new Response(JSON.stringify({
      alternatives: [word("Bahn x", ["▁Bahn", "▁x"], 0.5, -1), word("Bahnhof", ["▁Bahn", "hof"],
        0.4, Math.log(0.5)), word("Bahnhof", ["▁Bahnhof"], 0.1, 0),
        word("Halle", ["▁Halle"], 0.002, 0)] })));
"""


def test_alternatives_are_whole_words_with_their_probability(opened):
    opened.run(FAULTY % PIECES)
    opened.translate("a b c")
    opened.click(".translation .word")
    until(lambda: opened.all("#choices-list button"))
    assert opened.texts("#choices-list strong") == ["Bahn", "Bahnhof", "Halle"]
    assert opened.texts("#choices .share") == ["50 %", "30 %", "<1 %"]


def test_the_keyboard_is_enough(opened):
    from selenium.webdriver.common.keys import Keys

    opened.find("#source").send_keys("a b c", Keys.CONTROL, Keys.ENTER)
    opened.ready()
    opened.run("document.querySelector('#link').focus()")
    opened.press(Keys.TAB)
    active = "return document.activeElement"
    assert opened.run(active) == opened.all(".translation .word")[0]
    opened.press(Keys.ARROW_RIGHT)
    assert opened.run(active) == opened.all(".translation .word")[1]
    opened.press(Keys.ENTER)
    until(lambda: opened.run(active + ".closest('#choices-list') !== null"))
    opened.press(Keys.ESCAPE)
    until(lambda: opened.run(active) == opened.all(".translation .word")[1])
    assert not opened.find("#choices").is_displayed()


def test_models_are_shown_side_by_side_and_links_restore_the_page(opened, address):
    opened.translate("a b c")
    opened.choose("#model", "")
    opened.ready()
    one, two = opened.texts(".translation")
    assert one == two and len(opened.all("#outputs .pane")) == 2
    opened.click("#link")
    until(lambda: opened.find("#status").text == "The link is copied")
    link = opened.browser.current_url
    opened.browser.get("about:blank")
    opened.browser.get(link)
    until(lambda: opened.texts(".translation") == [one, two])
    assert opened.run("return document.getElementById('source').value") == "a b c"


def test_text_is_not_interpreted_as_html(opened):
    hostile = "<script>alert(1)</script> <img src=x onerror=alert(2)> \"'&amp;"
    opened.translate(hostile)
    until(lambda: opened.all(".row .word"))
    assert opened.texts('[aria-label="Words of the text"] .word')[:2] == [
        "<script>alert(1)</script>",
        "<img",
    ]
    assert opened.run("return document.querySelectorAll('main script, main img').length") == 0


def test_dark_mode_and_narrow_windows(opened):
    opened.translate("a b c d " * 6)
    light = opened.run(BACKGROUND)
    opened.click("#theme")
    assert opened.run(BACKGROUND) != light
    opened.width(360)
    assert opened.run("return document.documentElement.scrollWidth") <= 360
    opened.click("#as-map")
    assert opened.run("return document.documentElement.scrollWidth") <= 360


def test_right_to_left_text_has_its_direction(opened):
    opened.translate("שלום a")
    until(lambda: opened.all(".row .word"))
    assert opened.run("return getComputedStyle(document.getElementById('source')).direction") == (
        "rtl"
    )
    assert opened.run("return getComputedStyle(document.querySelector('.row')).direction") == "rtl"


def test_errors_are_shown(opened):
    opened.translate("a")
    opened.find("#source").clear()
    opened.run("document.getElementById('source').value = 'a'.repeat(20000)")
    opened.click("#translate")
    until(lambda: "20000 characters" in opened.find("#outputs .failure").text)
    assert "20000 characters" in opened.find("#status").text
    opened.browser.get_log("browser")  # the browser logs the status 413


FAULTY = """
    const fetched = window.fetch;
    window.requests = [];
    window.fetch = (path, options) => {
      const request = JSON.parse(options?.body ?? "null");
      window.requests.push(request);
      %s
      return fetched(path, options);
    };
    window.repair = () => { window.fetch = fetched; };
"""
CUT = """const event = { index: 0, text: "x", source: ["a"], hypotheses: [
        { text: "x", words: ["x"], finished: true, score: -1, total: -1, word_scores: [-1, -1] }] };
      const data = JSON.stringify(event);
      return Promise.resolve(new Response(`event: translation\\ndata: ${data}\\n\\n`));
"""


def test_each_model_has_an_error_and_a_retry_of_its_own(opened, expected):
    opened.choose("#model", "")
    opened.run(FAULTY % "if (request.model === 'two') return Promise.reject(new TypeError('x'));")
    opened.find("#source").send_keys(TEXT)
    opened.click("#translate")
    until(lambda: "failed" in opened.find("#status").text)
    assert opened.find("#status").text == "1 of 2 models failed"
    texts = [listed[0].text for listed in expected]
    one, two = opened.all("#outputs .pane")
    assert opened.texts("#outputs .pane:first-child .translation p") == texts
    assert not one.find_element("css selector", ".failure").is_displayed()
    assert "The server cannot be reached." in two.text and "…" not in two.text
    opened.run("repair()")
    two.find_element("css selector", ".failure button").click()
    opened.ready()
    assert opened.texts("#outputs .pane:last-child .translation p") == texts
    assert not two.find_element("css selector", ".failure").is_displayed()


def test_a_broken_connection_leaves_what_is_translated(opened, expected):
    opened.run(FAULTY % CUT)
    opened.find("#source").send_keys(TEXT)
    opened.click("#translate")
    until(lambda: opened.find("#outputs .failure").is_displayed())
    assert "The connection to the server was lost." in opened.find("#outputs .failure").text
    assert opened.texts(".translation p") == ["x", ""]
    opened.run("repair()")
    opened.click("#outputs .failure button")
    opened.ready()
    assert opened.texts(".translation p") == ["x", expected[1][0].text]


def test_a_translation_can_be_stopped_and_its_state_stays_in_view(opened):
    opened.run(FAULTY % "return new Promise(() => {});")
    opened.run("document.getElementById('source').value = arguments[0]", "a b c\n" * 300)
    opened.click("#translate")
    until(lambda: opened.find("#stop").is_displayed())
    assert opened.texts("#status") == ["0 of 300 sentences"]
    opened.width(360)
    top = "return document.getElementById('status').getBoundingClientRect().top"
    opened.run("scrollTo(0, 0)")
    assert 0 < opened.run(top) < 844
    opened.click("#stop")
    until(lambda: opened.texts("#status") == ["Stopped: 0 of 300 sentences"])
    assert not opened.find("#stop").is_displayed() and "…" not in opened.find(".translation").text


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_moves_while_the_state_changes(opened, width):
    opened.width(width)
    opened.translate()
    top = "return document.getElementById('outputs').getBoundingClientRect().top + scrollY"
    height = """return [...document.querySelectorAll('.pane')]
        .map(pane => pane.getBoundingClientRect().height)"""
    before = opened.run(top), opened.run(height)
    opened.run(FAULTY % "return new Promise(() => {});")
    opened.run("document.getElementById('source').value = 'a b d'")
    opened.click("#translate")
    until(lambda: opened.find("#stop").is_displayed())
    assert (opened.run(top), opened.run(height)) == before
    opened.click("#stop")
    assert (opened.run(top), opened.run(height)) == before


def test_the_invisible_copy_stays_invisible_with_forced_colours(opened):
    opened.force_colours()
    colour = "return getComputedStyle(document.getElementById('copy')).color"
    assert opened.run(colour) == "rgba(0, 0, 0, 0)"


DESCRIBED = """{
    const fetched = window.fetch;
    window.fetch = async (path, options) => {
      const answer = await fetched(path, options);
      if (path !== "/v1/models") return answer;
      const found = await answer.json();
      const changes = %s;
      found.models = changes.map((one, i) => ({ ...found.models[i %% 2], ...one }));
      found.detects = window.language !== undefined;
      return new Response(JSON.stringify(found));
    };
}"""
GERMAN = {"languages": {"source": "en", "target": "de"}}
ENGLISH = {"languages": {"source": "de", "target": "en"}}
VALUE = "return document.getElementById('source').value"


@pytest.fixture
def described(browser, address):  # noqa: F811
    """Opens the page with fields of /v1/models changed, and a script run before.

    fragment: that of the address.
    """
    added = []

    def remove():
        for script in added:
            browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        added.clear()

    def open_page(*changes, fragment="", before=""):
        remove()
        command = "Page.addScriptToEvaluateOnNewDocument"
        script = {"source": DESCRIBED % json.dumps(changes or [{}, {}]) + before}
        added.append(browser.execute_cdp_cmd(command, script))
        return TranslatorPage(browser, address + fragment)

    yield open_page
    remove()
    browser.execute_script("localStorage.clear(); sessionStorage.clear()")


def test_languages_have_names_and_can_be_swapped(described):
    page = described(GERMAN, ENGLISH)
    assert page.menus() == [["English", "German"], ["German", "English"]]
    languages = "return ['#source', '.translation'].map(s => document.querySelector(s).lang)"
    assert page.run(languages) == ["en", "de"]
    page.translate("a b c")
    (translation,) = page.texts(".translation")
    page.click("#swap")
    page.ready()
    assert page.run(VALUE) == translation
    assert page.menus() == [["German", "English"], ["English", "German"]]
    assert page.run(languages) == ["de", "en"]
    page.choose("#from", "en")  # a model from English writes German
    assert page.run(languages) == ["en", "de"]
    page.choose("#to", "en")
    assert page.run(languages) == ["de", "en"]


FRENCH = {"languages": {"source": "en", "target": "fr"}}


def test_models_of_the_same_languages_have_a_menu(described):
    page = described(
        GERMAN, GERMAN | {"name": "two"}, ENGLISH | {"name": "one"}, FRENCH | {"name": "two"}
    )
    assert page.menus() == [
        ["English", "German"],
        ["German", "English", "French"],
        ["one", "two", "All, side by side"],
    ]
    page.choose("#model", "two")
    assert page.texts("#outputs h2") == ["German by two"]
    page.choose("#model", "")
    assert page.texts("#outputs h2") == ["German by one", "German by two"]
    page.choose("#to", "fr")
    assert page.menus() == [["English", "German"], ["French", "English", "German"]]
    assert page.texts("#outputs h2") == ["French"] and not page.find("#swap").is_displayed()
    page.choose("#from", "de")
    assert page.menus()[1] == ["English", "French", "German"]
    assert page.find("#swap").is_displayed()


def test_models_without_languages_have_only_a_menu_of_models(opened):
    assert opened.menus() == [["one", "two", "All, side by side"]]


DETECTED = """window.language = null;
  const real = window.fetch;
  window.fetch = (path, options) => path !== "/detect" ? real(path, options) : Promise.resolve(
    new Response(JSON.stringify([{ confidence: 90, language: window.language }])));"""


def test_the_language_of_the_text_is_detected(described):
    page = described(GERMAN, ENGLISH, before=DETECTED)
    assert page.menus()[0] == ["Detect language", "English", "German"]
    page.run("window.language = 'de'")
    page.translate("a b c")
    assert [menu[0] for menu in page.menus()] == ["German (detected)", "English"]
    page.run("window.language = 'en'")
    page.translate("a b")
    assert [menu[0] for menu in page.menus()] == ["English (detected)", "German"]
    page.browser.refresh()
    page.loaded()
    page.ready()
    assert [menu[0] for menu in page.menus()] == ["English (detected)", "German"]
    page.click("#clear")
    assert page.menus()[0][0] == "Detect language"
    page.run("window.language = 'de'")
    page.choose("#from", "en")
    page.translate("a b c")
    assert [menu[0] for menu in page.menus()] == ["English", "German"]
    page.choose("#from", "auto")
    until(lambda: [menu[0] for menu in page.menus()] == ["German (detected)", "English"])


def test_the_card_of_the_text_has_the_frame_of_the_focus(opened):
    outline = "return getComputedStyle(document.querySelector(arguments[0])).outlineStyle"
    opened.click("#typing")
    opened.find("#source").send_keys("a")
    assert [opened.run(outline, one) for one in ("#source", "#source-pane")] == ["none", "solid"]
    opened.run("document.querySelector('#theme').focus()")
    assert opened.run(outline, "#source-pane") == "none"


def test_text_is_translated_while_it_is_typed(opened, expected):
    opened.run(FAULTY % "")
    opened.run("""const source = document.getElementById("source");
      for (source.value of ["a", "a b", "a b c"]) source.dispatchEvent(new InputEvent("input"));""")
    opened.ready()
    assert opened.texts(".translation") == [expected[0][0].text]
    texts = [one["texts"] for one in opened.run("return window.requests") if one["n_best"] == 1]
    assert texts == [["a b c"]]
    opened.run(FAULTY % "window.signal = options.signal; return new Promise(() => {});")
    opened.find("#source").send_keys(" d")
    assert opened.all(".translation.stale") and not opened.run(READY)
    until(lambda: opened.run("return window.requests.length"))
    assert opened.texts(".translation") == [expected[0][0].text]  # in grey until there is more
    assert opened.all(".sentence.stale") and not opened.run("return window.signal.aborted")
    opened.find("#source").send_keys(" e")
    assert opened.run("return window.signal.aborted")


def test_typing_does_not_translate_if_it_must_not(opened):
    opened.click("#typing")
    opened.translate("a b c")
    opened.run(FAULTY % "")
    opened.find("#source").send_keys(" d")
    assert opened.texts("#status") == ["The text has changed."]
    time.sleep(0.7)
    assert opened.run("return window.requests") == [] and opened.all(".translation.stale")


def test_characters_are_counted(opened):
    opened.translate("a b 😀")
    assert opened.texts("#count") == ["5 characters"]
    long = "const s = document.getElementById('source'); s.value = 'a'.repeat(10001);"
    opened.run(long + "document.getElementById('typing').click();")
    assert opened.texts("#count.wrong") == ["a sentence of 10,001 characters; at most 10,000"]
    opened.click("#clear")
    assert opened.run(VALUE) == "" and opened.texts("#count") == ["0 characters"]
    assert opened.run("return document.activeElement.id") == "source"
    assert opened.texts(".translation") == [""] and not opened.find("#sentence").is_displayed()


def test_a_reload_keeps_text_models_and_settings(opened):
    for name in ("#typing", "#confidence", "#as-map", "#detailed", "#theme"):
        opened.click(name)
    opened.click("#by-line")
    opened.translate("A b. C d.")
    opened.choose("#model", "")
    opened.ready()
    state = """return [...document.querySelectorAll('input[type=checkbox]')].map(e => e.checked)
        .concat([...document.querySelectorAll('[aria-pressed]')].map(e => e.ariaPressed))"""
    before, shown = opened.run(state), opened.texts(".translation")
    opened.browser.refresh()
    opened.loaded()
    opened.ready()
    assert opened.run(state) == before and opened.run(VALUE) == "A b. C d."
    assert opened.texts(".translation") == shown and len(shown) == 2
    assert len(opened.all("#outputs.confident .sentence")) == 4
    until(lambda: opened.all("#attention table"))


def test_the_address_is_followed(opened):
    opened.translate("a b c")
    opened.run("location.hash = 'text=f+f&models=two&lines=1'")
    until(lambda: opened.run(VALUE) == "f f")
    opened.ready()
    assert opened.texts("#outputs h2") == ["Translation by two"]
    opened.find("#source").send_keys(" a")  # another text than that of the address
    assert opened.run("return location.hash") == ""


def test_models_that_are_missing(described):
    page = described(fragment="#text=a+b&models=nine,two")
    page.ready()
    assert page.texts("#missing") == ["The link names nine; there is no such model here."]
    assert page.texts("#outputs h2") == ["Translation by two"]


def test_earlier_texts_can_be_taken_again(opened):
    for text in ("a b c", "f f a"):
        opened.translate(text)
    opened.click("#history summary")
    assert opened.texts("#history .from") == ["f f a", "a b c"]
    translations = opened.texts("#history .to")
    assert [translations[0]] == opened.texts(".translation")
    opened.click("#history li:nth-child(2) button")
    opened.ready()
    assert opened.run(VALUE) == "a b c" and opened.texts(".translation") == [translations[1]]


KINDS = [
    ({"type": "classifier"}, "Label", "labels each sentence"),
    ({"type": "tagger"}, "Labels", "labels each word"),
    ({"type": "lm", "reads_source": False}, "Generated text", "language model"),
    ({"raw_text": False}, "Translation", "separated by spaces"),
    ({"raw_text": True}, "Translation", ""),
]


def test_panes_say_what_the_model_is(described):
    for changes, title, note in KINDS:
        page = described(changes | {"languages": None}, {})
        assert page.texts("#outputs h2") == [f"{title} by one"]
        (said,) = page.texts("#outputs h2 + p")
        assert note in said and bool(said) == bool(note or "raw_text" not in changes)


def test_pieces_of_right_to_left_text_keep_their_direction(opened):
    opened.translate("שלום ▁25")
    opened.click("#detailed")
    until(lambda: opened.texts(".row:first-child .word")[-1:] == ["</s>"])
    directions = """return [...document.querySelectorAll('.row:first-child .word')]
        .map(word => getComputedStyle(word).direction)"""
    assert opened.run(directions) == ["rtl", "ltr", "ltr"]


def test_a_password_is_asked_for(browser, models):  # noqa: F811
    with serving(models, password="correct horse") as app, listening(app) as url:
        page = Page(browser, url)
        until(lambda: page.find("#ask-password").is_displayed())
        page.find("#password").send_keys("correct horse")
        page.press("\ue007")
        page.find("#source").send_keys("a b c")
        page.click("#translate")
        until(lambda: page.run(READY))
        assert page.find(".translation .word").is_displayed()
    browser.get_log("browser")  # the browser logs the status 401


def test_a_wrong_password_and_none(browser, models):  # noqa: F811
    from selenium.webdriver.common.keys import Keys

    with serving(models, password="correct horse") as app, listening(app) as url:
        browser.get(url)
        browser.execute_script("sessionStorage.clear()")
        page = Page(browser, url)
        until(lambda: page.find("#ask-password").is_displayed())
        page.press(Keys.ESCAPE)
        until(lambda: not page.find("#ask-password").is_displayed())
        assert page.find("#status").text == "This server needs a password."
        page.click("#again")
        until(lambda: page.find("#ask-password").is_displayed())
        assert not page.find("#wrong-password").is_displayed()
        page.press("battery", Keys.ENTER)
        until(lambda: page.find("#wrong-password").is_displayed())
        assert page.find("#wrong-password").text == "This password is wrong."
        page.press(Keys.ESCAPE, Keys.ESCAPE)
        until(lambda: page.find("#again").is_displayed())
        page.click("#again")
        until(lambda: page.find("#ask-password").is_displayed())
        page.press("correct horse", Keys.ENTER)
        until(lambda: page.run("return document.querySelectorAll('#outputs .pane').length"))
        assert not page.find("#again").is_displayed()
        browser.execute_script("sessionStorage.clear()")
    browser.get_log("browser")  # the browser logs the status 401


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_page_is_accessible(described, width):
    page = described(GERMAN, ENGLISH, GERMAN | {"name": "two"}, before=DETECTED)
    page.width(width)
    page.run("window.language = 'en'")
    page.translate()
    page.click("#confidence")
    page.run("document.querySelector('.translation .word').focus()")
    until(lambda: page.all(".translation .word.lit") and page.all(".row .word"))
    assert page.run("return document.querySelector('header').getBoundingClientRect().height") < 70
    assert page.run("return document.documentElement.scrollWidth") <= width
    page.click("#show-options")
    assert _violations(page) == {}
    page.click("#as-map")
    page.click("#history summary")
    page.run(DROP, "a.txt", ["a b c"])
    page.choose("#model", "")
    page.click(".translation .word")
    until(lambda: page.all("#choices-list button") and page.all("#attention td"))
    until(lambda: page.all(DOWNLOAD))
    assert _violations(page) == {}
    assert page.run("return document.documentElement.scrollWidth") <= width


def _violations(page):
    """The rules that the page breaks, by its colours."""
    found = {}
    for colours in ("light", "dark", "forced"):
        page.force_colours() if colours == "forced" else page.prefer(colours)
        if broken := violations(page.browser):
            found[colours] = broken
    page.prefer("light")
    return found


BLOBS = """window.blobs = [];
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { window.blobs.push(blob); return make.call(URL, blob); };"""
DROP = """const files = new DataTransfer();
  files.items.add(new File(arguments[1], arguments[0]));
  const more = { dataTransfer: files, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent("dragover", more));
  document.body.dispatchEvent(new DragEvent("drop", more));"""
DOWNLOAD = "#documents a[download]"


def test_a_chosen_document_is_translated(opened, expected, tmp_path):
    opened.run(BLOBS)
    (tmp_path / "notes.txt").write_text("a b c\n\n12\n")
    opened.find("#file").send_keys(str(tmp_path / "notes.txt"))
    until(lambda: opened.all(DOWNLOAD))
    (link,) = opened.all(DOWNLOAD)
    assert link.text == "Download notes.translated.txt"
    assert link.get_attribute("download") == "notes.translated.txt"
    assert opened.run("return window.blobs[0].text()") == f"{expected[0][0].text}\n\n12\n"


def test_a_dropped_document_and_one_that_is_refused(opened, expected):
    opened.run(BLOBS)
    opened.run(DROP, "a.md", ["# a b c\n"])
    until(lambda: opened.all(DOWNLOAD))
    assert opened.run("return window.blobs[0].text()") == f"# {expected[0][0].text}\n"
    opened.run(DROP, "a.pdf", ["%PDF"])
    until(lambda: opened.all("#documents .wrong"))
    refused, translated = opened.texts("#documents li")
    assert refused.startswith("a.pdf: supported document formats are .txt")
    assert translated.startswith("Download a.translated.md")  # still there
    labels = "return [...document.querySelectorAll('#documents button')].map(b => b.ariaLabel)"
    assert opened.run(labels) == ["Remove a.pdf", "Remove a.md"]
    opened.click("#documents button")
    assert len(opened.all("#documents li")) == 1
    opened.browser.get_log("browser")  # has the status of the refused request


def test_a_document_is_cancelled(opened):
    opened.run("""window.methods = [];
      const real = window.fetch;
      window.fetch = (path, options) => {
        if (String(path).startsWith("/v1/documents")) window.methods.push(options.method);
        return real(path, options);
      };""")
    opened.run(DROP, "a.txt", ["a b c d\n" * 400])
    until(lambda: "of 400 sentences" in opened.find("#documents").text)
    progress = "return document.querySelector('#documents progress').max"
    assert opened.run(progress) == 400
    opened.click("#documents button")
    until(lambda: "DELETE" in opened.run("return window.methods"))
    assert opened.texts("#documents") == [""]
