"""The block pool: users are counted, content lives until its block is needed."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import data, integers

from flows.rehearsal.blocks import BlockPool

CAPACITY = 8


class Pool(RuleBasedStateMachine):
    """Random holders take, share, publish and release blocks."""

    def __init__(self):
        super().__init__()
        self.pool = BlockPool(CAPACITY)
        self.holders = []
        self.known = {}  # hash → block, until the block is taken again

    @precondition(lambda self: self.pool.available)
    @rule(data=data())
    def take(self, data):
        blocks = self.pool.take(data.draw(integers(1, self.pool.available)))
        held = [block for holder in self.holders for block in holder]
        assert not set(blocks) & set(held)
        self.known = {h: b for h, b in self.known.items() if b not in blocks}
        self.holders.append(blocks)

    @precondition(lambda self: self.holders)
    @rule(data=data(), block_hash=integers(0, 5))
    def publish(self, data, block_hash):
        holder = self.holders[data.draw(integers(0, len(self.holders) - 1))]
        block = holder[0]
        if block_hash not in self.known and block not in self.known.values():
            self.known[block_hash] = block
        self.pool.publish(block, block_hash)

    @rule(block_hash=integers(0, 5))
    def share(self, block_hash):
        found = self.pool.match([block_hash])
        assert found == ([self.known[block_hash]] if block_hash in self.known else [])
        if found:
            self.pool.hold(found)
            self.holders.append(found)

    @precondition(lambda self: self.holders)
    @rule(data=data())
    def release(self, data):
        self.pool.release(self.holders.pop(data.draw(integers(0, len(self.holders) - 1))))

    @invariant()
    def used_blocks_are_those_that_somebody_holds(self):
        held = {block for holder in self.holders for block in holder}
        assert self.pool.used == len(held)
        assert self.pool.available == CAPACITY - len(held)
        assert all(0 <= block < CAPACITY for block in held)


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_match_ends_at_the_first_unknown_block():
    pool = BlockPool(4)
    blocks = pool.take(3)
    for block, block_hash in zip(blocks, (10, 20, 30), strict=True):
        pool.publish(block, block_hash)

    assert pool.match([10, 99, 30]) == blocks[:1]
    assert pool.match([10, 20, 30, 40]) == blocks


def test_released_content_is_found_until_its_block_is_needed():
    pool = BlockPool(2)
    first, second = pool.take(2)
    pool.publish(first, 1)
    pool.publish(second, 2)
    pool.release([first, second])

    assert pool.match([1, 2]) == [first, second]
    assert pool.take(1) == [second]
    assert pool.match([1, 2]) == [first]
