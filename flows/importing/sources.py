"""Result files on the disk, each run of them with its candidate and its place in the matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.lengths import Lengths
from catalog.schema import Campaign
from flows.errors import UsageError
from flows.matrix import closed_point, poisson_point
from reports.interop import reader
from reports.interop.foreign import Foreign
from reports.run.plan_file import LoadPoint

_LENGTH_TOLERANCE: Final = 0.05  # of the contract's mean prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One foreign run at its place: a candidate's replication at a load point."""

    candidate: str
    point: LoadPoint
    replication: int
    foreign: Foreign


def placed(sources: Sequence[str], tool: str, campaign: Campaign) -> tuple[Imported, ...]:
    """Every foreign run of the sources (``NAME=FILE`` or ``FILE``) at its place.

    Raises
    ------
    UsageError
        For a file that cannot be read, of no candidate, or not measured as the contract asks.
    ReportsError
        For a file that the tool's importer refuses.
    """
    return tuple(_placed(_foreign(sources, tool, campaign)))


def _foreign(
    sources: Sequence[str], tool: str, campaign: Campaign
) -> Iterator[tuple[str, Foreign]]:
    """Each foreign run with the candidate that it is of."""
    read = reader(tool)
    for source in sources:
        named, place = file_of(source)
        try:
            text = Path(place).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            seen = getattr(error, "strerror", None) or "it is no text"
            raise UsageError(
                place, f"it cannot be read: {seen}", "Name a result file"
            ) from None
        for foreign in read(text, place):
            _check_model(foreign, campaign)
            _check_prompts(foreign, campaign.contract.prompt_tokens)
            yield _candidate(named, foreign, campaign), foreign


def file_of(source: str) -> tuple[str | None, str]:
    """The candidate's name, where one is given, and the file."""
    name, is_named, place = source.partition("=")
    return (name, place) if is_named and not Path(source).exists() else (None, source)


def _candidate(named: str | None, foreign: Foreign, campaign: Campaign) -> str:
    names = [each.name for each in campaign.candidates]
    for name in (named, foreign.label if named is None else None):
        if name in names:
            return str(name)
    if named is None and len(names) == 1:
        return names[0]
    seen = f"{named!r} is no candidate" if named is not None else "its label names no candidate"
    raise UsageError(foreign.where, seen, f"Write NAME=FILE with one of {', '.join(names)}")


def _check_model(foreign: Foreign, campaign: Campaign) -> None:
    wanted, seen = campaign.contract.model, foreign.model
    if wanted.rpartition("/")[2].casefold() != seen.rpartition("/")[2].casefold():
        raise UsageError(
            foreign.where,
            f"it measured {seen!r}, the contract is for {wanted!r}",
            "Take another",
        )


def _check_prompts(foreign: Foreign, contract: Lengths) -> None:
    """Prompts of another length are another question: a tool may mean another thing by it."""
    lengths = foreign.lists["prompt_tokens_asked"]
    mean, wanted = sum(lengths) / len(lengths), contract.mean()
    too_long = max(lengths) > contract.maximum * (1 + _LENGTH_TOLERANCE)
    if too_long or abs(mean - wanted) > _LENGTH_TOLERANCE * wanted:
        seen = f"{min(lengths)} to {max(lengths)} tokens, {mean:.1f} on average"
        raise UsageError(
            foreign.where,
            f"its prompts have {seen}; the contract asks for {contract.text}",
            "Import what was measured with the contract's lengths",
        )


def _placed(found: Iterator[tuple[str, Foreign]]) -> Iterator[Imported]:
    seen: dict[tuple[str, str], int] = {}
    known: dict[int, str] = {}
    for candidate, foreign in found:
        _check_new(foreign, known)
        point = _point(foreign)
        replication = seen.get((candidate, point.name), 0)
        seen[candidate, point.name] = replication + 1
        yield Imported(
            candidate=candidate, point=point, replication=replication, foreign=foreign
        )


def _check_new(foreign: Foreign, known: dict[int, str]) -> None:
    """One run given twice would count as two launches that agree to the nanosecond."""
    times = hash(tuple(tuple(foreign.lists[name]) for name in ("sent_ns", "done_ns")))
    if (earlier := known.setdefault(times, foreign.where)) is not foreign.where:
        raise UsageError(
            foreign.where, f"it is the same run as {earlier}", "Name each run once"
        )


def _point(foreign: Foreign) -> LoadPoint:
    if foreign.process == "closed":
        return closed_point(foreign.streams or 1)
    plain = poisson_point(foreign.rate_per_s or 0.0, foreign.max_in_flight)
    if foreign.process == "poisson":
        return plain
    name = plain.name.replace("poisson", foreign.process, 1)
    return plain.model_copy(update={"name": name, "process": foreign.process})
