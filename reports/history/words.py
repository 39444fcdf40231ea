"""Changes of level in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from catalog.quantity import significant
from reports.history.series import Change, Series
from reports.metric_names import metric_name


def change_lines(
    series: Sequence[Series], of: Collection[str] | None = None
) -> tuple[str, ...]:
    """A sentence for each change of level, the latest run's last; ``of`` these runs alone."""
    return tuple(
        f"{each.key.candidate}, {metric_name(each.key.metric)} at {each.key.load_point}: "
        f"{change_words(each, change)}"
        for each in series
        for change in each.changes or ()
        if of is None or change.path in of
    )


def change_words(series: Series, change: Change) -> str:
    """``rose by 5.1% with the run of 2026-08-22 (3.2% to 7.0%, p 0.002)``."""
    day = next(each.run.day for each in series.seen if each.run.path == change.path)
    word = "rose" if change.is_up else "fell"
    if change.ratio is None:
        beyond = "beyond every number" if change.is_up else "from beyond every number"
        return f"{word} {beyond} with the run of {day} (p {change.p_value:.2g})"
    limits = "no limits"
    if change.low is not None and change.high is not None:
        limits = f"{_percent(change.low)} to {_percent(change.high)}"
    size = significant(abs(change.ratio - 1) * 100)
    return f"{word} by {size}% with the run of {day} ({limits}, p {change.p_value:.2g})"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}%".replace("-", "−")
