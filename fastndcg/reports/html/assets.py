"""The style, the script and the templates of the page, which are files beside this module."""

from __future__ import annotations

import base64
import hashlib
import math
from importlib import resources
from typing import Any

from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.statistics.table import format_interval, format_number, format_p_value

STYLES = ("colours", "layout", "tables", "figures", "queries", "narrow", "print")
SCRIPTS = ("theme", "tables", "tooltips", "curves", "values", "documents", "queries", "downloads", "print")


def join_styles() -> str:
    """Return all styles, in an order in which later ones win."""
    return "\n".join(read_asset(f"styles/{name}.css") for name in STYLES)


def join_scripts() -> str:
    """Return all scripts in one function, so that they share names with each other but not with the page."""
    return "\n".join(['"use strict";\n(() => {', *(read_asset(f"scripts/{name}.js") for name in SCRIPTS), "})();"])


def make_policy(style: str, script: str) -> str:
    """
    Return a Content-Security-Policy that allows this style and this script alone, and no address.

    Attributes of style place the bars of tables. `style-src` is for browsers without `style-src-elem`.
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[1]}'; style-src 'unsafe-inline'; "
        f"style-src-elem 'sha256-{hashes[0]}'; style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def render_page(content: dict[str, Any], markup_names: tuple[str, ...]) -> str:
    """Return the page. Text is escaped, except for the names in `markup_names`, which hold our own markup."""
    jinja2 = optional_import("jinja2", "a report", "report")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_escape,
        loader=jinja2.FunctionLoader(lambda name: read_asset(f"templates/{name}")),
    )
    environment.globals |= {
        "format_number": format_number,
        "format_interval": format_interval,
        "format_p_value": format_p_value,
        "isnan": math.isnan,
        "markup": jinja2.utils.markupsafe.Markup,
    }
    markup = jinja2.utils.markupsafe.Markup
    marked = {name: markup(content[name]) for name in markup_names}
    text: str = environment.get_template("page.html").render(**content | marked)
    return text


def _escape(value: Any) -> Any:
    """Return text short and printable. Return our own markup and other values as they are."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else show_name(value)


def read_asset(name: str) -> str:
    """Return a file beside this module as text."""
    return resources.files(__package__).joinpath(*name.split("/")).read_text(encoding="utf-8")
