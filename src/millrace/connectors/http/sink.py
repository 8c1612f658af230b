"""``HttpSink``: sends what is written to a service, at least once."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.http.caller import Caller, HttpRequest
from millrace.connectors.http.session import Session
from millrace.connectors.http.settings import CallSettings
from millrace.connectors.messages.sending import MessageEncoder, Outgoing
from millrace.connectors.patience import Patience

if TYPE_CHECKING:
    from millrace.connectors.http.builder import HttpSinkBuilder

logger = logging.getLogger(__name__)

IdOf = Callable[[Outgoing], str]


@dataclass(frozen=True)
class Sending:
    """
    :ivar most_elements: of a request. In ``single`` mode it has one, and that is its body; else its body is an array.
    :ivar most_bytes: of a request with more than one element.
    :ivar in_flight: requests that may be under way at once; with more than one they may overtake each other.
    :ivar buffered: elements that wait, at most.
    :ivar seconds: that an element waits, at most.
    :ivar id_header: a header by which the service knows a request that comes again; None: there is none.
    """

    method: str = "POST"
    single: bool = False
    most_elements: int = 500
    most_bytes: int = 5 * 1024 * 1024
    in_flight: int = 50
    buffered: int = 10_000
    seconds: float = 5.0
    id_header: str | None = None


class HttpSink(Sink[Any]):
    """**At least once**: an epoch ends when the service has taken all of it; one that is repeated is sent again. HTTP
    has nothing that could take a request back.

        >>> builder = HttpSink.builder().set_endpoint_url("https://intake.example/orders")
        >>> sink = builder.set_element_converter(lambda order: {"id": order}).build()

    :param id_of: what the service knows an element by, for ``id_header``; None: each request has a new one.
    """

    def __init__(
        self,
        url: str,
        settings: CallSettings,
        sending: Sending,
        encoder: MessageEncoder[Any],
        id_of: IdOf | None = None,
    ) -> None:
        self._url, self._settings, self._sending = url, settings, sending
        self._encoder, self._id_of = encoder, id_of

    @staticmethod
    def builder() -> HttpSinkBuilder:
        """Puts a sink together."""
        from millrace.connectors.http.builder import HttpSinkBuilder

        return HttpSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        patience = Patience(context.current_processing_time, self._sending.seconds * 1000)
        return HttpWriter(self._url, self._settings, self._sending, self._encoder, self._id_of, patience)


class HttpWriter(SinkWriter[Any]):
    def __init__(
        self,
        url: str,
        settings: CallSettings,
        sending: Sending,
        encoder: MessageEncoder[Any],
        id_of: IdOf | None,
        patience: Patience,
    ) -> None:
        self._url, self._sending, self._encoder, self._id_of = url, sending, encoder, id_of
        self._patience = patience
        self._waiting: list[Outgoing] = []
        self._session = Session(settings, sending.in_flight)

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting += self._encoder.encode(element, context.timestamp())
        sending = self._sending
        full = min(sending.most_elements * sending.in_flight, sending.buffered)
        if len(self._waiting) >= full or self._patience.is_over():
            self._send()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._patience.end()
        if waiting:
            self._session.all(_send, [self._request(part) for part in self._parts(waiting)])

    def _parts(self, waiting: Sequence[Outgoing]) -> list[list[Outgoing]]:
        parts: list[list[Outgoing]] = []
        size = 0
        for each in waiting:
            more = size + len(each.value) + 1
            if not parts or len(parts[-1]) >= self._sending.most_elements or more > self._sending.most_bytes:
                parts.append([])
                more = len(each.value) + 2
            parts[-1].append(each)
            size = more
        return parts

    def _request(self, part: Sequence[Outgoing]) -> HttpRequest:
        sending = self._sending
        values = [each.value for each in part]
        body = values[0] if sending.single else b"[" + b",".join(values) + b"]"
        headers = {"Content-Type": "application/json"}
        if sending.id_header is not None:
            headers[sending.id_header] = uuid.uuid4().hex if self._id_of is None else self._id_of(part[0])
        return HttpRequest(sending.method, self._url, (), body, headers)

    def close(self) -> None:
        self._session.close()


async def _send(caller: Caller, request: HttpRequest) -> None:
    answer = await caller.call(request)
    if answer.ignored:
        logger.warning("%s: status %s, which is ignored: what was sent may be lost", request, answer.status)
