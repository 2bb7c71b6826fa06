"""Configuration of the documentation, which `scripts/docs` builds."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import fastndcg

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]  # for the package `benchmarks`, and extensions

project = "fastndcg"
author = "The fastndcg developers"
copyright = f"2026, {author}"
version = release = fastndcg.__version__

extensions = [
    "generated_pages",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_generated/parts"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]

mathjax_path = "tex-svg.js"
html_theme = "pydata_sphinx_theme"
html_title = "fastndcg"
html_theme_options = {
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # the theme of the reader's system
html_sidebars = {"index": [], "benchmarks": [], "changelog": []}  # pages without a section
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = True  # with the texts of EXCERPTS: a page on disk cannot request others

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
os.environ |= {"FASTNDCG_QUIET": "1", "FASTNDCG_PROGRESS": "0"}  # notebooks print what they compute, and no more
os.environ["JUPYTER_PATH"] = str(ROOT / "docs" / "_jupyter")  # its kernel has no warning of TCP for each notebook

# Packages that drop-ins and integrations import. They are mocked where they are installed, too: pages are the same
# everywhere, and have no members that are inherited from torch's classes.
autodoc_mock_imports = ["torch", "torchmetrics", "sentence_transformers"]
autosummary_generate = True
toc_object_entries_show_parents = "hide"
default_role = "py:obj"  # names in single back-ticks, in docstrings, are links if they are public
autodoc_typehints = "none"  # numpydoc's sections have them
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


GUIDES = {  # of the pages of the API, by names: each links its guide
    "guides/inputs": "Evaluator Results evaluate Qrels Run Rankings",
    "guides/metrics": "Metric CATALOG ndcg dcg average_precision reciprocal_rank precision recall f_score success "
    "r_precision list_metrics MetricRow",
    "guides/own_metrics": "Parameter register",
    "guides/conventions": "Convention conventions list_conventions Bug PeerMetric ConventionRow",
    "guides/compare_systems": "compare Comparison Row Pair CurvePoint Equivalence DetectableDifference Design Settings "
    "AlignedValues ComparedInputs Table Interval",
    "guides/segments_and_weights": "Segment SegmentRow",
    "guides/in_ci": "gate Gate GateRow Regression plan Plan audit Audit load_result assert_not_worse Provenance",
    "guides/leaderboards": "leaderboard Leaderboard BoardRow BoardPair",
    "guides/explain": "explain Explanation RankedDocument IdealDocument Step",
    "guides/why_it_changed": "explain_change Change QueryChange DocumentChange Move Slice",
    "guides/tune_a_hybrid_search": "tune_fusion TunedFusion FusionCurve BestFusion FoldRow MethodRow Origin",
    "guides/fuse_runs": "fuse FusedRun FusionConvention fusion_conventions list_fusion_methods FusionMethod FusionRow "
    "Difference FusedCounts",
    "guides/recommendations": "Interactions Recommendations beyond_accuracy BeyondAccuracy",
    "guides/embeddings": "Embeddings Scorer TopItems Factors",
    "guides/index_recall": "index_recall IndexRecall",
    "guides/judges": "estimate_with_judge compare_judges JudgeComparison JudgeEstimate SystemAgreement RankedSystem "
    "LabelCount Confusion",
    "guides/unjudged_documents": "bounds Bounds Bound QueryBound judge_next NextJudgment",
    "guides/diversity": "DiversityQrels Patterns",
    "guides/spans": "evaluate_spans SpanResults",
    "guides/agreement": "agreement Agreement",
    "guides/streaming_and_memory": "StreamingEvaluator PartialSums",
    "guides/compilation": "warmup show_versions Warmup",
}
autosummary_context = {"guides": {name: guide for guide, names in GUIDES.items() for name in names.split()}}


def setup(app: Any) -> None:
    """Repair what docutils reads wrongly, and copy MathJax and the excerpts after the build."""
    app.connect("autodoc-process-docstring", keep_initials)
    app.connect("doctree-read", unlink_addresses)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", write_excerpts)


def keep_initials(*event: Any) -> None:
    """Escape initials at the start of a line, such as those of B. A. Carterette, which would begin a list."""
    lines = event[-1]
    lines[:] = [re.sub(r"^( *)(?=[A-Z]\. )", r"\1\\", line) for line in lines]


def unlink_addresses(app: Any, doctree: Any) -> None:
    """Remove the links from texts such as nDCG@10, which docutils takes for addresses of mail."""
    del app
    for reference in list(doctree.findall(nodes.reference)):
        if reference.get("refuri", "").startswith("mailto:"):
            reference.replace_self(reference.children)


def copy_mathjax(app: Any, error: Exception | None) -> None:
    """Copy the one file of MathJax that pages load. Its mathematics is SVG, which needs no files of fonts."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if error is None and app.builder.format == "html":
        source = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
        shutil.copyfile(source, app.outdir / "_static" / "tex-svg.js")


def list_texts(doctree: nodes.document) -> str:
    """Return the text of a page, without its markup of HTML, such as comments."""
    for markup in list(doctree.findall(nodes.raw)):
        markup.parent.remove(markup)
    return " ".join(doctree.astext().split())


def write_excerpts(app: Any, error: Exception | None) -> None:
    """Write the texts of all pages for the search, which shows where a page has the words."""
    if error is None and app.builder.format == "html":
        texts = {name: list_texts(app.env.get_doctree(name))[:20_000] for name in app.env.found_docs}
        script = (
            f"const EXCERPTS = {json.dumps(texts, ensure_ascii=False)};\n"
            "const root = new URL('.', document.baseURI).href;\n"
            "const escapes = {'&': '&amp;', '<': '&lt;', '>': '&gt;'};\n"
            "window.fetch = (address) => {\n"
            "  const page = decodeURI(new URL(address, root).href.slice(root.length)).replace(/\\.html$/, '');\n"
            "  const text = (EXCERPTS[page] || '').replace(/[&<>]/g, (character) => escapes[character]);\n"
            '  return Promise.resolve({text: () => Promise.resolve(`<div role="main">${text}</div>`)});\n'
            "};\n"
            "const convert = Search.htmlToText;\n"
            "Search.htmlToText = (text) => convert(text);  // of the page: the texts have no anchors\n"
        )
        (Path(app.outdir) / "_static" / "excerpts.js").write_text(script, encoding="utf-8")
