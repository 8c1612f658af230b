"""Sinks of DataStreams for OpenSearch and Elasticsearch, put together as in PyFlink, and what a program does to
documents: ``Index``, ``Create``, ``Update`` and ``Delete``.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Union

import pyarrow as pa

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.common.types import Row
from millrace.connectors.search.search_client import (
    ELASTICSEARCH_7,
    ELASTICSEARCH_8,
    OPENSEARCH,
    Dialect,
    Place,
    hosts_of,
)
from millrace.connectors.search.search_sink import Backoff, BulkSettings, Encoder, FailureHandler, SearchSink
from millrace.connectors.sink_base import DeliveryGuarantee, is_deletion

if TYPE_CHECKING:
    from typing_extensions import Self


Document = Union[Mapping[str, Any], Row, str, bytes]
"""fields and their values; or JSON"""


@dataclass(frozen=True)
class Index:
    """Puts a document into an index, in place of the one with the same id.

        >>> def emit(event):
        ...     yield Index(f"events-{event['day']}", event, event["id"])
        >>> next(emit({"day": "monday", "id": "7"})).index
        'events-monday'

    :ivar id: None: it gets one of its own, and is there twice if it is sent twice.
    :ivar version: it is put there only if what is there has no higher one; needs an id.
    """

    index: str
    document: Document
    id: str | None = None
    version: int | None = None
    name: ClassVar[str] = "index"


@dataclass(frozen=True)
class Create:
    """Puts a document into an index where there is none with the same id; if there is one it is an error.

    >>> Create("users", {"name": "Ann"}, "1").id
    '1'
    """

    index: str
    document: Document
    id: str | None = None
    name: ClassVar[str] = "create"


@dataclass(frozen=True)
class Update:
    """Changes fields of a document. Where it is not there it is made of them.

    >>> Update("users", {"seen": 5}, "1").document
    {'seen': 5}
    """

    index: str
    document: Document
    id: str
    name: ClassVar[str] = "update"


@dataclass(frozen=True)
class Delete:
    """Takes a document out of an index, if it is there.

    >>> Delete("users", "1").id
    '1'
    """

    index: str
    id: str
    version: int | None = None
    name: ClassVar[str] = "delete"


Action = Union[Index, Create, Update, Delete]
Emit = Callable[[Any], Union[Action, Iterable[Action], None]]
"""A function from an element to its actions: one, several, or None for none."""


def lines(action: Action, encode: Callable[[Any], bytes]) -> bytes:
    """As a bulk request has it.

    :param encode: writes JSON.
    """
    head: dict[str, Any] = {"_index": action.index}
    if action.id is not None:
        head["_id"] = action.id
    version = getattr(action, "version", None)
    if version is not None:
        head |= {"version": version, "version_type": "external_gte"}
    if isinstance(action, Delete):
        return encode({"delete": head}) + b"\n"
    document = _text(action.document, encode)
    if isinstance(action, Update):
        head["retry_on_conflict"] = 3
        document = b'{"doc":' + document + b',"doc_as_upsert":true}'
    return encode({action.name: head}) + b"\n" + document + b"\n"


def _text(document: Document, encode: Callable[[Any], bytes]) -> bytes:
    if isinstance(document, (str, bytes)):
        text = document.encode() if isinstance(document, str) else document
        # Two lines would be two things of a bulk request; in JSON a line may end everywhere but inside texts.
        return text.replace(b"\n", b" ").replace(b"\r", b" ")
    return encode(plain(document))


def plain(value: Any) -> Any:
    """Rows as dicts."""
    if isinstance(value, Row):
        if value._fields is None:
            raise ValueError(f"a document needs names for its fields: {value!r} is a Row without names")
        return dict(zip(value._fields, value._values))
    return value


def in_json(value: Any) -> Any:
    """For what a writer of JSON does not know: nested rows, numbers of numpy, and what has ``isoformat``."""
    if isinstance(value, Row):
        return plain(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a document cannot have a {type(value).__name__}: {value!r}")


_ABOUT_BYTES = 200
"""Estimated bytes of an element before it is encoded."""


@dataclass(frozen=True)
class FieldEmitter:
    """One document for each element, which is a dict, or a Row with names.

    :ivar index: its name, or (``dynamic``) the field that has it.
    :ivar key: the field whose value is the id; None: documents get ids of their own.
    """

    index: str
    key: str | None = None
    dynamic: bool = False

    def __call__(self, element: Any) -> Action:
        document = plain(element)
        if not isinstance(document, dict):
            raise TypeError(f"a document is a dict, or a Row with names, not {element!r}")
        index = str(self._of(document, self.index)) if self.dynamic else self.index
        if self.key is None:
            return Create(index, document)
        id = _id(self._of(document, self.key))
        return Delete(index, id) if is_deletion(element) else Update(index, document, id)

    def _of(self, document: dict[str, Any], name: str) -> Any:
        value = document.get(name)
        if value is None:
            raise ValueError(f"the field '{name}' is missing or None in {document!r}")
        return value


def _id(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Emitted(Encoder[Any]):
    """Asks an emitter for the actions of each element."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def measure(self, element: Any) -> tuple[int, int]:
        return 1, len(element) if isinstance(element, (str, bytes)) else _ABOUT_BYTES

    def encode(self, elements: Sequence[Any], epoch: int) -> Sequence[pa.Array]:
        import msgspec

        encode = msgspec.json.Encoder(enc_hook=in_json).encode
        actions = [action for element in elements for action in self._actions(element)]
        return [
            pa.array([lines(action, encode) for action in part], pa.large_binary())
            for part in without_repetition(actions)
        ]

    def _actions(self, element: Any) -> Iterable[Action]:
        given = self._emit(element)
        if given is None:
            return ()
        return (given,) if isinstance(given, (Index, Create, Update, Delete)) else given


def without_repetition(actions: Iterable[Action]) -> list[list[Action]]:
    """Parts in which no document occurs twice: what is sent again must not come after what followed it. Actions on one
    document become one where that is the same; else the later one begins a new part."""
    parts: list[dict[Any, Action]] = [{}]
    for action in actions:
        part = parts[-1]
        if action.id is None:
            part[object()] = action
            continue
        place = (action.index, action.id)
        earlier = part.pop(place, None)
        if earlier is None:
            part[place] = action
            continue
        both = _together(earlier, action)
        if both is None:
            part[place] = earlier
            parts.append({place: action})
        else:
            part[place] = both
    return [list(part.values()) for part in parts if part]


def _together(earlier: Action, later: Action) -> Action | None:
    """One action for two on the same document; None if there is none."""
    if isinstance(earlier, Create) or isinstance(later, Create) or _version(earlier) != _version(later):
        return None
    if not isinstance(later, Update):
        return later
    if isinstance(earlier, Delete):
        return Index(later.index, later.document, later.id)
    document = _merged(earlier.document, later.document)
    return None if document is None else replace(earlier, document=document)


def _version(action: Action) -> int | None:
    return getattr(action, "version", None)


def _merged(earlier: Document, later: Document) -> Document | None:
    """A document whose fields are changed as servers do it: of objects inside it the fields, too. None: it is text."""
    if isinstance(earlier, (str, bytes)) or isinstance(later, (str, bytes)):
        return None
    return _changed(plain(earlier), plain(later))


def _changed(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(fields)
    for name, value in changes.items():
        before, after = plain(found.get(name)), plain(value)
        both = isinstance(before, Mapping) and isinstance(after, Mapping)
        found[name] = _changed(before, after) if both else value
    return found


class FlushBackoffType(Enum):
    """How long to wait before something is sent again.

    >>> builder = Elasticsearch7SinkBuilder()
    >>> _ = builder.set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 1000)
    """

    CONSTANT = (0,)
    """the delay stays the same"""
    EXPONENTIAL = (1,)
    """each delay is twice as long as the one before"""
    NONE = (2,)
    """nothing is retried"""


class ElasticsearchEmitter:
    """Turns elements into actions: documents of an index, or the actions that a function returns.

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
        """Set the guarantee, AT_LEAST_ONCE by default. EXACTLY_ONCE is refused, since an index has no transactions."""
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
        """Set the function that decides about documents that the server refuses; without one they fail the job."""
        return self._how(on_failure=handler)

    def set_connection_username(self, username: str) -> Self:
        """The user name."""
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
