"""Translate in a browser tab with folders of `cgru convert --to web`, in turns.

    python benchmarks/browser.py FOLDER... --source FILE

Prints for each folder its size, and medians of the seconds until the page is ready and of the words
of the source per second. Needs selenium, Chromium and ChromeDriver.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver

SECONDS = 600  # limit for a text
TRANSLATE = """const [texts, n_best, done] = arguments;
(async () => {
  const { translations } = await import(`${location.origin}/translator.js`);
  let last = "";
  for await (const line of translations({ texts, n_best })) last = line.text;
  return last;
})().then(done, (error) => done(String(error.stack)));"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def page(folder: Path) -> Iterator[webdriver.Chrome]:
    """A browser that shows the folder's page."""
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever).start()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    chrome = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        chrome.set_script_timeout(SECONDS)
        chrome.get(f"http://127.0.0.1:{server.server_port}/")
        yield chrome
    finally:
        chrome.quit()
        server.shutdown()
        server.server_close()


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    a = parser.parse_args()
    lines = a.source.read_text("utf-8").split("\n")[: a.lines]
    words = sum(len(line.split()) for line in lines)
    figures: dict[Path, list[tuple[float, float]]] = {folder: [] for folder in a.folders}
    for _turn in range(a.turns):
        for folder in a.folders:
            with page(folder) as chrome:
                seconds = []
                for texts in (lines[:1], lines):
                    begun = time.perf_counter()
                    answer = chrome.execute_async_script(TRANSLATE, texts, a.beam)
                    seconds.append(time.perf_counter() - begun)
                    if "Error" in answer:
                        raise SystemExit(f"{folder}: {answer}")
            figures[folder].append((seconds[0], words / seconds[1]))
    for folder, turns in figures.items():
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        ready, speed = (statistics.median(column) for column in zip(*turns, strict=True))
        print(f"{folder}: {size:.1f} MB; first line after {ready:.2f} s; {speed:.0f} words/s")


if __name__ == "__main__":
    main()
