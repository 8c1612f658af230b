"""What a bulk request may come back with: what is sent again, what fails, what a handler decides. On a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.search.fake import Answer, Asked, Fake, done, serving

from millrace.connectors.search import search_sink
from millrace.connectors.search.search_client import OPENSEARCH, Place, SearchClient, SearchError
from millrace.connectors.search.search_sink import Backoff, Bulk, BulkSettings, Failure, Verdict, handler_of
from millrace.testing.services.server import free_ports

OFTEN = Backoff(3, 0.001)


def actions(count: int, name: str = "index") -> pa.Array:
    return pa.array([f'{{"{name}":{{"_index":"i","_id":"{n}"}}}}\n{{"n":{n}}}\n'.encode() for n in range(count)])


def send(fake: Fake, given: pa.Array, **settings: Any) -> None:
    client = SearchClient(Place(OPENSEARCH, (fake.url,)))
    try:
        Bulk(client, BulkSettings(**settings)).send(given)
    finally:
        client.close()


def ids(asked: Asked) -> list[str]:
    return [next(iter(each.values()))["_id"] for each in asked.lines if "n" not in each]


def answering(*each: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """One after the other; the last one stays."""
    left = list(each)

    def script(asked: Asked) -> Answer:
        return (left.pop(0) if len(left) > 1 else left[0])(asked)

    return script


def statuses(**by_id: int) -> Callable[[Asked], Answer]:
    """id -> the status of its action; all others are fine."""
    given = {id.lstrip("_"): status for id, status in by_id.items()}
    return lambda asked: done(asked, lambda _, action: given.get(next(iter(action.values()))["_id"], 200))


def test_requests_have_so_many_actions_and_bytes() -> None:
    with serving("opensearch", done) as fake:
        send(fake, actions(25), max_actions=10, max_bytes=0)
        assert [len(ids(each)) for each in fake.bulks] == [10, 10, 5]
        fake.asked.clear()
        size = len(actions(1)[0].as_py())
        send(fake, actions(9), max_actions=0, max_bytes=3 * size + 1)
        assert [len(ids(each)) for each in fake.bulks] == [3, 3, 3]
        fake.asked.clear()
        send(fake, actions(3).slice(1), max_actions=0, max_bytes=1)
        assert [ids(each) for each in fake.bulks] == [["1"], ["2"]]


@pytest.mark.parametrize("status", [429, 503])
def test_only_what_was_refused_is_sent_again(status: int) -> None:
    with serving("opensearch", answering(statuses(_1=status, _3=status), statuses(_3=status), done)) as fake:
        send(fake, actions(5), backoff=OFTEN)
        assert [ids(each) for each in fake.bulks] == [["0", "1", "2", "3", "4"], ["1", "3"], ["3"]]


def test_whole_requests_are_sent_again() -> None:
    busy = answering(lambda _: (429, {"error": {"type": "busy", "reason": "later"}}), lambda _: (503, b"no"), done)
    with serving("opensearch", busy) as fake:
        send(fake, actions(2), backoff=OFTEN)
        assert [ids(each) for each in fake.bulks] == [["0", "1"]] * 3


QUICK = Backoff(3, 0.001)


def losing(count: int) -> Callable[[Asked], Answer]:
    """The connection ends in the middle of the first requests."""
    return answering(*[lambda _: (0, b"")] * count, done)


@pytest.mark.parametrize("name", ["index", "update"])
def test_a_lost_connection_is_tried_again_where_documents_have_ids(name: str) -> None:
    with serving("opensearch", losing(2)) as fake:
        send(fake, actions(3, name), reconnect=QUICK)
        assert [ids(each) for each in fake.bulks] == [["0", "1", "2"]] * 3


def test_a_lost_connection_is_not_tried_again_for_ever() -> None:
    with serving("opensearch", losing(9)) as fake:
        with pytest.raises(SearchError, match="OpenSearch does not answer"):
            send(fake, actions(3), reconnect=Backoff(1, 0.001))
        assert len(fake.bulks) == 4, "the client asks twice: a connection may have been closed long ago"


WITHOUT_ID = b'{"index":{"_index":"i"}}\n{"n":1}\n'


@pytest.mark.parametrize("often", [{"reconnect": QUICK}, {"backoff": OFTEN}])
@pytest.mark.parametrize("action", [WITHOUT_ID, b'{"create":{"_index":"i","_id":"1"}}\n{"n":1}\n'])
def test_what_may_have_been_taken_is_not_written_twice(action: bytes, often: dict[str, Any]) -> None:
    with serving("opensearch", losing(1)) as fake:
        with pytest.raises(SearchError, match="is not sent again, since documents without ids"):
            send(fake, pa.array([*actions(1).to_pylist(), action]), **often)
        assert len(fake.bulks) == 1
    with serving("opensearch", answering(lambda _: (504, b"too late"), done)) as fake:
        with pytest.raises(SearchError, match=r"HTTP 504: too late; .* is not sent again"):
            send(fake, pa.array([action]), backoff=OFTEN)
        assert len(fake.bulks) == 1


def test_without_ids_a_connection_that_never_was_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    with serving("opensearch", done) as fake:
        client = SearchClient(Place(OPENSEARCH, (f"http://127.0.0.1:{port}", fake.url)))
        Bulk(client, BulkSettings()).send(pa.array([WITHOUT_ID]))
        client.close()
        assert len(fake.bulks) == 1
    client = SearchClient(Place(OPENSEARCH, (f"http://127.0.0.1:{port}",)))
    with pytest.raises(SearchError, match="refused"):
        Bulk(client, BulkSettings(reconnect=QUICK)).send(pa.array([WITHOUT_ID]))
    client.close()
    assert caplog.text.count("; trying again") == 3


def test_it_is_not_sent_again_for_ever() -> None:
    with serving("opensearch", statuses(_1=429)) as fake:
        with pytest.raises(
            SearchError, match=r"document '1' of index 'i': rejected_execution_exception \(status 429\)"
        ):
            send(fake, actions(2), backoff=Backoff(2, 0.001))
        assert len(fake.bulks) == 3
        with pytest.raises(SearchError, match="status 429"):
            send(fake, actions(2))  # back-off is off


def test_a_wrong_document_fails_at_once() -> None:
    with serving("opensearch", statuses(_1=400)) as fake:
        with pytest.raises(SearchError, match=r"document '1' of index 'i': mapper_parsing_exception .*because of 400"):
            send(fake, actions(3), backoff=OFTEN)
        assert len(fake.bulks) == 1


def test_conflicts_are_done_or_errors() -> None:
    with serving("opensearch", statuses(_1=409)) as fake:
        send(fake, actions(3), conflicts_count=True)
        with pytest.raises(SearchError, match="version_conflict"):
            send(fake, actions(3))


def test_updates_that_met_another_one_are_sent_again() -> None:
    with serving("opensearch", answering(statuses(_1=409), done)) as fake:
        send(fake, actions(3, "update"), backoff=OFTEN)
        assert [ids(each) for each in fake.bulks] == [["0", "1", "2"], ["1"]]


def test_deleting_what_is_not_there_is_fine() -> None:
    error = {"type": "index_not_found_exception", "reason": "no such index [i]"}
    for item in ({"result": "not_found"}, {"error": error}):
        answer = {"errors": True, "items": [{"delete": {"_id": "1", "status": 404, **item}}]}
        with serving("opensearch", lambda _, answer=answer: (200, answer)) as fake:
            send(fake, pa.array([b'{"delete":{"_index":"i","_id":"1"}}\n']))


def test_an_answer_with_too_few_items_is_an_error() -> None:
    nothing = {"errors": True, "items": []}
    with serving("opensearch", lambda _: (200, nothing)) as fake, pytest.raises(SearchError, match="3 actions gave 0"):
        send(fake, actions(3))


def test_what_is_ignored_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with serving("opensearch", statuses(_1=400)) as fake:
        send(fake, actions(3), on_failure=handler_of("ignore"))
    assert "left out: document '1' of index 'i': mapper_parsing_exception" in caplog.text


def test_what_was_rejected_is_sent_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Callable[[Asked], Answer] = lambda _: (429, b"full")
    rejected = [statuses(_1=429)] * 5 + [whole] * 2
    with serving("opensearch", answering(*rejected, done)) as fake:
        send(fake, actions(3), backoff=Backoff(0, 0.001), on_failure=handler_of("retry-rejected"))
        assert len(fake.bulks) == 8
    monkeypatch.setattr(search_sink, "PATIENCE_SECONDS", 0.05)
    with serving("opensearch", statuses(_1=429)) as fake, pytest.raises(SearchError, match=r"refuses for 0\.05 s"):
        send(fake, actions(3), backoff=Backoff(0, 0.001), on_failure=handler_of("retry-rejected"))


SEEN: list[Failure] = []


def own_handler(failure: Failure) -> Verdict:
    SEEN.append(failure)
    return Verdict.IGNORE if failure.id == "1" else Verdict.FAIL


def test_a_handler_of_ones_own() -> None:
    SEEN.clear()
    handler = handler_of(f"{__name__}:own_handler")
    with serving("opensearch", statuses(_1=400, _2=403)) as fake, pytest.raises(SearchError, match="document '2'"):
        send(fake, actions(4), on_failure=handler)
    assert [(each.id, each.status, each.action) for each in SEEN] == [
        ("1", 400, b'{"index":{"_index":"i","_id":"1"}}\n{"n":1}\n'),
        ("2", 403, b'{"index":{"_index":"i","_id":"2"}}\n{"n":2}\n'),
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("skip", "fail, ignore, retry-rejected, or a function as module:function, not 'skip'"),
        ("nowhere:f", "cannot be found: No module named 'nowhere'"),
        ("os:nothing", "cannot be found"),
        ("os:sep", "is no function"),
    ],
)
def test_handlers_that_are_none(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        handler_of(name)


def test_back_off_grows_and_ends() -> None:
    assert [Backoff(5, 0.1, True).wait(n) for n in range(4)] == [0.1, 0.2, 0.4, 0.8]
    assert Backoff(5, 0.1).wait(4) == 0.1
    assert Backoff(50, 1, True).wait(49) == 60
