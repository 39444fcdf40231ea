"""How far two next-token distributions differ, where only the top of each is known."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, inf, log
from typing import Final

_ROUNDING: Final = 1e-6  # servers give log-probabilities in single precision


def truncated_kl(reference: Mapping[str, float], candidate: Mapping[str, float]) -> float:
    """Return a lower bound of KL(reference ‖ candidate) in nats, from both top lists.

    Tokens are put into classes: each token of the reference's list that the candidate lists
    too; all of the reference's others together; all tokens that the reference does not list.
    The divergence of the classes' masses is never above that of the tokens (data processing).
    What the candidate gives to the second kind of class is not known: it is what makes the
    divergence least, at most as much as its last listed token for each, and at most the mass
    outside its list. Masses outside are one minus what is listed, never below a millionth of
    a candidate's, as rounding has it.

    Parameters
    ----------
    reference, candidate
        Natural log-probabilities by token, the most likely ones first; not empty.
    """
    ours = {token: exp(value) for token, value in reference.items()}
    theirs = {token: exp(value) for token, value in candidate.items()}
    shared = [token for token in ours if token in theirs]
    total = sum(ours[token] * log(ours[token] / theirs[token]) for token in shared)
    listed = sum(theirs[token] for token in shared)
    only_ours = sum(ours.values()) - sum(ours[token] for token in shared)
    outside = max(0.0, 1 - sum(ours.values()))
    left = max(1 - listed, _ROUNDING)
    given = 0.0
    if only_ours > 0:
        most = min(
            (len(ours) - len(shared)) * min(theirs.values()),
            max(1 - sum(theirs.values()), _ROUNDING),
        )
        given = min(left * only_ours / (only_ours + outside), most)
        total += only_ours * log(only_ours / given)
    if outside > 0:
        total += outside * log(outside / max(left - given, _ROUNDING))
    return max(0.0, total)


def listed_mass(top: Mapping[str, float]) -> float:
    """Return the probability that a top list holds, from 0 to 1."""
    return min(1.0, sum(exp(value) for value in top.values()))


def lead(top: Mapping[str, float]) -> float:
    """Return by how many nats the most likely token leads the next; infinite without one.

    Of a list of one the next is not known: it has at most what is left, and leads at least so.
    """
    first, *others = sorted(top.values(), reverse=True)
    left = max(1 - exp(first), 0.0)
    next_one = others[0] if others else log(left) if left > 0 else -inf
    return first - next_one
