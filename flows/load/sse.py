"""Server-sent events out of recorded body fragments, each with the stamp of its bytes.

Framing as in the WHATWG HTML standard, section 9.2 (lines end in LF, CR or CRLF; `data`
lines of one event are joined; a colon starts a comment), with two leniencies that real
servers need: an event at the very end counts although no blank line follows it, and a
field called `error` is kept, since llama.cpp's server has sent its errors that way.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

# One event: its name (empty: a plain message), its data, the stamp of the fragment that
# completed its last data line, and whether it is whole (not cut off inside a line by the end
# of the stream). A plain tuple: making a named one takes as long as parsing its JSON.
Event = tuple[bytes, bytes, int, bool]

_BOM = b"\xef\xbb\xbf"
_DATA, _END = b"data: ", b"\n\n"


def events(fragments: Sequence[bytes], stamps_ns: Sequence[int]) -> list[Event]:
    """Return the events of one body in order, however its bytes were cut into fragments."""
    body = b"".join(fragments)
    if body.startswith(_DATA) and body.endswith(_END) and b"\r" not in body:
        messages = body[len(_DATA) : -len(_END)].split(_END + _DATA)
        if body.count(b"\n") == len(_END) * len(messages):
            return _plain(messages, fragments, stamps_ns)
    return list(_events(body, list(accumulate(map(len, fragments))), stamps_ns))


def _plain(
    messages: list[bytes], fragments: Sequence[bytes], stamps_ns: Sequence[int]
) -> list[Event]:
    """Events of a body that holds nothing but unnamed messages of one line each."""
    around = len(_DATA) + len(_END)
    lengths = [len(message) + around for message in messages]
    fragment_lengths = list(map(len, fragments))
    if lengths == fragment_lengths:
        return [(b"", data, at, True) for data, at in zip(messages, stamps_ns, strict=True)]
    ends = list(accumulate(fragment_lengths))
    return [
        (b"", data, stamps_ns[bisect_left(ends, end - 1)], True)
        for data, end in zip(messages, accumulate(lengths), strict=True)
    ]


def _events(body: bytes, ends: list[int], stamps_ns: Sequence[int]) -> Iterator[Event]:
    name, data, stamp_ns = b"", list[bytes](), 0
    is_whole, place = True, 0
    for ended in body.splitlines(keepends=True):
        line = ended.rstrip(b"\r\n")
        is_whole = len(line) < len(ended)
        # The byte that ends the line counts with it: without it the line may go on.
        complete = min(place + len(line) + 1, len(body))
        field, _, value = line.removeprefix(_BOM if place == 0 else b"").partition(b":")
        value = value.removeprefix(b" ")
        place += len(ended)
        if field == b"data":
            data.append(value)
            stamp_ns = stamps_ns[bisect_left(ends, complete)]
        elif field == b"event":
            name = value
        elif field == b"error":
            yield b"error", value, stamps_ns[bisect_left(ends, complete)], is_whole
        elif not line:
            if data:
                yield name, b"\n".join(data), stamp_ns, True
            name, data = b"", []
    if data:
        yield name, b"\n".join(data), stamp_ns, is_whole
