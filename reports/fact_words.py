"""What a reader must know of the facts: what is open, stale, unverified, or their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catalog.verdict import Status, Verdict
from reports.phrases import names


def open_lines(candidates: Sequence[Verdict]) -> tuple[str, ...]:
    """What no paper can say of the survivors among ``candidates``, each once."""
    survivors = [c for c in candidates if c.verdict is not Status.REJECT]
    lines = _grouped(
        ((c.name, line) for c in survivors for line in c.open_questions), len(survivors)
    )
    plain = [line for line in lines if ":" not in line]
    return (*([", ".join(plain)] if plain else []), *(line for line in lines if ":" in line))


def fact_lines(candidates: Sequence[Verdict]) -> tuple[str, ...]:
    """Stale prices, unverified figures, versions not pinned, entries of the user's own."""
    notes = [(c.name, note) for c in candidates for note in c.notes]
    doubtful = [
        (c.name, f"unverified: {', '.join(found)}")
        for c in candidates
        if (found := unverified(c))
    ]
    everyone = "every candidate: " if len(candidates) > 1 else ""
    return _grouped([*notes, *doubtful], len(candidates), everyone)


def unverified(verdict: Verdict) -> tuple[str, ...]:
    """Names of the figures that a candidate's gates took from no source that was read."""
    found = [
        entry.name.replace("_", " ")
        for gate in verdict.gates
        for entry in gate.inputs
        if not entry.quantity.is_verified
    ]
    return tuple(dict.fromkeys(found))


def _grouped(
    lines: Iterable[tuple[str, str]], count: int, everyone: str = ""
) -> tuple[str, ...]:
    """Each line once, behind the candidates it speaks of; ``everyone`` stands for all."""
    whose: dict[str, list[str]] = {}
    for name, line in lines:
        who = whose.setdefault(line, [])
        if name not in who:
            who.append(name)
    return tuple(
        f"{everyone}{line}" if len(who) == count else f"{names(who)}: {line}"
        for line, who in whose.items()
    )
