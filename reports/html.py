"""The page rules that all reports share: one file, no script, nothing fetched, all escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.phrases import TAGS

TEMPLATES = Path(__file__).parent / "templates"
SECTIONS = Path(__file__).parent / "sections"
_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "[": "\\[", "`": "\\`", "\n": " "}
)

_WORDS = {tag: basis.value for basis, tag in TAGS.items()}
_TAG = re.compile(rf"(?<=\S) ({'|'.join(_WORDS)})(?=$|,| ≤)")


def html_page(template: str, context: Mapping[str, object]) -> str:
    """The page as HTML; every value is escaped, a value that is missing is an error."""
    return _html().get_template(template).render(context)


def with_tags(text: str) -> Markup:
    """``text`` escaped, each tag of a basis marked so that it is not read as a unit.

    It is for figures as ``phrases.tagged`` writes them: their times are in ms, never in s.
    """

    def marked(found: re.Match[str]) -> str:
        return f' <abbr class="tag" title="{_WORDS[found[1]]}">{found[1]}</abbr>'

    return Markup(_TAG.sub(marked, str(escape(text))))  # noqa: S704 - escaped before


def markdown_page(template: str, context: Mapping[str, object]) -> str:
    """The page as Markdown; no value can open a tag, a link or a new table cell."""
    return _markdown().get_template(template).render(context)


def escape_markdown(value: object) -> object:
    """``value`` as text that Markdown shows literally."""
    return str(value).translate(_MARKDOWN)


@cache
def _html() -> Environment:
    made = Environment(
        loader=FileSystemLoader((TEMPLATES, SECTIONS)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["with_tags"] = with_tags
    return made


@cache
def _markdown() -> Environment:
    return Environment(  # noqa: S701 - finalize escapes every value for Markdown instead
        loader=FileSystemLoader((TEMPLATES, SECTIONS)),
        undefined=StrictUndefined,
        finalize=escape_markdown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
