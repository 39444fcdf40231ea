"""A signoff expires: check, report and history say so as of the day; pages do not change."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from flows.check_run import Row, check_run
from flows.cli import run as runoff
from reports.conclude import conclude
from reports.history.site import write_history
from reports.render import render_run
from reports.run import layout
from reports.run.layout import RunFolder
from tests.reports.run.builder import CLOSED, NOW, Made, build_run, priced

VERSION = "0.1.0"  # of the runoff that the built runs say has made them
TODAY = dt.datetime.now(dt.UTC).date()
LAST = TODAY + dt.timedelta(days=90)
AFTER = LAST + dt.timedelta(days=1)
WORDS = (
    *("--by", "Ada Lovelace", "--role", "Platform lead"),
    *("--statement", "Approved for the chat service in Frankfurt"),
)


@pytest.fixture
def signable(tmp_path: Path) -> RunFolder:
    """A run whose price was read today."""
    made = Made(name="B", price=priced(3.67, date=TODAY.isoformat()))
    folder = build_run(tmp_path, (made,), points=(CLOSED[4],))
    conclude(folder, now=NOW)
    render_run(folder, now=NOW)
    return folder


def validity(folder: RunFolder, day: dt.date) -> Row:
    rows = check_run(folder, version=VERSION, today=day)
    return next(row for row in rows if row.id == "validity")


def test_a_signoff_is_good_for_90_days_and_then_over_wherever_it_is_asked(
    signable: RunFolder, tmp_path: Path, capsys
) -> None:
    note = validity(signable, AFTER)
    assert runoff(["signoff", str(signable.path), *WORDS]) == 0
    pages = signable.file(layout.REPORT_HTML).read_bytes()
    good, over = validity(signable, LAST), validity(signable, AFTER)
    capsys.readouterr()
    assert runoff(["report", str(signable.path)]) == 0
    said = capsys.readouterr().err
    site = tmp_path / "site"
    written = [
        write_history(signable.path, site, maker="t", today=day) for day in (LAST, AFTER)
    ]

    assert note.verdict == "note"  # nobody had signed yet
    assert (good.verdict, good.seen) == ("pass", f"valid until {LAST}")
    assert over.verdict == "fail"
    assert over.seen.startswith(f"expired: it was valid until {LAST}")
    assert f"signoff: valid until {LAST}" in said
    assert signable.file(layout.REPORT_HTML).read_bytes() == pages
    assert [len(each.expired) for each in written] == [0, 1]
    assert f"expired: it was valid until {LAST}" in (site / "canonical.html").read_text()
