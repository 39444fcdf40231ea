"""Every way in which the catalog's offers could serve a contract."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.schema import Runtime
from catalog.screen import Screen
from catalog.verdict import Rank, Status


@pytest.fixture(scope="module")
def everything(vote_all: Callable[..., Screen], canonical: dict[str, Any]) -> Screen:
    """All offers under the canonical contract."""
    return vote_all(canonical)


def test_there_are_at_least_two_thousand_combinations(everything: Screen) -> None:
    assert len(everything.candidates) >= 2_000
    assert len({c.name for c in everything.candidates}) == len(everything.candidates)


def test_cheapest_first_then_unknown_prices_then_rejects(everything: Screen) -> None:
    kinds = [
        (c.verdict is Status.REJECT, c.best_usd_per_1m_output is None)
        for c in everything.candidates
    ]
    costs = [
        c.best_usd_per_1m_output
        for c in everything.candidates
        if c.best_usd_per_1m_output is not None
    ]

    assert kinds == sorted(kinds)
    assert costs == sorted(costs)
    assert all(
        c.best_usd_per_1m_output is None
        for c in everything.candidates
        if c.verdict is Status.REJECT
    )


def test_every_offer_of_a_device_that_a_runtime_serves_stands(
    everything: Screen, shipped: Catalog, runtimes: Mapping[str, Runtime]
) -> None:
    served = {
        entry.device_class
        for runtime in runtimes.values()
        if not runtime.simulation
        for entry in runtime.devices
    }

    expected = {
        name
        for name, offer in shipped.offers.items()
        if shipped.device(offer.device).device_class in served
        and offer.commitment in {"on-demand", "owned"}
    }

    assert {c.offer for c in everything.candidates} == expected


def test_degrees_are_powers_of_two_that_divide_the_offers_devices(everything: Screen) -> None:
    for c in everything.candidates:
        assert c.device_count is not None
        assert c.tensor_parallel in {1, 2, 4, 8, 16}
        assert c.device_count % c.tensor_parallel == 0
        assert c.replicas_per_host == c.device_count // c.tensor_parallel


def test_the_contracts_precision_always_stands_and_others_need_proof(
    everything: Screen,
) -> None:
    parities = {(c.precision == "bfloat16", c.parity) for c in everything.candidates}
    t4 = [c for c in everything.candidates if c.device == "nvidia-t4"]

    assert parities == {(True, "contract"), (False, "needs quality proof")}
    assert {c.verdict for c in t4 if c.precision == "bfloat16"} == {Status.REJECT}


def test_the_rehearsal_engine_never_stands(everything: Screen) -> None:
    assert "rehearsal" not in {c.runtime for c in everything.candidates}


def test_exactly_one_is_primary_and_it_passes_at_parity(everything: Screen) -> None:
    ranks = Counter(rank for c in everything.candidates for rank in c.ranks)

    assert ranks[Rank.PRIMARY] == 1
    assert everything.primary is not None
    assert everything.primary.verdict is Status.PASS
    assert everything.primary.parity == "contract"


def test_a_combination_has_the_verdict_of_the_same_candidate_written_by_hand(
    everything: Screen, vote: Callable[..., Screen], canonical: dict[str, Any]
) -> None:
    chosen = everything.candidates[:: len(everything.candidates) // 40]
    written = [
        {
            "name": f"n{i}",
            "offer": c.offer,
            "device_count": c.device_count,
            "tensor_parallel": c.tensor_parallel,
            "precision": c.precision,
            "runtime": c.runtime,
            "version": c.version,
        }
        for i, c in enumerate(chosen)
    ]

    by_hand = vote(canonical, *written)

    for ours, theirs in zip(chosen, by_hand.candidates, strict=True):
        assert [g.to_json() for g in ours.gates] == [g.to_json() for g in theirs.gates]
        assert ours.best_usd_per_1m_output == theirs.best_usd_per_1m_output
        assert ours.stale == theirs.stale


def test_ties_between_runtimes_go_to_a_paged_cache(everything: Screen) -> None:
    chosen = everything.primary

    assert chosen is not None
    assert chosen.runtime != "llama_server"
    assert "only a measurement tells runtimes apart" in chosen.notes[-1]


def test_offers_under_other_commitments_stand_only_when_asked_for(
    vote_all: Callable[..., Screen], canonical: dict[str, Any], shipped: Catalog
) -> None:
    base = shipped.offer("aws/g6.xlarge")
    offers = {
        f"x/{kind}": base.model_copy(update={"commitment": kind})
        for kind in ("on-demand", "spot", "committed")
    }
    catalog = replace(shipped, offers=offers)

    def standing(*asked: str) -> set[str | None]:
        found = vote_all(canonical, catalog, commitments=list(asked))
        return {c.offer for c in found.candidates}

    assert standing("on-demand") == {"x/on-demand"}
    assert standing("on-demand", "spot") == {"x/on-demand", "x/spot"}


def test_a_blank_price_is_unknown_and_never_zero(everything: Screen, shipped: Catalog) -> None:
    blank = {name for name, offer in shipped.offers.items() if offer.price is None}

    seen = [c for c in everything.candidates if c.offer in blank]

    assert blank
    assert all(c.price_usd_per_hour is None for c in seen)
    assert all(c.best_usd_per_1m_output is None for c in seen)


def test_a_model_that_cannot_be_counted_is_an_error(
    vote_all: Callable[..., Screen], canonical: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "perpetuum_mobile"}')

    with pytest.raises(CatalogError, match="not modelled"):
        vote_all(canonical | {"model": str(tmp_path)})


def test_the_json_of_a_sample_is_strict(everything: Screen) -> None:
    sample = replace(everything, candidates=everything.candidates[::200])

    document = json.loads(json.dumps(sample.to_json(), allow_nan=False))

    assert len(document["candidates"]) == len(sample.candidates)
    for candidate, verdict in zip(document["candidates"], sample.candidates, strict=True):
        assert candidate["verdict"] == verdict.verdict
        for gate, result in zip(candidate["gates"], verdict.gates, strict=True):
            full = json.loads(json.dumps(result.to_json()))
            assert gate == {key: full[key] for key in gate}
            assert {"bound", "assumption", "limit", "inputs"} <= set(gate)
