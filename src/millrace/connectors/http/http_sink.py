"""``HttpSink``: sends what is written to a service, at least once; ``HttpSinkBuilder`` has Flink's names."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.http.http_client import Caller, HttpRequest, Session
from millrace.connectors.http.http_settings import SINK, CallSettings, Properties
from millrace.connectors.messages import MessageEncoder, Outgoing
from millrace.connectors.sink_base import DeliveryGuarantee, Patience

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


Convert = Callable[[Any], Any]
_ID = "id"


class ElementEncoder(MessageEncoder[Any]):
    """Bytes and texts as they are, all else as JSON.

    :param id_of: what the service knows an element by.
    """

    def __init__(self, convert: Convert | None, id_of: Convert | None) -> None:
        self._convert, self._id_of = convert, id_of

    def encode(self, element: Any, timestamp: int | None) -> Iterable[Outgoing]:
        value = element if self._convert is None else self._convert(element)
        if isinstance(value, str):
            value = value.encode()
        elif not isinstance(value, (bytes, bytearray)):
            value = json.dumps(value, ensure_ascii=False).encode()
        more = {} if self._id_of is None else {_ID: str(self._id_of(element))}
        yield Outgoing(bytes(value), "", timestamp, more)


class HttpSinkBuilder:
    """``set_property`` takes the options of the table connector, ``http.sink.*`` and ``http.security.*``.

    >>> builder = HttpSinkBuilder().set_endpoint_url("https://intake.example/orders").set_max_batch_size(50)
    >>> sink = builder.set_element_converter(lambda order: {"id": order}).build()
    """

    def __init__(self) -> None:
        self._url = ""
        self._convert: Convert | None = None
        self._id_of: Convert | None = None
        self._properties: dict[str, str] = {}
        self._sending: dict[str, Any] = {}

    def set_endpoint_url(self, url: str) -> HttpSinkBuilder:
        """The address that elements are sent to."""
        self._url = url
        return self

    def set_method(self, method: str) -> HttpSinkBuilder:
        """POST, unless it is set."""
        self._sending["method"] = method.upper()
        return self

    def set_element_converter(self, converter: Convert | SerializationSchema) -> HttpSinkBuilder:
        """What an element becomes: bytes, a text, or what JSON can write. Without it the element is that."""
        self._convert = converter.serialize if isinstance(converter, SerializationSchema) else converter
        return self

    def set_property(self, name: str, value: str) -> HttpSinkBuilder:
        """One option of the connector, under the name that tables have for it."""
        self._properties[name] = value
        return self

    def set_properties(self, properties: Mapping[str, str]) -> HttpSinkBuilder:
        """Several options of the connector, under the names that tables have for them."""
        self._properties.update(properties)
        return self

    def set_max_batch_size(self, elements: int) -> HttpSinkBuilder:
        """Of a request; 500 unless it is set."""
        return self._positive("most_elements", elements)

    def set_max_in_flight_requests(self, requests: int) -> HttpSinkBuilder:
        """With more than one, requests may overtake each other; 50 unless it is set."""
        return self._positive("in_flight", requests)

    def set_max_buffered_requests(self, elements: int) -> HttpSinkBuilder:
        """How many elements may wait before the job does."""
        return self._positive("buffered", elements)

    def set_max_batch_size_in_bytes(self, size: int) -> HttpSinkBuilder:
        """How many bytes a request has at most."""
        return self._positive("most_bytes", size)

    def set_max_time_in_buffer_ms(self, millis: int) -> HttpSinkBuilder:
        """How long an element waits for others, in ms."""
        self._sending["seconds"] = millis / 1000
        return self

    def set_idempotency_key(self, header: str, id_of: Convert | None = None) -> HttpSinkBuilder:
        """A header by which the service knows a request that comes again.

        :param id_of: element -> what it is known by, in mode ``single``; None: each request has an id of its own, which
            its repetitions by the retry strategy share.
        """
        self._sending["id_header"] = header
        self._id_of = id_of
        return self

    def set_delivery_guarantee(self, guarantee: DeliveryGuarantee) -> HttpSinkBuilder:
        """:raises ValueError: exactly once."""
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ValueError(
                "HttpSink writes at least once: HTTP has nothing that takes a request back. A service that knows "
                "requests by an id gets each once: set_idempotency_key()"
            )
        return self

    def build(self) -> Sink[Any]:
        """:raises ValueError: no URL, or options that cannot be."""
        if not self._url.startswith(("http://", "https://")):
            raise ValueError(f"HttpSink needs set_endpoint_url('http://...'), not '{self._url}'")
        properties = Properties(self._properties)
        settings = CallSettings.of(properties, SINK, properties.count(f"{SINK}retry.times", 3))
        single = properties.one_of(f"{SINK}writer.request.mode", "batch", ("single", "batch")) == "single"
        sending = replace(Sending(most_elements=properties.count(f"{SINK}request.batch.size", 500, 1)), **self._sending)
        if single:
            sending = replace(sending, single=True, most_elements=1)
        if self._id_of is not None and not single:
            raise ValueError(f"ids of elements need '{SINK}writer.request.mode' = 'single'")
        encoder = ElementEncoder(self._convert, self._id_of)
        return HttpSink(self._url, settings, sending, encoder, _id_of if self._id_of is not None else None)

    def _positive(self, name: str, value: int) -> HttpSinkBuilder:
        if value < 1:
            raise ValueError(f"{name.replace('_', ' ')} is 1 or more, not {value}")
        self._sending[name] = value
        return self


def _id_of(message: Outgoing) -> str:
    return str(message.metadata[_ID])
