"""Matplotlib drawings as SVG for one page: colours by variable, the same bytes every time."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, Final

import matplotlib as mpl
import matplotlib.ticker
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports.figures.palette import INK, MUTED, PAPER, RULE, with_variables
from reports.tables import Table

_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings belong to the whole process
_KEPT: Final = ("backend", "interactive", "toolbar")
_SETTINGS: Final[dict[str, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "runoff",
    "svg.image_inline": True,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "figure.facecolor": "none",
    "text.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "path.simplify": False,
}
_HEAD: Final = re.compile(r"\A.*?<svg\b[^>]*>", re.DOTALL)
_METADATA: Final = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_COMMENT: Final = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_FAMILY: Final = re.compile(r"font-family: [^;\"]*;? ?")
_DOT: Final = re.compile(r"M (\S+) (\S+) \nL \1 \2 \n")
_ID: Final = re.compile(r'\s+id="([^"]+)"')
_LINK: Final = re.compile(r'xlink:href="#([^"]+)"')
_URL: Final = re.compile(r"url\(#([^)]+)\)")
_DECIMALS: Final = re.compile(r"(\d+\.\d{2})\d+")
_FEW: Final = 3
WIDE: Final = 8.4  # inches of a figure that stands alone
_STEPS: Final = ((1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
_SPACE: Final = re.compile(r"\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One figure of the page.

    ``finding`` is the figure's title, a sentence made from its numbers; ``definition`` says
    what is drawn, ``caption`` on how much it rests; ``table`` holds the numbers. One that
    ``is_wide`` takes a page's whole width, others stand in pairs.
    """

    name: str
    title: str
    finding: str
    definition: str
    caption: str
    table: Table
    svg: Markup
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The size of a figure and its margins in inches, with the gaps between panels.

    The margins are stated: a layout that is solved for differs in its last digits from one
    process to the next.
    """

    width: float = 7.0
    height: float = 3.9
    left: float = 0.85
    right: float = 0.3
    top: float = 0.3
    bottom: float = 0.55
    across: float = 0.2
    down: float = 0.2

    def lay_out(self, figure: Figure) -> None:
        """Give the figure its margins."""
        figure.subplots_adjust(
            left=self.left / self.width,
            right=1 - self.right / self.width,
            bottom=self.bottom / self.height,
            top=1 - self.top / self.height,
            wspace=self.across,
            hspace=self.down,
        )


def drawing(
    draw: Callable[[Figure], None],
    sheet: Sheet,
    *,
    name: str,
    title: str,
    finding: str,
    definition: str,
    caption: str,
    table: Table,
    is_wide: bool = False,
) -> Drawing:
    """The figure with its words, drawn for a page."""
    svg = themed(drawn(draw, sheet), sheet, name=name, title=finding, description=definition)
    return Drawing(
        name=name,
        title=title,
        finding=finding,
        definition=definition,
        caption=caption,
        table=table,
        svg=svg,
        is_wide=is_wide,
    )


def room(labels: Iterable[str]) -> float:
    """Inches that the longest of some labels takes."""
    return 0.25 + 0.088 * max((len(label) for label in labels), default=0)


def drawn(draw: Callable[[Figure], None], sheet: Sheet) -> str:
    """The SVG of what ``draw`` puts on an empty figure."""
    with _ONE_AT_A_TIME, mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that matplotlib's font lacks, a page's has
        defaults: Any = {k: v for k, v in mpl.rcParamsDefault.items() if k not in _KEPT}
        settings: Any = _SETTINGS
        mpl.rcParams.update(defaults)
        mpl.rcParams.update(settings)
        figure = Figure(figsize=(sheet.width, sheet.height))
        sheet.lay_out(figure)
        draw(figure)
        text = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(text, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()


def themed(svg: str, sheet: Sheet, *, name: str, title: str, description: str) -> Markup:
    """The SVG for a page: accessible, scalable, its names its own, its colours the page's."""
    body = _HEAD.sub("", svg, count=1)
    body = _COMMENT.sub("", _METADATA.sub("", body))
    body = _FAMILY.sub("", body)
    body = _own_names(body, name)
    body = _SPACE.sub("\n", _DOT.sub(r"M\1 \2h0", _DECIMALS.sub(r"\1", body)))
    box = f"0 0 {sheet.width * 72:g} {sheet.height * 72:g}"
    head = (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    return Markup(head + with_variables(body).strip())  # noqa: S704 - texts are escaped here and by matplotlib


def _own_names(body: str, name: str) -> str:
    """Only names that something refers to, numbered in order under the figure's own."""
    used = dict.fromkeys((*_LINK.findall(body), *_URL.findall(body)))
    number = {old: place for place, old in enumerate(used, start=1)}

    def named(found: re.Match[str]) -> str:
        return f' id="{name}-{number[found[1]]}"' if found[1] in number else ""

    body = _ID.sub(named, body)
    body = _LINK.sub(lambda found: f'href="#{name}-{number[found[1]]}"', body)
    return _URL.sub(lambda found: f"url(#{name}-{number[found[1]]})", body)


def halo(width: float = 3.0) -> dict[str, Any]:
    """Keyword arguments of a text that stays readable over lines."""
    return {"bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": width / 3, "alpha": 0.8}}


def plain_ticks(axes: Axes, which: str, places: list[float] | None = None) -> None:
    """Ticks written as plain numbers, on a logarithmic axis too."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if places is not None:
        axis.set_major_locator(mpl.ticker.FixedLocator(places))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: tick(value)))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def tick(value: float) -> str:
    """A tick's number without needless zeros: ``0.5``, ``1,000``."""
    return f"{value:,.10g}".replace("-", "−")


def log_places(low: float, high: float, subs: tuple[float, ...] | None = None) -> list[float]:
    """Round numbers from about ``low`` to about ``high``; three or more where there are."""
    places: list[float] = []
    for steps in _STEPS if subs is None else (subs,):
        places = [
            step * 10.0**power
            for power in range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
            for step in steps
            if low / 1.3 <= step * 10.0**power <= high * 1.3
        ]
        if len(places) >= _FEW:
            break
    return places
