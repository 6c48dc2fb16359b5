"""Pages in a headless Chromium, and the actions of a user."""

import os
import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; tests are skipped without it, if that is allowed."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        webdriver = None
    if not (program and driver and webdriver):
        message = "no browser: install chromium, chromedriver and selenium"
        if os.environ.get("CGRU_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # --no-sandbox: Chromium refuses to run its sandbox as root; the page is trusted.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1280,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


class Page:
    """The page in the browser; every test checks that the console has no messages."""

    def __init__(self, browser, address):
        self.browser = browser
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.prefer("light")
        browser.get_log("performance")
        browser.get(address)

    def prefer(self, scheme):
        self._emulate("prefers-color-scheme", scheme)

    def force_colours(self):
        """Show the page in the colours of the system, until the next page."""
        self._emulate("forced-colors", "active")

    def _emulate(self, name, value):
        feature = {"name": name, "value": value}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def width(self, pixels):
        size = {"width": pixels, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def click(self, selector):
        self.run("arguments[0].click()", self.find(selector))

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def hover(self, element):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).move_to_element(element).perform()


def violations(browser):
    """The accessibility rules of axe-core that the page breaks, each with an element."""
    script = os.environ.get("CGRU_AXE")
    if not script:
        pytest.skip("no axe-core: set CGRU_AXE to its axe.min.js (npm install axe-core)")
    with open(script, encoding="utf-8") as file:
        browser.execute_script(file.read())
    found = browser.execute_async_script(
        "axe.run(document, {resultTypes: ['violations']}).then(arguments[0])"
    )
    assert found["passes"]
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]]
