"""The client's side of a cell, as far as the server's account needs it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reports.columns import Flags, Ints, Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSide:
    """All requests that were sent to one server, or to several; one value per request.

    ``to_first_token_s`` runs from the write of the request; ``queue_s`` and ``prompt_s`` are
    what the answer said of itself. Not a number: unknown. ``window_ns`` is that of the
    measured requests.
    """

    window_ns: tuple[int, int]
    sent_ns: Ints
    is_measured: Flags
    to_first_token_s: Reals
    queue_s: Reals
    prompt_s: Reals
    prompt_tokens: Reals
    output_tokens: Reals

    @property
    def window_s(self) -> float:
        """Length of the measured window."""
        return (self.window_ns[1] - self.window_ns[0]) / 1e9

    @property
    def rate_per_s(self) -> float | None:
        """Requests sent per second of the window; None for an empty one."""
        first, last = self.window_ns
        inside = np.count_nonzero((self.sent_ns >= first) & (self.sent_ns <= last))
        return float(inside) / self.window_s if self.window_s > 0 else None

    @property
    def queue_times_s(self) -> Reals:
        """Queue times that measured requests' answers said."""
        return _known(self.queue_s[self.is_measured])

    @property
    def remainders_s(self) -> Reals:
        """Time to first token less the prompt's, of measured requests: the wait at most."""
        rest = (self.to_first_token_s - self.prompt_s)[self.is_measured]
        return np.maximum(_known(rest), 0.0)

    def of(self, keep: Flags) -> ClientSide:
        """The requests whose flag is set."""
        return ClientSide(
            window_ns=self.window_ns,
            sent_ns=self.sent_ns[keep],
            is_measured=self.is_measured[keep],
            to_first_token_s=self.to_first_token_s[keep],
            queue_s=self.queue_s[keep],
            prompt_s=self.prompt_s[keep],
            prompt_tokens=self.prompt_tokens[keep],
            output_tokens=self.output_tokens[keep],
        )


def _known(values: Reals) -> Reals:
    return values[~np.isnan(values)]
