"""
Take the picture of the report in the README: 17 runs of TREC 2019 Deep Learning, in headless Chromium.

Usage: python scripts/report_picture.py QRELS RUN RUN... [--png FILE]

Needs chromium with its driver, selenium and Pillow, and the extra `report`.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from browser import chromium
from PIL import Image

import fastndcg as fn

ROOT = Path(__file__).resolve().parents[1]
WIDTH, SCALE, COLOURS = 1280, 1, 256
TITLE = "TREC 2019 Deep Learning, passages"


def main() -> None:
    """Compare, open, photograph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--png", type=Path, default=ROOT / "benchmarks" / "report.png")
    asked = parser.parse_args()
    runs = {path.name.partition(".")[0]: path for path in asked.runs}
    comparison = fn.compare(asked.qrels, runs, "ndcg@10", baseline="BM25", curves="ndcg")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        comparison.to_html(page, title=TITLE)
        picture = photograph(page, Path(folder) / "profile")
    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(asked.png, optimize=True)
    print(f"{asked.png}: {image.size[0]} × {image.size[1]}, {asked.png.stat().st_size // 1024} KiB")


def photograph(page: Path, profile: Path) -> bytes:
    """The page's upper part, down to its curves, as PNG."""
    with chromium(profile, width=WIDTH) as driver:
        driver.get(page.as_uri())
        end = driver.execute_script("return document.getElementById('distribution').getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": end, "scale": SCALE}
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


if __name__ == "__main__":
    main()
