"""The built documentation: links, headings, pictures, and every page in headless Chromium, opened from disk."""

import itertools
import json
import os
import time
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from browser import chromium
from html_tags import Tags

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("FASTNDCG_TEST_SITE", ROOT / "docs" / "_build" / "html")).resolve()
EXTERNAL = tuple((ROOT / "docs" / "links.txt").read_text(encoding="utf-8").split())
OF_SEARCH = ("search.html", "genindex.html", "py-modindex.html")  # not in the table of contents
SHOWN = (
    "index.html", "numbers/index.html", "numbers/lightgbm.html", "reference/errors.html",
    "reference/api.html", "reference/api/fastndcg.evaluate.html", "benchmarks.html", "contributing/index.html",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: scripts/docs")


def list_names():
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)


@pytest.fixture(scope="module")
def pages():
    return {name: Tags((SITE / name).read_text(encoding="utf-8")) for name in list_names()}


def is_external(link):
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def test_internal_links_and_anchors_exist(pages):
    dead = []
    for name, page in pages.items():
        for link in filter(lambda link: not is_external(link), [*page.links, *page.loaded]):
            path, fragment = urldefrag(link)
            target = (SITE / name).parent / unquote(urlsplit(path).path) if path else SITE / name
            target = Path(os.path.normpath(target))
            if not target.is_file():
                dead.append(f"{name}: {link}")
            elif fragment and target.suffix == ".html":
                ids = pages[target.relative_to(SITE).as_posix()].ids
                if unquote(fragment) not in ids:
                    dead.append(f"{name}: {link}")
    assert dead == []


def test_external_links_are_listed(pages):
    links = {(link, name) for name, page in pages.items() for link in page.links if is_external(link)}
    assert [place for place in sorted(links) if not place[0].startswith(EXTERNAL)] == []
    assert [start for start in EXTERNAL if not any(link.startswith(start) for link, _ in links)] == []


def test_pages_load_only_files_and_pictures_have_texts(pages):
    assert [(name, one) for name, page in pages.items() for one in page.loaded if is_external(one)] == []
    assert [(name, src) for name, page in pages.items() for src, alt in page.pictures if not (alt or "").strip()] == []


def test_pages_of_the_api_link_a_guide(pages):
    texts = {name: (SITE / name).read_text(encoding="utf-8") for name in pages if name.startswith("reference/api/")}
    assert len(texts) > 80
    assert [name for name, text in texts.items() if "The guide is <a" not in text] == []


def test_headings_are_in_order(pages):
    wrong = []
    for name, page in pages.items():
        if name not in OF_SEARCH:
            levels = page.headings
            skips = any(second > first + 1 for first, second in itertools.pairwise(levels))
            if levels.count(1) != 1 or levels[0] != 1 or skips:
                wrong.append((name, levels))
    assert wrong == []


def test_no_page_is_hidden(pages):
    linked = set()
    for name, page in pages.items():
        for link in page.links:
            if not is_external(link):
                linked.add(os.path.normpath((SITE / name).parent / urldefrag(link)[0]))
    assert [name for name in pages if str(SITE / name) not in linked and name not in ("index.html", *OF_SEARCH)] == []


def read_requests(driver):
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"}
    return {url for url in asked if not url.startswith(("chrome", "data:", "blob:", "about:"))}


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.mark.peers
def test_pages_fit_a_phone_without_errors_and_requests(tmp_path):
    problems = []
    with chromium(tmp_path / "profile", width=390, height=844) as driver:
        for name in list_names():
            driver.get((SITE / name).as_uri())
            log = driver.get_log("browser")  # the theme says at the level INFO which colours it took
            problems += [(name, entry["message"]) for entry in log if entry["level"] != "INFO"]
            problems += [(name, url) for url in read_requests(driver) if not url.startswith("file://")]
            width = driver.execute_script("return document.documentElement.scrollWidth")
            problems += [(name, width)] if width > 390 else []
    assert problems == []


@pytest.mark.peers
@pytest.mark.parametrize(("words", "page"), [
    ("nDCG", "ndcg"), ("ties", "ties"), ("LightGBM", "lightgbm"), ("trec_eval", "trec_eval"),
    ("no metric is called", "errors"), ("qrels and run must have a query in common", "errors"),
    ("Parquet file by user", "start/data_platform"), ("LightGBM digits", "start/learning_to_rank"),
    ("number different trec_eval", "numbers/trec_eval"),
])  # fmt: skip
def test_search_finds(driver, words, page):
    driver.get(f"{(SITE / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    script = "return [...document.querySelectorAll('#search-results ul.search li a')].map(a => a.href)"
    end = time.monotonic() + 20
    found = []
    while time.monotonic() < end and not any(page in link.lower() for link in found):
        found = driver.execute_script(script)
        time.sleep(0.1)
    assert any(page in link.lower().rpartition("/html/")[2] for link in found), found
    excerpts = driver.execute_script(
        "return [...document.querySelectorAll('#search-results p.context')].map(p => p.textContent)"
    )
    assert any(word.lower() in excerpt.lower() for excerpt in excerpts for word in words.split())
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert all(url.startswith("file://") for url in read_requests(driver))


FIND_PALE_TEXT = """
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ground = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(e).backgroundColor);
      if (a > 0) layers.push([r, g, b, a]);
      if (a === 1) break;
    }
    return layers.reverse().reduce((below, [r, g, b, a]) =>
      [r, g, b].map((c, i) => c * a + below[i] * (1 - a)), [255, 255, 255]);
  };
  const pale = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    if (e.closest('.skip-link, #pst-skip-link, svg, mjx-container, .copybtn, [hidden]')) continue;
    const style = getComputedStyle(e), [r, g, b, a = 1] = channels(style.color), under = ground(e);
    const text = [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
    const [x, y] = [luminance(text), luminance(under)].sort((p, q) => q - p);
    const ratio = (x + 0.05) / (y + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) pale.push([e.tagName, e.className, e.textContent.trim().slice(0, 40), ratio]);
  }
  return pale;
"""


@pytest.mark.peers
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(tmp_path, dark):
    """The contrast of text is at least 4.5, and 3 for large text, in both themes."""
    with chromium(tmp_path / "profile", dark=dark) as driver:
        for name in SHOWN:
            driver.get((SITE / name).as_uri())
            end = time.monotonic() + 20  # the theme is "auto" until its script has run
            while (theme := driver.execute_script("return document.documentElement.dataset.theme")) == "auto":
                assert time.monotonic() < end
            assert theme == ("dark" if dark else "light")
            assert driver.execute_script(FIND_PALE_TEXT) == [], name


@pytest.mark.peers
@pytest.mark.parametrize("name", ["index.html", "reference/api.html"])
def test_keyboard_reaches_links(driver, name):
    from selenium.webdriver.common.keys import Keys

    driver.get((SITE / name).as_uri())
    script = """
      const e = document.activeElement, style = getComputedStyle(e);
      const marked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      return [e.tagName, e.textContent.trim(), marked || style.boxShadow !== 'none'];
    """
    steps = []
    for _ in range(8):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        steps.append(driver.execute_script(script))
    assert "Skip to main content" in steps[0][1]
    assert all(tag in ("A", "BUTTON", "INPUT", "DIV") and marked for tag, _, marked in steps[1:]), steps


@pytest.mark.peers
def test_controls_have_names(driver):
    script = """
      const named = (e) => e.getAttribute('aria-label') || e.title || e.textContent.trim() || e.closest('label')
        || e.querySelector('img[alt]') || e.placeholder;
      return [...document.querySelectorAll('a[href], button, input, select')]
        .filter(e => e.checkVisibility() && !named(e)).map(e => e.outerHTML.slice(0, 100))
    """
    for name in SHOWN:
        driver.get((SITE / name).as_uri())
        assert driver.execute_script(script) == [], name
        assert driver.execute_script("return document.documentElement.lang") == "en"
