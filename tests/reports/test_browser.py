"""The report in headless Chromium, opened from disk with the network off."""

import base64
import json

import pytest
from browser import chromium, find_chromium
from fusion_cases import draw_runs
from recorded_data import DRAWN_RUNS, RUN_NAMES, drawn_run
from system_values import drawn, results_of

import fastndcg as fn

pytestmark = pytest.mark.peers

for _needed in ("scipy", "jinja2"):
    pytest.importorskip(_needed)

NAMES = ("base", "better", "worse")


@pytest.fixture(scope="module", autouse=True)
def _browser():
    find_chromium()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of three systems, two metrics as curves, and two segments."""
    qrels = {f"q{place}": {f"d{i}": (place + i) % 3 for i in range(9)} for place in range(60)}
    runs = {
        name: {q: {d: (place * 7 + i * shift) % 11 + 0.1 * i for i, d in enumerate(row)}
               for place, (q, row) in enumerate(qrels.items())}
        for name, shift in zip(NAMES, (3, 5, 2), strict=True)
    }  # fmt: skip
    segments = {q: "odd" if int(q[1:]) % 2 else "even" for q in qrels}
    path = tmp_path_factory.mktemp("report") / "report.html"
    found = fn.compare(qrels, runs, "ndcg@5,map", replicates=500)
    found.to_html(path, segments=segments, curves="ndcg", documents=True)
    return path, found


@pytest.fixture(scope="module")
def driver(report, tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.get(report[0].as_uri())
        yield driver


def rows(driver):
    script = (
        "return [...document.querySelectorAll('#query-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return driver.execute_script(script)


def choose(driver, name, value):
    """Set a filter as a user does, and tell the page."""
    script = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))"
    )
    driver.execute_script(script, name, value)


def click_head(driver, table, column):
    """Click the heading of a column and return its sort order."""
    script = (
        "const h = document.querySelectorAll(arguments[0] + ' thead th')[arguments[1]];"
        "h.querySelector('button').click(); return h.getAttribute('aria-sort')"
    )
    return driver.execute_script(script, table, column)


def test_report_page_has_no_errors_or_requests(driver, report):
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"}
    of_empty_tab = ("chrome", "data:")
    assert {url for url in asked if not url.startswith(of_empty_tab)} == {report[0].as_uri()}


def test_queries_sort(driver, report):
    differences = report[1].differences("better", "ndcg@5")
    choose(driver, "system", "1")
    choose(driver, "which", "all")
    click_head(driver, "#query-table", 1)
    shown = [float(row[1].replace("−", "-")) for row in rows(driver)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == pytest.approx(differences.max(), abs=5.1e-5)
    assert click_head(driver, "#query-table", 1) == "ascending"
    assert float(rows(driver)[0][1].replace("−", "-")) == pytest.approx(differences.min(), abs=5.1e-5)
    assert click_head(driver, "#query-table", 0) == "ascending"
    assert [row[0].removesuffix("documents") for row in rows(driver)[:11]] == [f"q{place}" for place in range(11)]
    assert click_head(driver, "#query-table", 1) == "descending"


def test_lists_are_the_same_with_and_without_javascript(driver, report):
    for place, name in ((1, "better"), (2, "worse")):
        choose(driver, "metric", "0")
        choose(driver, "system", str(place))
        choose(driver, "which", "most")
        script = """
          const list = [...document.querySelectorAll('details.system')]
            .find((one) => one.querySelector('h3').textContent === arguments[0]);
          return [...list.querySelectorAll('.listed > tbody > tr:not(.documents-row)')]
            .map((row) => [...row.cells].map((cell) => cell.textContent));
        """
        listed = driver.execute_script(script, name)
        scripted = [row for row in rows(driver) if len(row) > 1]
        assert listed == [[row[0].removesuffix("documents"), row[1], row[3], row[4]] for row in scripted]
        assert len(listed) > 5


def test_documents_open_in_the_table_of_all_queries(driver):
    choose(driver, "metric", "0")
    choose(driver, "system", "1")
    choose(driver, "which", "most")
    script = """
      document.querySelector('#query-table .toggle').click();
      const own = document.querySelector('#query-table .documents');
      const listed = [...document.querySelectorAll('details.system')]
        .find((one) => one.querySelector('h3').textContent === 'better').querySelector('.documents');
      return [own, listed].map((one) => [...one.querySelectorAll('tbody tr')].map((row) => row.textContent));
    """
    own, listed = driver.execute_script(script)
    assert own == listed
    assert own


def test_values_are_downloaded_as_csv(driver, report):
    script = """
      const done = arguments[arguments.length - 1];
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };
      document.getElementById('download-values').click();
    """
    lines = driver.execute_async_script(script).splitlines()
    assert lines[0] == "query,segment,metric,base,better,worse"
    assert len(lines) == 1 + 60 * 2
    values = [f"{column[0, 0]:.4f}" for column in report[1].columns]
    assert lines[1] == f"q0,even,nDCG@5,{','.join(values)}"


def test_queries_filter(driver, report):
    found = report[1]
    choose(driver, "metric", "1")
    choose(driver, "system", "2")
    choose(driver, "segment", "odd")
    choose(driver, "which", "won")
    choose(driver, "search", "Q1")
    differences = dict(zip(found.query_ids, found.differences("worse", "map"), strict=True))
    wanted = {q for q, d in differences.items() if d > 1e-12 and int(q[1:]) % 2 and q.startswith("q1")}
    assert {row[0].removesuffix("documents") for row in rows(driver)} == wanted
    assert f"{len(wanted)} of {len(wanted)} queries shown" in driver.find_element("id", "status").text
    for name, value in (("metric", "0"), ("segment", ""), ("which", "all"), ("search", "")):
        choose(driver, name, value)
    assert len(rows(driver)) == 25
    driver.execute_script("document.getElementById('more').click()")
    assert len(rows(driver)) == 60
    assert not driver.find_element("id", "more").is_displayed()


def test_summary_sorts(driver, report):
    means = {row.system: row.mean for row in report[1].rows[:3]}
    for order, pick in (("descending", max), ("ascending", min)):
        assert click_head(driver, "#summary table", 1) == order
        first = driver.find_element("css selector", "#summary tbody tr th").text.split()[0]
        assert first == pick(means, key=means.get)


def test_marks_speak(driver, report):
    marks = driver.find_elements("css selector", "#differences .tip")
    assert len(marks) == 2 * 2
    row = report[1].rows[1]
    said = [mark.get_attribute("aria-label") for mark in marks]
    assert any(f"{row.system}: {row.difference:+.4f}" in one for one in said)
    driver.execute_script(
        "arguments[0].dispatchEvent(new PointerEvent('pointerenter', {clientX: 50, clientY: 50}))", marks[0]
    )
    assert driver.find_element("id", "tooltip").text.startswith(said[0].split(":")[0])
    driver.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerleave'))", marks[0])
    assert not driver.find_element("id", "tooltip").is_displayed()


def test_report_page_is_accessible_to_screen_readers(report, tmp_path):
    with chromium(tmp_path / "profile") as driver:
        driver.get(report[0].as_uri())
        nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        told = {node["name"]["value"] for node in nodes if not node["ignored"] and "name" in node}
        rows = [row for row in report[1].rows if row.system != "base"]
        for row in rows:
            assert any(name.startswith(f"{row.system}: {row.difference:+.4f}") for name in told)
        for metric in ("nDCG@5", "AP"):
            assert f"Differences of {metric} from base with intervals, as in the summary table" in told


def test_bands_show_when_somebody_points(tmp_path):
    columns, metrics = drawn(8, 20, n_systems=8), (fn.P @ 1, fn.P @ 2, fn.P @ 5)
    results = {f"s{place}": results_of(values, metrics=metrics) for place, values in enumerate(columns)}
    path = tmp_path / "many.html"
    fn.compare(results, interval="t", test="t").to_html(path)
    with chromium(tmp_path / "profile") as driver:
        driver.get(path.as_uri())
        hidden = driver.find_elements("css selector", "#cutoffs .band")
        assert len(hidden) == 8 - 2
        assert not any(band.is_displayed() for band in hidden)
        place = hidden[0].get_attribute("data-band")
        line = driver.find_element("css selector", f"#cutoffs .tip[data-band='{place}']")
        driver.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerenter'))", line)
        assert hidden[0].is_displayed()
        driver.execute_script("arguments[0].dispatchEvent(new PointerEvent('pointerleave'))", line)
        assert not hidden[0].is_displayed()


def test_queries_with_lower_values_are_won(report, tmp_path):
    """The lists are those of the page, a lower value is won, and without direction none is."""
    truth, runs = report[1].inputs.truth, report[1].inputs.predictions
    path = tmp_path / "lower.html"
    found = fn.compare(truth, runs, "num_ret, fallout@5", replicates=500)
    found.to_html(path)
    bars = "return [...document.querySelectorAll('#query-table .delta i')].map((bar) => bar.className)"
    with chromium(tmp_path / "profile") as driver:
        driver.get(path.as_uri())
        script = "return [...document.querySelectorAll('.listed tbody tr')].map((row) => row.cells[1].textContent)"
        listed = driver.execute_script(script)
        differences = found.differences("better", "fallout@5")
        n_won, n_lost = (min(10, int((sign * differences > 1e-12).sum())) for sign in (-1, 1))
        shown = [row[1] for row in rows(driver) if len(row) > 1]
        assert min(n_won, n_lost) > 3
        assert shown == listed[: n_won + n_lost]
        assert [float(one) < 0 for one in shown] == [True] * n_won + [False] * n_lost
        assert driver.execute_script(bars) == ["won"] * n_won + ["lost"] * n_lost
        choose(driver, "which", "all")
        shown = [float(row[1]) for row in rows(driver)]
        assert shown == sorted(shown)
        choose(driver, "metric", "0")
        for which in ("most", "won", "tied", "lost"):
            choose(driver, "which", which)
            assert not [row for row in rows(driver) if len(row) > 1]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_fits_the_screen_in_both_themes(report, tmp_path, dark, width):
    with chromium(tmp_path / "profile", dark, width) as driver:
        driver.get(report[0].as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        script = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
        ink, paper = (brightness(colour) for colour in driver.execute_script(script))
        assert (ink > paper) == dark
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7
        driver.find_element("id", "theme").click()
        ink, paper = (brightness(colour) for colour in driver.execute_script(script))
        assert (ink > paper) != dark
        assert driver.get_log("browser") == []


LONG = ("sentence-transformers/multi-qa-mpnet-base-dot-v1+rerank-L-12-v2", "W" * 120, "a name in words " * 8 + "end",
        "順位" * 40, "lambdarank", "bm25", "b" * 300, "x y")  # fmt: skip
FITS = """
  document.querySelectorAll('details').forEach((one) => (one.open = true));
  const beside = (a, b) => a.right <= b.left + 1 || a.bottom <= b.top + 1;
  const apart = (a, b) => beside(a, b) || beside(b, a);
  const inside = (a, b) => a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1;
  const found = [];
  document.querySelectorAll('svg[role=img]').forEach((svg) => {
    const texts = [...svg.querySelectorAll('text')].map((one) => [one.textContent, one.getBoundingClientRect()]);
    texts.forEach(([text, box], place) => {
      if (!inside(box, svg.getBoundingClientRect())) found.push(`${text} is outside`);
      texts.slice(0, place).forEach(([other, its]) => apart(box, its) || found.push(`${text} is over ${other}`));
    });
  });
  document.querySelectorAll('main *, header *').forEach((one) => {
    const box = one.getBoundingClientRect();
    if (box.right > innerWidth + 1 && !one.closest(arguments[0])) found.push(`${one.outerHTML.slice(0, 60)} is cut`);
  });
  return [document.documentElement.scrollWidth, found];
"""


@pytest.mark.parametrize("names", [NAMES[:2], NAMES, [f"system{place}" for place in range(8)], LONG[:2], LONG],
                         ids=["2", "3", "8", "2 long", "8 long"])  # fmt: skip
def test_narrow_windows_cut_nothing(tmp_path, names):
    """All is within 420 pixels, every text is in its figure and over no other, and names are whole."""
    metrics = ("nDCG(gain=exp2, discount=none)@10", "fallout@10", "P@1", "P@3", "P@10")
    cuts = tuple(map(fn.Metric.parse, metrics))
    columns = drawn(9, 40, n_metrics=len(cuts), n_systems=len(names), lift=0.05)
    results = {one: results_of(values, metrics=cuts) for one, values in zip(names, columns, strict=True)}
    found = fn.compare(results, test="t")
    found.to_html(tmp_path / "page.html", segments=["of odd ones", "s" * 90] * 20, margin=0.1)
    with chromium(tmp_path / "profile", width=420) as driver:
        driver.get((tmp_path / "page.html").as_uri())
        assert driver.execute_script(FITS, ".hidden, #filters") == [420, []]
        drawn_names = "return [...document.querySelectorAll('#differences svg')].map((one) => one.textContent)"
        for text in driver.execute_script(drawn_names):
            assert all("".join(one.split()) in "".join(text.split()) for one in names[1:])
        above = (
            "return [...document.querySelectorAll('h1 ~ *')].map((one) => one.textContent.replaceAll('\\u00a0', ' '))"
        )
        assert driver.execute_script(above)[: len(metrics)] == [f"{sentence}." for sentence in found.sentences]
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        assert driver.execute_script(FITS, ".hidden, #filters, .scroll") == [1280, []]


def test_a_tuned_fusion_fits_a_narrow_window(tmp_path):
    qrels, runs = draw_runs(2)
    methods = ["rrf(k=60)", "mnz(norm=min_max)", "wsum(norm=min_max)"]
    fn.tune_fusion(qrels, runs, "ndcg@5", methods, folds=4).to_html(tmp_path / "page.html")
    with chromium(tmp_path / "profile", width=420) as driver:
        driver.get((tmp_path / "page.html").as_uri())
        assert driver.execute_script(FITS, ".hidden, #filters") == [420, []]


def brightness(colour):
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_report_page_is_readable_without_javascript(report, tmp_path):
    with chromium(tmp_path / "profile") as driver:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        driver.get(report[0].as_uri())
        assert len(driver.find_elements("css selector", "#summary tbody tr")) == 6
        assert len(driver.find_elements("css selector", ".listed[data-side=won] > tbody > tr")) > 5
        assert len(driver.find_elements("css selector", ".listed[data-side=lost] > tbody > tr")) > 5
        assert (
            len(driver.find_elements("css selector", "svg[role=img]")) == 2 * 2 + 1 + 2 * 2
        )  # boards, forests, curve, histograms
        assert not driver.find_element("id", "explorer").is_displayed()


def test_names_are_text(tmp_path):
    columns = drawn(5, 12, n_systems=2)
    ids = [f"<img src=x onerror=alert({place})>" for place in range(12)]
    path = tmp_path / "odd.html"
    names = ("<script>alert(1)</script>", "</script><script>alert(2)</script>")
    fn.compare({n: results_of(values, ids) for n, values in zip(names, columns, strict=True)}).to_html(path)
    with chromium(tmp_path / "profile") as driver:
        driver.get(path.as_uri())
        assert driver.get_log("browser") == []
        assert rows(driver)[1][0].startswith("<img src=x")


def test_recorded_runs(tmp_path):
    runs = {name: drawn_run(name) for name in RUN_NAMES}
    path = tmp_path / "runs.html"
    fn.compare(DRAWN_RUNS / "qrels.txt.gz", runs, "ndcg@10,map", baseline="bm25").to_html(path, curves="ndcg")
    with chromium(tmp_path / "profile") as driver:
        driver.get(path.as_uri())
        assert driver.get_log("browser") == []
        assert len(driver.find_elements("css selector", "#summary tbody tr")) == 10


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_prints_on_white_paper_without_cuts(report, tmp_path, dark):
    landscape = 297 - 2 * 12, 210 - 2 * 12  # millimetres of A4 within its margins
    width, height = (round(side / 25.4 * 96) for side in landscape)
    with chromium(tmp_path, dark=dark, width=width) as driver:
        driver.get(report[0].as_uri())
        driver.execute_script(f"document.documentElement.dataset.theme = '{'dark' if dark else 'light'}'")
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color, s.colorScheme]"
        assert driver.execute_script(style) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", "light"]
        driver.execute_script("document.querySelector('.tip').dispatchEvent(new PointerEvent('pointerenter'))")
        shown = "return [...document.querySelectorAll('nav, #theme, #explorer, #tooltip')].map(e => e.offsetHeight)"
        assert set(driver.execute_script(shown)) == {0}
        sizes = "return [...document.querySelectorAll('figure')].map(e => [e.scrollWidth, e.offsetHeight])"
        assert all(w <= width and h < height for w, h in driver.execute_script(sizes))
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        pdf = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
        assert 5 <= base64.b64decode(pdf).count(b"/Type /Page\n") <= 9


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (420, "dark")])
def test_axe_finds_nothing(report, tmp_path, width, scheme):
    axe = pytest.importorskip("axe_core_python.selenium")
    with chromium(tmp_path) as driver:
        driver.set_window_size(width, 1500)
        driver.set_script_timeout(300)  # not 30: axe takes some seconds of processor time
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})  # which keeps out scripts, also those of tests
        driver.get(report[0].as_uri())
        found = axe.Axe().run(driver)
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 20
