"""What would keep a campaign from its machines, found before anything is paid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from flows.amazon.acquiring import PREFIX
from flows.amazon.driver import Amazon
from flows.amazon.examine import readings
from flows.errors import RunoffError, UsageError
from flows.preflight.finding import Finding, blocks, of_error, warns


def findings(driver: Amazon, offers: Sequence[str]) -> Iterator[Finding]:
    """Whatever the campaign's file lacks; then what AWS says to calls that are not meant."""
    choices = driver.choices
    if not choices.security_groups and choices.caller is None:
        yield blocks(
            "aws.caller",
            "nobody says who may reach the rented machine's port 22",
            "State your address (caller: 203.0.113.7), an https address that answers with it, "
            "or security_groups of your own",
        )
    kinds: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for offer in offers:
        try:
            kinds[driver.region_of(offer)][offer.removeprefix(PREFIX)] = None
        except UsageError as error:
            yield of_error(error)
    for region, wanted in kinds.items():
        yield from _asked(driver, region, tuple(wanted))


def _asked(driver: Amazon, region: str, kinds: tuple[str, ...]) -> Iterator[Finding]:
    try:
        found = tuple(readings(driver.api, (region,), kinds, driver.choices))
    except RunoffError as error:
        yield of_error(error)
        return
    for reading in found:
        if reading.state == "blocks":
            yield blocks(f"AWS {reading.topic}", reading.seen, reading.do)
        elif reading.state == "warns" and "quota" in reading.topic:
            yield warns(f"AWS {reading.topic}", reading.seen, reading.do)
