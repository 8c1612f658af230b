"""Sinks of DataStreams for OpenSearch and Elasticsearch, put together as in PyFlink."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.search.actions import Emit
from millrace.connectors.search.backoff import Backoff
from millrace.connectors.search.bulk import BulkSettings
from millrace.connectors.search.dialect import ELASTICSEARCH_7, ELASTICSEARCH_8, OPENSEARCH, Dialect
from millrace.connectors.search.emitting import Emitted, FieldEmitter
from millrace.connectors.search.failures import FailureHandler
from millrace.connectors.search.place import Place, hosts_of
from millrace.connectors.search.sink import SearchSink

if TYPE_CHECKING:
    from typing_extensions import Self


class FlushBackoffType(Enum):
    """How long to wait before something is sent again.

        >>> builder = Elasticsearch7SinkBuilder()
        >>> _ = builder.set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 1000)
    """

    CONSTANT = (0,)
    """always as long as it says"""
    EXPONENTIAL = (1,)
    """each time twice as long as before"""
    NONE = (2,)
    """nothing is sent again"""


class ElasticsearchEmitter:
    """What becomes of elements: documents in an index, or what a function says.

        >>> emitter = ElasticsearchEmitter.static_index("users", "user_id")
        >>> builder = Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_emitter(emitter)
    """

    def __init__(self, emit: Emit) -> None:
        if not callable(emit):
            raise TypeError(
                "ElasticsearchEmitter is made by static_index, dynamic_index or of: there are no Java objects"
            )
        self.emit = emit

    @staticmethod
    def static_index(index: str, key_field: str | None = None, doc_type: str | None = None) -> ElasticsearchEmitter:
        """All documents go to one index.

        :param key_field: its value is the id; without one documents get ids of their own.
        :param doc_type: without effect: these servers have no types of documents.
        """
        return ElasticsearchEmitter(FieldEmitter(index, key_field))

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """A field of the documents has the name of the index."""
        return ElasticsearchEmitter(FieldEmitter(index_field, key_field, True))

    @staticmethod
    def of(function: Emit) -> ElasticsearchEmitter:
        """:param function: element -> ``Index``, ``Create``, ``Update``, ``Delete``, several of them, or None."""
        return ElasticsearchEmitter(function)


class ElasticsearchSink(Sink[Any]):
    """Writes documents; made by one of the builders.

        >>> builder = Elasticsearch7SinkBuilder().set_hosts("localhost:9200")
        >>> sink = builder.set_emitter(ElasticsearchEmitter.static_index("users", "user_id")).build()
        >>> isinstance(sink, ElasticsearchSink)
        True
    """

    def __init__(self, sink: Sink[Any]) -> None:
        if not isinstance(sink, Sink):
            raise TypeError("this sink is made by its builder: there are no Java objects here")
        self._sink = sink

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """The writer of one subtask."""
        return self._sink.create_writer(context)


class ElasticsearchSinkBuilderBase(ABC):
    """Puts a sink together.

        >>> issubclass(Elasticsearch7SinkBuilder, ElasticsearchSinkBuilderBase)
        True
    """

    _dialect: ClassVar[Dialect]

    def __init__(self) -> None:
        self._emit: Emit | None = None
        self._place = Place(self._dialect, ())
        self._settings = BulkSettings(interval=0)

    def set_emitter(self, emitter: ElasticsearchEmitter | Emit) -> Self:
        """:param emitter: or a function, as of ``ElasticsearchEmitter.of``."""
        self._emit = emitter.emit if isinstance(emitter, ElasticsearchEmitter) else ElasticsearchEmitter(emitter).emit
        return self

    def set_hosts(self, hosts: str | list[str]) -> Self:
        """:param hosts: URLs, or host:port."""
        return self._at(hosts=hosts_of(hosts))

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """AT_LEAST_ONCE unless told otherwise."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ValueError("a search index has no transactions: AT_LEAST_ONCE, with ids nothing is there twice")
        return self._how(each_epoch=delivery_guarantee is DeliveryGuarantee.AT_LEAST_ONCE)

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Self:
        """:param num_max_actions: -1: any number."""
        return self._how(max_actions=_limit("number of actions", num_max_actions))

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Self:
        """:param max_size_mb: -1: any size."""
        return self._how(max_bytes=_limit("size", max_size_mb) << 20)

    def set_bulk_flush_interval(self, interval_millis: int) -> Self:
        """:param interval_millis: -1: only when the epoch ends."""
        return self._how(interval=_limit("interval", interval_millis) / 1000)

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Self:
        """How often, and after how many ms, a refused request is sent again."""
        if flush_backoff_type is FlushBackoffType.NONE:
            return self._how(backoff=Backoff(), reconnect=Backoff())
        if max_retries <= 0 or delay_millis < 0:
            raise ValueError(f"retries are more than 0 and the delay is not negative: {max_retries}, {delay_millis}")
        grows = flush_backoff_type is FlushBackoffType.EXPONENTIAL
        return self._how(backoff=Backoff(max_retries, delay_millis / 1000, grows))

    def set_failure_handler(self, handler: FailureHandler) -> Self:
        """What becomes of a document that the server refuses; otherwise the job fails."""
        return self._how(on_failure=handler)

    def set_connection_username(self, username: str) -> Self:
        """Who logs in."""
        return self._at(username=username)

    def set_connection_password(self, password: str) -> Self:
        """The password of the user."""
        return self._at(password=password)

    def set_connection_path_prefix(self, prefix: str) -> Self:
        """What stands before every path of the server."""
        return self._at(prefix=f"/{prefix.strip('/')}" if prefix.strip("/") else "")

    def set_connection_request_timeout(self, timeout: int) -> Self:
        """:param timeout: ms."""
        return self._at(pool_seconds=_time("request timeout", timeout))

    def set_connection_timeout(self, timeout: int) -> Self:
        """:param timeout: ms in which a connection has to be there."""
        return self._at(connect_seconds=_time("connection timeout", timeout))

    def set_socket_timeout(self, timeout: int) -> Self:
        """:param timeout: ms in which an answer has to come."""
        return self._at(answer_seconds=_time("socket timeout", timeout))

    def set_allow_insecure(self, allow_insecure: bool) -> Self:
        """Whether certificates count for nothing."""
        return self._at(insecure=allow_insecure)

    def set_certificate_fingerprint(self, certificate_fingerprint: str) -> Self:
        """SHA-256 of a certificate that is trusted if the server shows it."""
        return self._at(fingerprint=certificate_fingerprint)

    def build(self) -> ElasticsearchSink:
        """:raises ValueError: no hosts, no emitter, or what does not go together."""
        if not self._place.hosts:
            raise ValueError("a sink needs set_hosts(...)")
        if self._emit is None:
            raise ValueError("a sink needs set_emitter(...)")
        problem = self._place.problem()
        if problem is not None:
            raise ValueError(problem)
        return self._made(SearchSink(self._place, self._settings, Emitted(self._emit)))

    _made: Callable[[Sink[Any]], ElasticsearchSink] = staticmethod(ElasticsearchSink)

    def _at(self, **changes: Any) -> Self:
        self._place = replace(self._place, **changes)
        return self

    def _how(self, **changes: Any) -> Self:
        self._settings = replace(self._settings, **changes)
        return self


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Refused: its servers have had no support since 2022.

        >>> Elasticsearch6SinkBuilder()
        Traceback (most recent call last):
            ...
        NotImplementedError: Elasticsearch 6 has had no support since 2022: use Elasticsearch7SinkBuilder or ...
    """

    def __init__(self) -> None:
        raise NotImplementedError(
            "Elasticsearch 6 has had no support since 2022: use Elasticsearch7SinkBuilder or Elasticsearch8SinkBuilder "
            "on a newer server, or OpensearchSinkBuilder"
        )


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 7.

        >>> builder = Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_bulk_flush_max_actions(500)
        >>> sink = builder.set_emitter(ElasticsearchEmitter.static_index("users", "user_id")).build()
    """

    _dialect = ELASTICSEARCH_7


class Elasticsearch8SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 8 and 9.

        >>> builder = Elasticsearch8SinkBuilder().set_hosts("https://localhost:9200").set_api_key("secret")
        >>> sink = builder.set_emitter(ElasticsearchEmitter.static_index("users", "user_id")).build()
    """

    _dialect = ELASTICSEARCH_8

    def set_api_key(self, api_key: str) -> Self:
        """In place of user and password."""
        return self._at(api_key=api_key)

    def set_bearer_token(self, token: str) -> Self:
        """In place of user and password."""
        return self._at(bearer_token=token)


class OpensearchSink(ElasticsearchSink):
    """Writes documents to OpenSearch.

        >>> builder = OpensearchSinkBuilder().set_hosts("localhost:9200")
        >>> isinstance(builder.set_emitter(lambda user: [Index("users", user)]).build(), OpensearchSink)
        True
    """


class OpensearchSinkBuilder(ElasticsearchSinkBuilderBase):
    """For OpenSearch.

        >>> builder = OpensearchSinkBuilder().set_hosts("localhost:9200")
        >>> sink = builder.set_emitter(lambda user: [Index("users", user)]).build()
    """

    _dialect = OPENSEARCH
    _made = staticmethod(OpensearchSink)


def _limit(what: str, value: int) -> int:
    """:param value: -1: there is none."""
    if value < -1:
        raise ValueError(f"the {what} is not negative, or -1 for no limit, not {value}")
    return max(value, 0)


def _time(what: str, millis: int) -> float:
    if millis <= 0:
        raise ValueError(f"the {what} is longer than 0 ms, not {millis}")
    return millis / 1000
