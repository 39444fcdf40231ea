"""One random stream per purpose, all from one seed.

Each purpose, replication and shard has a stream of its own (numpy's SeedSequence spawns
them), so that drawing more of one never moves another, and two candidates measured with the
same seed get the same lengths, prompts and arrival times.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream of random numbers is for; the numbers are part of what a seed means."""

    ARRIVALS = 0
    PROMPT_LENGTHS = 1
    OUTPUT_LENGTHS = 2
    PROMPTS = 3
    PREFIX = 4
    DATASET_ORDER = 5
    BLOCKS = 6
    MARKS = 7


def generator(
    seed: int, replication: int, purpose: Purpose, part: int = 0
) -> np.random.Generator:
    """The random stream of one purpose in one replication; ``part`` is a shard or a block."""
    spawned = np.random.SeedSequence(seed, spawn_key=(replication, int(purpose), part))
    return np.random.Generator(np.random.PCG64(spawned))
