"""The KV cache as blocks: a pool with reference counts and a prefix cache by block hash."""

from __future__ import annotations

from collections.abc import Sequence


class BlockPool:
    """A fixed number of KV blocks; released blocks keep known content until it is reused.

    Sequences with the same prefix share its blocks. Of the blocks that nobody uses, the
    one released longest ago loses its content first.
    """

    __slots__ = ("_by_hash", "_empty", "_fresh", "_hash_of", "_idle", "_users", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._fresh = 0
        self._empty: list[int] = []
        self._idle: dict[int, None] = {}
        self._users: dict[int, int] = {}
        self._hash_of: dict[int, int] = {}
        self._by_hash: dict[int, int] = {}

    @property
    def used(self) -> int:
        """Blocks held by sequences; what only the prefix cache keeps is not counted."""
        return len(self._users)

    @property
    def available(self) -> int:
        """Blocks that can be taken now, cached but unused ones included."""
        return self.capacity - len(self._users)

    def match(self, hashes: Sequence[int]) -> list[int]:
        """Cached blocks of the longest known prefix of these block hashes."""
        found: list[int] = []
        for block_hash in hashes:
            block = self._by_hash.get(block_hash)
            if block is None:
                break
            found.append(block)
        return found

    def hold(self, blocks: Sequence[int]) -> None:
        """Add one user to each of these cached blocks."""
        for block in blocks:
            self._users[block] = self._users.get(block, 0) + 1
            self._idle.pop(block, None)

    def take(self, count: int) -> list[int]:
        """Blocks for new content; the caller has compared `count` with `available`."""
        taken = [self._take_one() for _ in range(count)]
        self._users.update(dict.fromkeys(taken, 1))
        return taken

    def publish(self, block: int, block_hash: int) -> None:
        """Make a full block findable by its hash, unless an equal one already is."""
        if block_hash not in self._by_hash and block not in self._hash_of:
            self._by_hash[block_hash] = block
            self._hash_of[block] = block_hash

    def release(self, blocks: Sequence[int]) -> None:
        """Take one user off each block; the end of a prefix is forgotten first."""
        for block in reversed(blocks):
            users = self._users[block] - 1
            if users:
                self._users[block] = users
                continue
            del self._users[block]
            if block in self._hash_of:
                self._idle[block] = None
            else:
                self._empty.append(block)

    def _take_one(self) -> int:
        if self._empty:
            return self._empty.pop()
        if self._fresh < self.capacity:
            self._fresh += 1
            return self._fresh - 1
        block = next(iter(self._idle))
        del self._idle[block]
        del self._by_hash[self._hash_of.pop(block)]
        return block
