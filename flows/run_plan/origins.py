"""Which entries of a user's own a campaign rests on."""

from __future__ import annotations

from catalog.entries import OURS, Catalog, Kind
from catalog.facts import model_of
from catalog.schema import Campaign, Candidate


def user_entries(campaign: Campaign, catalog: Catalog) -> tuple[str, ...]:
    """Entries that the candidates rest on and that are a user's own."""
    found: list[str] = []
    model = model_of(catalog, campaign.contract.model).name
    if model in catalog.models:
        found += _own(catalog, "model", model)
    for candidate in campaign.candidates:
        found += _own(catalog, "offer", candidate.offer)
        found += _own(catalog, "device", _device(catalog, candidate))
        found += _own(catalog, "link", candidate.link)
    return tuple(dict.fromkeys(found))


def _device(catalog: Catalog, candidate: Candidate) -> str | None:
    return candidate.device or (
        catalog.offer(candidate.offer).device if candidate.offer is not None else None
    )


def _own(catalog: Catalog, kind: Kind, name: str | None) -> list[str]:
    if name is None:
        return []
    origin = catalog.origin(kind, name)
    return [] if origin == OURS else [f"{kind} {name} from {origin}"]
