"""How notebooks look in JupyterLab, Notebook 7 and the classic notebook, in a headless browser: `make test-notebooks`.

pytest runs this file only where it is named. Screenshots are left in build/screenshots.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
NOTEBOOKS = [ROOT / "tests/jupyter/shown.ipynb", ROOT / "examples/compiler_tour.ipynb"]
PATHS = {"lab": "lab/tree", "notebook": "notebooks", "classic": "nbclassic/notebooks"}
LOOKS = [("lab", "Light"), ("lab", "Dark"), ("notebook", "Light"), ("notebook", "Dark"), ("classic", "Light")]

# What each piece of text has to say of itself: its contrast by WCAG's formula, against the first background behind it.
CONTRASTS = """() => {
  const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const light = ([r, g, b]) => { const l = [r, g, b].map(c => { c /= 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
  const behind = node => { for (; node; node = node.parentElement) {
    const found = rgba(getComputedStyle(node).backgroundColor); if (found[3] > 0.5) return found; }
    return [255, 255, 255, 1]; };
  const found = [];
  for (const node of document.querySelectorAll('.libsparse *, .libsparse-tensor *')) {
    if (!node.checkVisibility() || ![...node.childNodes].some(c => c.nodeType == 3 && c.data.trim())) continue;
    const style = getComputedStyle(node), colour = node.tagName == 'text' ? style.fill : style.color;
    const pair = [light(rgba(colour)), light(behind(node))].sort((a, b) => b - a);
    found.push([(pair[0] + 0.05) / (pair[1] + 0.05), node.tagName, node.textContent.slice(0, 30)]);
  }
  return found;
}"""
TOO_WIDE = """() => [...document.querySelectorAll('.libsparse-tensor, .libsparse pre, .libsparse svg')].filter(n =>
  n.checkVisibility() && getComputedStyle(n).overflowX != 'auto' && (n.scrollWidth > n.clientWidth + 1
  || n.getBoundingClientRect().right > n.parentElement.getBoundingClientRect().right + 1))
  .map(n => n.outerHTML.slice(0, 200))"""
# Opacity of the first and the last pixel of the top row of each picture of a matrix.
CORNERS = """() => [...document.querySelectorAll('img.spy, .libsparse-tensor img')].map(img => {
  const canvas = document.createElement('canvas'); canvas.width = img.naturalWidth; canvas.height = img.naturalHeight;
  const context = canvas.getContext('2d'); context.drawImage(img, 0, 0);
  const alpha = x => context.getImageData(x, 0, 1, 1).data[3];
  return {shown: img.checkVisibility() && img.clientWidth > 3 && img.clientHeight > 3,
          first: alpha(0), last: alpha(img.naturalWidth - 1)}; })"""


class Jupyter(NamedTuple):
    address: str
    settings: Path

    def set(self, plugin: str, name: str, **values: Any) -> None:
        path = self.settings / "@jupyterlab" / plugin / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """A server with executed notebooks, and with one that has another signature than Jupyter's own."""
    folder = tmp_path_factory.mktemp("jupyter")
    work = folder / "work"
    work.mkdir()
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    own["JUPYTERLAB_SETTINGS_DIR"] = str(folder / "settings")
    environment = {**os.environ, **own}
    tool = Path(sys.executable).with_name("jupyter")
    copies = [shutil.copy(path, work) for path in NOTEBOOKS]
    execute = [tool, "nbconvert", "--to", "notebook", "--execute", "--inplace", *copies]
    subprocess.run(execute, env=environment, check=True, timeout=600)
    subprocess.run([tool, "trust", *copies], env=environment, check=True)
    foreign = json.loads(Path(copies[0]).read_text())
    foreign["metadata"]["from"] = "elsewhere"
    (work / "untrusted.ipynb").write_text(json.dumps(foreign))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=", f"--notebook-dir={work}"]
    server = subprocess.Popen(
        [tool, "lab", *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/api", server)
        started = Jupyter(address, Path(own["JUPYTERLAB_SETTINGS_DIR"]))
        started.set("notebook-extension", "tracker", windowingMode="none")
        started.set("apputils-extension", "notification", fetchNews="false")
        yield started
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str, server: subprocess.Popen[Any]) -> None:
    for _ in range(120):
        assert server.poll() is None, "Jupyter has not started"
        with suppress(OSError), urllib.request.urlopen(address):
            return
        time.sleep(0.5)
    pytest.fail("Jupyter does not answer")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    assert path is not None, "needs a browser: apt install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


def opened(jupyter: Jupyter, browser: Browser, where: str, theme: str, notebook: str) -> Page:
    jupyter.set("apputils-extension", "themes", theme=f"JupyterLab {theme}")
    page = browser.new_page(
        viewport={"width": 1200, "height": 8000}, color_scheme="dark" if theme == "Dark" else "light"
    )
    page.goto(f"{jupyter.address}/{PATHS[where]}/{notebook}.ipynb?reset")  # with no other tabs
    page.locator(".libsparse-tensor").first.wait_for(timeout=60_000)
    page.wait_for_timeout(2000)  # later outputs, and the theme
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{notebook}-{where}-{theme.lower()}.png")
    return page


@pytest.mark.parametrize(("where", "theme"), LOOKS)
def test_tensors_schedules_and_reports(jupyter: Jupyter, browser: Browser, where: str, theme: str) -> None:
    page = opened(jupyter, browser, where, theme, "shown")
    check_readable(page)
    pictures = page.evaluate(CORNERS)
    assert len(pictures) == 5
    assert all(picture["shown"] for picture in pictures)
    assert pictures[1]["first"] == 255
    assert pictures[1]["last"] == 0
    assert page.locator(".libsparse-tensor td").first.evaluate("n => getComputedStyle(n).textAlign") == "left"
    assert page.locator(".libsparse svg circle").count() >= 2
    colours = page.evaluate(
        "() => ['keyword', 'comment', 'number'].map(n => getComputedStyle(document.querySelector('.c-' + n)).color)"
    )
    assert len({*colours, page.locator(".libsparse pre").first.evaluate("n => getComputedStyle(n).color")}) >= 3
    page.close()


@pytest.mark.parametrize(("where", "theme"), LOOKS)
def test_sections_fold(jupyter: Jupyter, browser: Browser, where: str, theme: str) -> None:
    page = opened(jupyter, browser, where, theme, "shown")
    section = page.locator(".libsparse details", has=page.get_by_text("c", exact=True)).first
    assert not section.locator("pre").is_visible()
    section.locator("summary").click()
    assert section.locator("pre").is_visible()
    check_readable(page)
    page.close()


@pytest.mark.parametrize(("where", "theme"), LOOKS)
def test_the_tour(jupyter: Jupyter, browser: Browser, where: str, theme: str) -> None:
    page = opened(jupyter, browser, where, theme, "compiler_tour")
    check_readable(page)
    page.close()


@pytest.mark.parametrize(("where", "theme"), LOOKS)
def test_outputs_without_styles(jupyter: Jupyter, browser: Browser, where: str, theme: str) -> None:
    """Jupyter takes styles out of notebooks that it does not trust."""
    page = opened(jupyter, browser, where, theme, "untrusted")
    check_readable(page)
    assert [picture["shown"] for picture in page.evaluate(CORNERS)] == [True] * 5
    page.close()


def check_readable(page: Page) -> None:
    contrasts = page.evaluate(CONTRASTS)
    assert contrasts
    assert [found for found in contrasts if found[0] < 3] == []
    assert page.evaluate(TOO_WIDE) == []
