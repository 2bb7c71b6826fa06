"""A headless Chromium for the tests of pages."""

import contextlib
import shutil

import pytest

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no host name resolves, so the network is off
)  # fmt: skip


def find_chromium():
    webdriver = pytest.importorskip("selenium.webdriver")
    programs = [shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")]
    if None in programs:
        pytest.skip("chromium or chromedriver is absent: apt-get install chromium chromium-driver")
    return webdriver, programs


@contextlib.contextmanager
def chromium(folder, dark=False, width=1280, height=900):
    webdriver, programs = find_chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for option in (*OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"):
        options.add_argument(option)
    if dark:
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    try:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        yield driver
    finally:
        driver.quit()
