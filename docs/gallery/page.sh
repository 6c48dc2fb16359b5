#!/usr/bin/env bash
# Redraw the pictures of the server's page, with both example models: docs/gallery/page.sh
set -euo pipefail
cd "$(dirname "$0")"

cgru serve -m ../../examples/en-de.npz ../../examples/de-en.npz --port 8099 &
server=$!
trap 'kill "$server"' EXIT
until curl -sf localhost:8099/health/ready > /dev/null; do sleep 1; done
python - << 'END'
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

options = webdriver.ChromeOptions()
for argument in ("headless", "no-sandbox", "hide-scrollbars"):
    options.add_argument(f"--{argument}")
driver = webdriver.Chrome(options)
driver.get("http://localhost:8099/")
text = "Where is the station? What time does the train leave tomorrow? It was raining all day."
WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, "#outputs .pane"))
driver.find_element(By.ID, "source").send_keys(text)
for name, width, height, colours in (
    ("page", 1280, 940, "light"),
    ("page-dark", 1280, 940, "dark"),
    ("page-768", 768, 1100, "light"),
    ("page-390", 390, 1000, "light"),
):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 768}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": colours}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    drawn = lambda _: driver.find_elements(By.CSS_SELECTOR, "#attention path")
    WebDriverWait(driver, 60).until(drawn)
    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    driver.save_screenshot(f"{name}.png")
driver.quit()
END
