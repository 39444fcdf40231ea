"""A link's figures against each other: directions, and measured against nominal."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.sanity.finding import Finding, Steps
from catalog.schema import Link


def link_findings(link: Link) -> Iterator[Finding]:
    """What does not fit together in one link's entry."""
    nominal = link.per_direction
    if link.lesson is not None and not 1.9 < link.lesson.bandwidth.value / nominal.value < 2.1:
        yield _finding(
            link,
            ("lesson", "bandwidth"),
            f"{link.lesson.bandwidth} is not twice the {nominal} of one direction",
            "The lesson's figures are both directions together",
        )
    for index, row in enumerate(link.effective):
        if row.bandwidth.value > nominal.value:
            yield _finding(
                link,
                ("effective", index, "bandwidth"),
                f"{row.bandwidth} is above the {nominal} of one direction",
                "Check that per_direction is not both directions, or the fit's formula",
            )
    degrees = [row.devices for row in link.effective]
    if len(set(degrees)) < len(degrees):
        yield _finding(
            link,
            ("effective",),
            f"two rows are for the same number of devices ({degrees})",
            "Keep one",
        )


def _finding(link: Link, steps: Steps, seen: str, do: str) -> Finding:
    return Finding(severity="error", kind="link", name=link.name, steps=steps, seen=seen, do=do)
