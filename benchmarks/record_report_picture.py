"""
Take the pictures of the report, in light and dark: 17 runs of TREC 2019 Deep Learning, in headless Chromium.

The guide on comparing systems shows them.

Usage: python benchmarks/record_report_picture.py QRELS RUN RUN... [--folder FOLDER]

Needs chromium with its driver, selenium and Pillow, and the extra `report`.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from browser import chromium
from PIL import Image

import fastndcg as fn

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 1280
SCALE = 1
COLOURS = 256
SUFFIXES = re.compile(r"\.(?:2019|dl19)\b")  # what follows the name of a run
TITLE = "TREC 2019 Deep Learning, passages"


def main() -> None:
    """Compare, open, photograph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args()
    runs = {SUFFIXES.split(path.name)[0]: path for path in options.runs}
    comparison = fn.compare(options.qrels, runs, "ndcg@10", baseline="BM25")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        comparison.to_html(page, title=TITLE)
        for name, is_dark in (("report.png", False), ("report_dark.png", True)):
            picture = photograph(page, Path(folder) / name, is_dark)
            image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            path = options.folder / name
            image.save(path, optimize=True)
            print(f"{path}: {image.size[0]} × {image.size[1]}, {path.stat().st_size // 1024} KiB")


def photograph(page: Path, profile: Path, is_dark: bool) -> bytes:
    """Return the page's upper part, down to the summary, as PNG in one of the themes."""
    with chromium(profile, dark=is_dark, width=WIDTH) as driver:
        driver.get(page.as_uri())
        end = driver.execute_script("return document.getElementById('differences').getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": end, "scale": SCALE}
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


if __name__ == "__main__":
    main()
