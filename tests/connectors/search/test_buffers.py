"""When what waits is written: by count, by bytes, after a while, at the end of a slice or an epoch. On a stand-in."""

from __future__ import annotations

from typing import Any

from tests.connectors.search.fake import Fake, done, serving

from millrace.common.sink import SinkWriter
from millrace.connectors.search.search_builders import Emitted, FieldEmitter
from millrace.connectors.search.search_client import OPENSEARCH, Place
from millrace.connectors.search.search_sink import BulkSettings, SearchSink
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext

CONTEXT = ElementContext()


def writer(fake: Fake, clock: Clock | None = None, **settings: Any) -> SinkWriter[Any]:
    place = Place(OPENSEARCH, (fake.url,))
    made = SearchSink(place, BulkSettings(**settings), Emitted(FieldEmitter("i")))
    return made.create_writer(WriterContext(0, 1, 1, clock or Clock()))


def sizes(fake: Fake) -> list[int]:
    return [len(each.lines) // 2 for each in fake.bulks]


def write(to: SinkWriter[Any], count: int) -> None:
    for number in range(count):
        to.write({"n": number}, CONTEXT)


def test_by_count() -> None:
    with serving("opensearch", done) as fake:
        to = writer(fake, max_actions=3, interval=0)
        write(to, 7)
        assert sizes(fake) == [3, 3]
        to.flush(False)
        assert sizes(fake) == [3, 3, 1]
        to.flush(False)
        assert sizes(fake) == [3, 3, 1]
        to.close()


def test_by_bytes() -> None:
    with serving("opensearch", done) as fake:
        to = writer(fake, max_actions=0, max_bytes=1_000, interval=0)
        write(to, 7)
        assert sum(sizes(fake)) == 5
        to.close()


def test_after_a_while() -> None:
    clock = Clock()
    with serving("opensearch", done) as fake:
        to = writer(fake, clock, max_actions=0, interval=5)
        write(to, 1)
        clock.now += 4_900
        write(to, 1)
        assert sizes(fake) == []
        clock.now += 100
        write(to, 1)
        assert sizes(fake) == [3]
        write(to, 1)
        assert sizes(fake) == [3]
        to.close()


def test_an_action_alone_is_written_after_a_while() -> None:
    clock = Clock()
    with serving("opensearch", done) as fake:
        to = writer(fake, clock, interval=5)
        write(to, 1)
        to.end_slice(clock.now + 4_999)
        assert sizes(fake) == []
        to.end_slice(clock.now + 5_000)
        to.end_slice(clock.now + 10_000)
        assert sizes(fake) == [1]
        to.close()


def test_without_a_guarantee_the_end_of_an_epoch_writes_nothing() -> None:
    clock = Clock()
    with serving("opensearch", done) as fake:
        to = writer(fake, clock, interval=5, each_epoch=False)
        write(to, 2)
        to.flush(False)
        assert sizes(fake) == []
        clock.now += 5_000
        to.flush(False)
        assert sizes(fake) == [2]
        write(to, 1)
        to.flush(True)
        assert sizes(fake) == [2, 1]
        to.close()
