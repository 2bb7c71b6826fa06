"""The style, the script and the templates of the page, which are files beside this module."""

from __future__ import annotations

import base64
import hashlib
import math
from importlib import resources
from typing import Any

from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.table import format_interval, format_number, format_p_value


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
        loader=jinja2.FunctionLoader(read_asset),
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
    """Return a template, the style or the script as text."""
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
