"""Whether the keys that signed are those of the people who approve.

An allowed-signers file ties a key to a principal, such as ``ada@example.org``; an approval has
a person's name. A name that holds an address is held against the principal; one without is
shown beside it, for a reader who knows both. One key never stands for two people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from flows.ssh_signature import Verified
from reports.run.signoff_file import Approval

_ADDRESS: Final = re.compile(r"[^\s<>(),;]+@[^\s<>(),;]+")

Signed = tuple[Approval, Verified | None]


def principal_in(by: str) -> str | None:
    """The address that a name holds: ``Ada <ada@example.org>``; None where there is none."""
    found = _ADDRESS.search(by)
    return None if found is None else found[0]


def tied(index: int, signed: Sequence[Signed]) -> str | None:
    """Why a signature cannot be that of who approves; None where nothing speaks against it."""
    approval, found = signed[index]
    if found is None or found.key is None:
        return None
    stated = principal_in(approval.by)
    if stated is not None and found.who is not None and stated != found.who:
        return f"{approval.by} approves, and the key is that of {found.who}"
    for other, earlier in signed[:index]:
        if earlier is not None and earlier.key == found.key and other.by != approval.by:
            return f"the key {found.key} has signed for {other.by} before"
    return None


def shown(approval: Approval, found: Verified) -> str:
    """What the signature shows, with whose name stands beside whose key."""
    if found.who is None or principal_in(approval.by) == found.who:
        return found.seen
    return f"{found.seen}; it signs for {approval.by}"
