"""CommitRequest: what a committer can say about each committable."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from millrace.common.sink import CommitRequest, RequestCommitter


class Store(RequestCommitter[str]):
    """Commits ``name:n`` at the n-th retry; ``known`` and ``unknown`` never."""

    retry_delay_ms = 0

    def __init__(self) -> None:
        self.committed: list[tuple[str, int]] = []
        self.calls = 0

    def commit_requests(self, requests: Sequence[CommitRequest[str]]) -> None:
        self.calls += 1
        for request in requests:
            name, _, retries = request.get_committable().partition(":")
            if name == "known":
                request.signal_failed_with_known_reason(ValueError("too large"))
            elif name == "unknown":
                request.signal_failed_with_unknown_reason(ValueError("no idea"))
            elif name == "half":
                request.update_and_retry_later("rest")
            elif any(name == committed for committed, _ in self.committed):
                request.signal_already_committed()
            elif request.get_number_of_retries() < int(retries or 0):
                request.retry_later()
            else:
                self.committed.append((name, request.get_number_of_retries()))


def test_only_what_asks_for_it_is_retried() -> None:
    store = Store()
    store.commit(["a", "b:2", "c:1", "half"])
    assert store.committed == [("a", 0), ("c", 1), ("rest", 1), ("b", 2)]
    assert store.calls == 3
    store.commit(["a", "b:2"])
    assert store.calls == 4
    assert len(store.committed) == 4
    store.commit([])
    assert store.calls == 4


def test_a_known_reason_loses_the_committable_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    store.commit(["known", "a"])
    assert store.committed == [("a", 0)]
    assert "given up, its elements are lost: known" in caplog.text
    assert "too large" in caplog.text


def test_an_unknown_reason_fails_the_job() -> None:
    with pytest.raises(RuntimeError, match="failed to commit unknown") as failure:
        Store().commit(["unknown"])
    assert isinstance(failure.value.__cause__, ValueError)


def test_retries_come_to_an_end() -> None:
    store = Store()
    store.commit(["a:10"])
    assert store.committed == [("a", 10)]
    store.calls = 0
    with pytest.raises(RuntimeError, match="1 committables could not be committed in 10 retries, first: b:11"):
        store.commit(["b:11"])
    assert store.calls == 11
