"""``SearchSink``: turns elements into actions on documents, sends many in one request, and retries those that may
succeed later. A failure handler decides about actions that a server refuses."""

from __future__ import annotations

import enum
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.search.search_client import PASSING, Place, SearchClient, SearchError, error_and_reason
from millrace.connectors.sink_base import Patience

LONGEST_SECONDS = 60.0


@dataclass(frozen=True)
class Backoff:
    """
    :ivar retries: 0: nothing is sent again.
    :ivar grows: whether each wait is twice as long as the one before.
    """

    retries: int = 0
    delay: float = 0.05
    grows: bool = False

    def wait(self, attempt: int) -> float:
        """Seconds before the repetition ``attempt``, from 0 on."""
        return min(LONGEST_SECONDS, self.delay * 2 ** min(attempt, 30) if self.grows else self.delay)


REJECTED = 429
"""the status of what came when the server's queues were full"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Failure:
    """An action that failed.

    :ivar kind: what the server calls it.
    :ivar action: what was sent: its line, and that of the document.
    :ivar passing: whether it may go well a little later.
    """

    status: int
    kind: str
    reason: str
    index: str
    id: str
    action: bytes = field(repr=False)
    passing: bool = False

    def __str__(self) -> str:
        which = f"document '{self.id}'" if self.id else "a document"
        return f"{which} of index '{self.index}': {self.kind} (status {self.status}): {self.reason}"


class Verdict(enum.Enum):
    """What a failure handler decides about an action."""

    FAIL = enum.auto()
    """the job fails"""
    IGNORE = enum.auto()
    """the action is dropped"""
    RETRY = enum.auto()
    """the action is sent again"""


FailureHandler = Callable[[Failure], Verdict]
"""Decides about an action that cannot succeed, or has failed too often. An error that it raises fails the job."""


def fail(failure: Failure) -> Verdict:
    return Verdict.FAIL


def ignore(failure: Failure) -> Verdict:
    """Leaves it out, and says so in the log."""
    logger.warning("left out: %s", failure)
    return Verdict.IGNORE


def retry_rejected(failure: Failure) -> Verdict:
    """Sends again what came when the server's queues were full."""
    return Verdict.RETRY if failure.status == REJECTED else Verdict.FAIL


HANDLERS: dict[str, FailureHandler] = {"fail": fail, "ignore": ignore, "retry-rejected": retry_rejected}


def handler_of(name: str) -> FailureHandler:
    """:param name: one of HANDLERS, or ``module:function``.
    :raises ValueError: there is no such function.
    """
    known = HANDLERS.get(name.lower())
    if known is not None:
        return known
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(f"a failure handler is {', '.join(HANDLERS)}, or a function as module:function, not '{name}'")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the failure handler '{name}' cannot be found: {error}") from None
    if not callable(found):
        raise ValueError(f"the failure handler '{name}' is no function")
    handler: FailureHandler = found
    return handler


CONFLICT = 409
NOT_FOUND = 404
RECONNECT = Backoff(3, 0.5, True)
PATIENCE_SECONDS = 600.0
"""Seconds within which an action that a handler retries has to succeed."""


@dataclass(frozen=True)
class BulkSettings:
    """
    :ivar max_actions: of a request; 0: any number.
    :ivar max_bytes: of a request; 0: any number. A single action may be larger.
    :ivar interval: seconds after which what waits is written; 0: only at the end of the epoch.
    :ivar each_epoch: whether all that waits is written at the end of each epoch: nothing is lost then.
    :ivar reconnect: how often and when it is tried again if the server does not answer, or the connection is lost, and
        ``backoff`` has no retries.
    :ivar conflicts_count: whether an action that comes too late, since the index has a later version, is done.
    """

    max_actions: int = 1000
    max_bytes: int = 2 << 20
    interval: float = 1.0
    each_epoch: bool = True
    backoff: Backoff = field(default_factory=Backoff)
    reconnect: Backoff = RECONNECT
    on_failure: FailureHandler = fail
    conflicts_count: bool = False


class Bulk:
    """Sends actions in their order."""

    def __init__(self, client: SearchClient, settings: BulkSettings) -> None:
        self._client = client
        self._settings = settings

    def send(self, actions: pa.Array) -> None:
        """When this returns the server has all of them, or a handler of failures has said that one may be left out.

        :param actions: binary: each with its lines. No document occurs twice.
        :raises SearchError: the server refuses, or does not answer.
        """
        pieces = _Pieces(actions)
        for begin, end in pieces.parts(self._settings.max_actions, self._settings.max_bytes):
            self._send(pieces, begin, end)

    def _send(self, pieces: _Pieces, begin: int, end: int) -> None:
        body: bytes = pieces.content(begin, end)
        numbers: Sequence[int] = range(begin, end)
        until = time.monotonic() + PATIENCE_SECONDS
        attempt = 0
        while True:
            backoff = self._settings.backoff
            last = attempt >= backoff.retries
            try:
                failures = self._once(pieces, numbers, body)
            except SearchError as error:
                if error.status == 0 and not backoff.retries:
                    backoff = self._settings.reconnect
                    last = attempt >= backoff.retries
                if not error.passing or (last and not self._is_rejected(error, until)):
                    raise
                logger.warning("%s; trying again", error)
            else:
                numbers = [number for number, failure in failures if self._goes_again(failure, last, until)]
                if not numbers:
                    return
                body = b"".join(pieces.content(number, number + 1) for number in numbers)
            time.sleep(backoff.wait(attempt))
            attempt += 1

    def _goes_again(self, failure: Failure, last: bool, until: float) -> bool:
        """:raises SearchError: it must not be left out."""
        if failure.passing and not last:
            return True
        verdict = self._settings.on_failure(failure)
        if verdict is Verdict.IGNORE:
            return False
        if verdict is Verdict.RETRY and time.monotonic() < until:
            return True
        late = f" for {PATIENCE_SECONDS:g} s" if verdict is Verdict.RETRY else ""
        raise SearchError(f"{self._client.place.where} refuses{late} {failure}", failure.status or 400, failure.kind)

    def _is_rejected(self, error: SearchError, until: float) -> bool:
        """Whether the whole request came when the server's queues were full, and a handler wants that sent again."""
        if error.status != REJECTED or time.monotonic() >= until:
            return False
        whole = Failure(error.status, error.kind, str(error), "", "", b"", True)
        return self._settings.on_failure(whole) is Verdict.RETRY

    def _once(self, pieces: _Pieces, numbers: Sequence[int], body: bytes) -> list[tuple[int, Failure]]:
        """What failed, with the numbers of the actions."""
        import msgspec

        answer = self._client.request("POST", "/_bulk", body, lines=True, repeatable=lambda: _repeatable(body))
        found = msgspec.json.decode(answer or b"{}")
        if not found.get("errors", True):
            return []
        items = [next(iter(each.items())) for each in found.get("items", ())]
        if len(items) != len(numbers):
            raise SearchError(f"{self._client.place.where}: {len(numbers)} actions gave {len(items)} answers", 400)
        failed = ((number, self._failure(name, item, pieces, number)) for number, (name, item) in zip(numbers, items))
        return [(number, failure) for number, failure in failed if failure is not None]

    def _failure(self, action: str, item: dict[str, Any], pieces: _Pieces, number: int) -> Failure | None:
        status = int(item.get("status", 0))
        if 200 <= status < 300 or (action == "delete" and status == NOT_FOUND):
            return None  # what is not there, or in an index that is not, need not be deleted
        if status == CONFLICT and self._settings.conflicts_count:
            return None
        kind, reason = error_and_reason(item.get("error", {}))
        # An update reads the document first, and another client may have changed it meanwhile.
        passing = status in PASSING or (status == CONFLICT and action == "update")
        content = pieces.content(number, number + 1)
        return Failure(status, kind, reason, str(item.get("_index", "")), str(item.get("_id") or ""), content, passing)


def _repeatable(body: bytes) -> bool:
    """Whether these actions may be done twice: each names its document, and does not insist that it is new."""
    import msgspec

    lines = iter(body.split(b"\n"))
    for line in filter(None, lines):
        ((name, about),) = msgspec.json.decode(line).items()
        if name == "create" or "_id" not in about:
            return False
        if name != "delete":
            next(lines)  # the document
    return True


class _Pieces:
    """Actions, which lie one behind the other in memory: a request is a part of that."""

    def __init__(self, actions: pa.Array) -> None:
        actions = actions.cast(pa.large_binary())
        _, offsets, contents = actions.buffers()
        begin = actions.offset
        self._at = np.frombuffer(offsets, np.int64)[begin : begin + len(actions) + 1]
        self._contents = contents if contents is not None else pa.py_buffer(b"")

    def content(self, begin: int, end: int) -> bytes:
        found: bytes = self._contents.slice(int(self._at[begin]), int(self._at[end] - self._at[begin])).to_pybytes()
        return found

    def parts(self, most: int, most_bytes: int) -> Iterator[tuple[int, int]]:
        """Parts of so many actions and bytes at most, and one action at least."""
        begin, count = 0, len(self._at) - 1
        while begin < count:
            end = min(count, begin + most) if most else count
            if most_bytes:
                fits = int(np.searchsorted(self._at, self._at[begin] + most_bytes, side="right")) - 1
                end = min(end, max(begin + 1, fits))
            yield begin, end
            begin = end


T = TypeVar("T")


class Encoder(ABC, Generic[T]):
    """Turns elements into lines of bulk requests. Pickled into the tasks."""

    @abstractmethod
    def measure(self, element: T) -> tuple[int, int]:
        """The most actions of an element, and their estimated bytes."""

    @abstractmethod
    def encode(self, elements: Sequence[T], epoch: int) -> Sequence[pa.Array]:
        """Actions (binary): each as the lines that a bulk request has for it. In one array no document occurs twice;
        what comes in a later one is sent when the ones before are done.

        :param epoch: the number of the epoch.
        """


class SearchSink(Sink[T], Generic[T]):
    """**At least once**: what an epoch that failed had sent is sent again. Where documents have ids that follow from
    the elements nothing is there twice; where they have versions, too, nothing goes back to an older state."""

    def __init__(self, place: Place, settings: BulkSettings, encoder: Encoder[T]) -> None:
        self._place = place
        self._settings = settings
        self._encoder = encoder

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        return _Writer(self._place, self._settings, self._encoder, context)


class _Writer(SinkWriter[T]):
    def __init__(self, place: Place, settings: BulkSettings, encoder: Encoder[T], context: WriterInitContext) -> None:
        self._client = SearchClient(place)
        self._bulk = Bulk(self._client, settings)
        self._settings = settings
        self._encoder = encoder
        self._context = context
        self._waiting: list[T] = []
        self._actions = self._bytes = 0
        self._patience = Patience(context.current_processing_time, settings.interval * 1000 or None)

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting.append(element)
        actions, bytes_ = self._encoder.measure(element)
        self._actions += actions
        self._bytes += bytes_
        most, most_bytes = self._settings.max_actions, self._settings.max_bytes
        if (most and self._actions >= most) or (most_bytes and self._bytes >= most_bytes) or self._patience.is_over():
            self._send()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        if self._waiting and (end_of_input or self._settings.each_epoch or self._patience.is_over()):
            self._send()

    def _send(self) -> None:
        waiting, self._waiting, self._actions, self._bytes = self._waiting, [], 0, 0
        self._patience.end()
        for actions in self._encoder.encode(waiting, self._context.get_checkpoint_id()):
            self._bulk.send(actions)

    def close(self) -> None:
        self._client.close()
