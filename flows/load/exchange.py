"""One request on its way and the answer as it arrives: kept and stamped, not interpreted."""

from array import array

import httptools

from flows.load.pacing import Start

_NO_BODY = (204, 304)
_FINAL = 200


class _UnaskedAnswerError(Exception):
    """A second answer began on a connection that had one request."""


class Exchange:
    """A started request and what has come back for it.

    `pieces` are the body's bytes with HTTP's chunk framing removed, `stamps_ns` one
    monotonic time of arrival per piece. `is_ended` tells that the answer is whole as it
    was framed, `fault` why it is none. The methods named on_… are the parser's callbacks.
    """

    __slots__ = (
        "_is_kept_alive",
        "_parser",
        "begun_ns",
        "connection",
        "content_type",
        "fault",
        "first_byte_ns",
        "has_extra",
        "is_ended",
        "is_framed",
        "is_on_kept",
        "is_over",
        "on_body",
        "pieces",
        "reconnected",
        "reused",
        "sent_ns",
        "stamps_ns",
        "start",
        "status",
    )

    def __init__(self, start: Start, begun_ns: int) -> None:
        self.start = start
        self.begun_ns = begun_ns
        self.connection: int | None = None
        self.reused = self.reconnected = False
        self.sent_ns: int | None = None
        self.first_byte_ns: int | None = None
        self.status: int | None = None
        self.content_type = self.fault = ""
        self.pieces: list[bytes] = []
        self.stamps_ns = array("q")
        self.is_framed = self.is_ended = self.has_extra = self.is_over = False
        self._is_kept_alive = self.is_on_kept = False
        self.on_body = self.pieces.append
        self._parser = httptools.HttpResponseParser(self)

    def take(self, data: bytes, stamp_ns: int) -> bool:
        """Keep what was read; True when the answer has ended or is no HTTP."""
        if self.first_byte_ns is None:
            self._note_first_byte(stamp_ns)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.is_ended:
                self.has_extra = True
            else:
                self.fault = f"the answer is not HTTP/1.1 as asked for: {error}"
        new = len(self.pieces) - len(self.stamps_ns)
        if new == 1:
            self.stamps_ns.append(stamp_ns)
        elif new:
            self.stamps_ns.extend([stamp_ns] * new)
        return self.is_ended or bool(self.fault)

    def ends_with_the_connection(self) -> bool:
        """Whether an orderly end of the connection now ends the answer as it was framed."""
        return self.status is not None and not self.is_framed

    def _note_first_byte(self, stamp_ns: int) -> None:
        self.first_byte_ns = stamp_ns
        # This process may have been kept from its clock between the write and the answer.
        if self.sent_ns is not None:
            self.sent_ns = min(self.sent_ns, stamp_ns)

    def may_be_sent_again(self) -> bool:
        """Whether, the connection being lost, a kept connection may have been the reason.

        Then nothing of an answer has come. A fresh connection that fails is the server's
        fault, and a second attempt would hide it.
        """
        return self.is_on_kept and not self.reconnected and self.first_byte_ns is None

    def may_be_followed(self) -> bool:
        """Whether, by the server's word, the connection is good for a next request."""
        return self.is_ended and self._is_kept_alive and self.is_framed and not self.has_extra

    def close(self) -> None:
        """Let go of the parser, which holds this exchange in turn."""
        self.is_over = True
        del self._parser, self.on_body

    def on_message_begin(self) -> None:
        if self.is_ended:
            raise _UnaskedAnswerError

    def on_header(self, name: bytes, value: bytes) -> None:
        key = name.lower()
        if key == b"content-type" and self.status is None:
            self.content_type = value.decode("latin-1")
        if key == b"content-length" or (
            key == b"transfer-encoding" and b"chunked" in value.lower()
        ):
            self.is_framed = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < _FINAL:
            self.content_type, self.is_framed = "", False
            return
        self.status = status
        self.is_framed = self.is_framed or status in _NO_BODY

    def on_message_complete(self) -> None:
        self.is_ended = self.status is not None
        # Only here does the parser know; a moment later it looks at the next message.
        self._is_kept_alive = bool(self._parser.should_keep_alive())
