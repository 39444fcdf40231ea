"""The pages of the history: an index, and one page per campaign."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final
from urllib.parse import quote

from reports.figures.canvas import Drawing
from reports.history.facts import WHAT_STATES_MEAN, RunFacts
from reports.history.figure import Group, figure, series_table
from reports.history.series import ALPHA, COMPARABLE, LOOK_BACK, Series, marked_changes
from reports.history.words import change_lines
from reports.html import html_page
from reports.run import layout
from reports.stats.changepoint import METHOD, MIN_RUNS
from reports.stats.latest_step import METHOD as LATEST
from reports.tables import Cell, Column, Table
from reports.validity import expiry_words, is_expired

INDEX_PAGE: Final = "index.html"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SEARCHED: Final = (
    f"Changes of level are looked for with {MIN_RUNS} comparable runs or more, in the last "
    f"{LOOK_BACK}, at the load that the candidate is judged at: {METHOD}; "
    f"and {LATEST}. Each series alone is held to {ALPHA:.0%} false alarms: of many unchanged "
    "series some will be marked."
)

Link = Callable[[RunFacts], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One run in the table of decisions; ``href`` leads to its report, if it has one.

    ``validity`` says until when its signoff can be relied on, as of the day of the page.
    """

    run: RunFacts
    href: str
    is_other: bool
    is_expired: bool = False
    validity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One campaign in the index."""

    name: str
    href: str
    runs: tuple[RunFacts, ...]
    last: RunFacts
    changes: tuple[str, ...]

    @property
    def concluded(self) -> int:
        """How many of its runs were concluded."""
        return sum(each.state == "concluded" for each in self.runs)


def page_name(campaign: str) -> str:
    """The file of a campaign's page; names that no file can have get a digest."""
    if _PLAIN.fullmatch(campaign) and campaign.lower() != "index":
        return f"{campaign}.html"
    digest = hashlib.sha256(campaign.encode()).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9-]+", "-", campaign)[:40].strip("-")
    return f"{words or 'campaign'}~{digest}.html"


def linked(runs_from_site: str) -> Link:
    """A function from a run to its report, relative to the site; empty where it has none."""

    def link(run: RunFacts) -> str:
        if not run.has_report:
            return ""
        parts = (part for part in (runs_from_site, run.path) if part not in ("", "."))
        return quote("/".join((*parts, layout.REPORT_HTML)))

    return link


def campaign_page(
    name: str,
    runs: Sequence[RunFacts],
    series: Sequence[Series],
    link: Link,
    *,
    today: dt.date,
) -> str:
    """One campaign: its series, its decisions, what was changed, what could not be read.

    ``today`` says which signoffs have expired.
    """
    return html_page("history_campaign.html.j2", _campaign(name, runs, series, link, today))


def expired(runs: Sequence[RunFacts], today: dt.date) -> tuple[RunFacts, ...]:
    """The signed runs that can be relied on no longer."""
    return tuple(run for run in runs if run.signed_by and is_expired(run.valid_until, today))


def index_page(listed: Sequence[Listed], others: Sequence[RunFacts], root: str) -> str:
    """All campaigns, and the directories that could not be read."""
    return html_page(
        "history_index.html.j2",
        {
            "stamp": "HISTORY",
            "name": root,
            "root": root,
            "campaigns": listed,
            "others": _unread(others),
            "comparable": COMPARABLE,
            "searched": SEARCHED,
            "mark": _mark([run for each in listed for run in each.runs]),
        },
    )


def _campaign(
    name: str, runs: Sequence[RunFacts], series: Sequence[Series], link: Link, today: dt.date
) -> Mapping[str, Any]:
    concluded = [run for run in runs if run.state == "concluded"]
    return {
        "stamp": "HISTORY",
        "name": name,
        "campaign": name,
        "runs": runs,
        "last": concluded[-1] if concluded else None,
        "decisions": _decisions(concluded, link, today),
        "groups": [_group(place, found) for place, found in enumerate(_groups(series, runs))],
        "changes": change_lines(series),
        "marked": marked_table(concluded),
        "others": _unread([run for run in runs if run.state != "concluded"]),
        "comparable": COMPARABLE,
        "searched": SEARCHED,
        "mark": _mark(runs),
    }


def _mark(runs: Sequence[RunFacts]) -> str:
    """REHEARSAL where a simulation reaches the page."""
    return "REHEARSAL" if any(run.evidence == "simulated" for run in runs) else ""


def _decisions(
    concluded: Sequence[RunFacts], link: Link, today: dt.date
) -> tuple[Decided, ...]:
    """The newest first; ``is_other`` where the one before it chose otherwise."""
    if not concluded:
        return ()
    other = [False, *(a.chosen != b.chosen for a, b in pairwise(concluded))]
    found = [
        Decided(
            run=run,
            href=link(run),
            is_other=changed,
            is_expired=bool(expired([run], today)),
            validity=expiry_words(run.valid_until, today) if run.signed_by else "",
        )
        for run, changed in zip(concluded, other, strict=True)
    ]
    return tuple(reversed(found))


def _groups(series: Sequence[Series], runs: Sequence[RunFacts]) -> list[tuple[Any, Group]]:
    names = dict.fromkeys(each.name for run in runs for each in run.candidates)
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(series, key=lambda each: each.key.group)
    found = []
    for number, (key, members) in enumerate(groupby(ordered, key=lambda each: each.key.group)):
        group = Group(name=f"history-{number}", series=tuple(members), places=places)
        found.append((key, group))
    return found


def _group(place: int, found: tuple[Any, Group]) -> Mapping[str, Any]:
    (contract, method, evidence), group = found
    made = figure(group)
    rest = [each for each in group.series if not each.is_watched]
    return {
        "anchor": f"series-{place}",
        "title": f"Contract {contract[:8]}, method {method}, {evidence}",
        "drawing": made if isinstance(made, Drawing) else None,
        "left_out": made if isinstance(made, str) else "",
        "watched": series_table(group.watched),
        "rest": series_table(rest),
    }


def marked_table(concluded: Sequence[RunFacts]) -> Table:
    """What differs from the run before, candidate by candidate."""
    titles = ("Begun", "Candidate", "What", "From", "To")
    rows = tuple(
        (
            Cell(text=run.day),
            Cell(text=candidate),
            Cell(text=what),
            Cell(text=before or "not known"),
            Cell(text=now or "not known"),
        )
        for run, candidate, what, before, now in marked_changes(concluded)
    )
    return Table(
        title="What differs from the run before",
        columns=tuple(Column(title=title) for title in titles),
        rows=rows,
    )


def _unread(runs: Sequence[RunFacts]) -> Table:
    titles = ("Directory", "State", "Meaning", "Seen")
    rows = tuple(
        (
            Cell(text=run.path),
            Cell(text=run.state, meaning="warn"),
            Cell(text=WHAT_STATES_MEAN[run.state]),
            Cell(text=run.why),
        )
        for run in runs
    )
    return Table(
        title="Directories that are in no series",
        columns=tuple(Column(title=title) for title in titles),
        rows=rows,
    )
