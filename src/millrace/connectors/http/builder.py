"""``HttpSinkBuilder``: puts an ``HttpSink`` together, with Flink's names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from millrace.common.serialization import SerializationSchema
from millrace.common.sink import Sink
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.http.properties import Properties
from millrace.connectors.http.settings import SINK, CallSettings
from millrace.connectors.http.sink import HttpSink, Sending
from millrace.connectors.messages.sending import MessageEncoder, Outgoing

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
