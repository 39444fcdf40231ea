"""A campaign with the simulated engine in the place of every candidate's own."""

from __future__ import annotations

from typing import Final

from catalog.schema import Campaign, Candidate

ENGINE: Final = "rehearsal"
LOCAL: Final = "local"
_FOR_ANY_ENGINE: Final = frozenset(
    {
        "max_model_len",
        "context_length",
        "max_seq_len",
        "max_sequences",
        "max_num_seqs",
        "max_running_requests",
        "token_budget",
        "max_num_batched_tokens",
        "max_num_tokens",
        "cpus",
    }
)


def rehearsed(campaign: Campaign) -> Campaign:
    """The same campaign on this machine with simulated engines; its paper vote is not of it."""
    return campaign.model_copy(
        update={"candidates": tuple(_simulated(each) for each in campaign.candidates)}
    )


def _simulated(candidate: Candidate) -> Candidate:
    """What names the machine stays (its price is a fact); what starts the engine does not."""
    return candidate.model_copy(
        update={
            "endpoint": (),
            "host": LOCAL,
            "runtime": ENGINE,
            "version": None,
            "image": None,
            "extra_args": (),
            "extra_env": {},
            "speculation": None,
            "replicas_per_host": None,
            "settings": {
                name: value
                for name, value in candidate.settings.items()
                if name in _FOR_ANY_ENGINE or candidate.runtime == ENGINE
            },
        }
    )
