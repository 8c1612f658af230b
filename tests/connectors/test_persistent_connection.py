"""A connection that lasts from epoch to epoch, and is replaced once where the other side has closed it."""

from __future__ import annotations

import pytest

from millrace.connectors.sink_base import PersistentConnection


class Store:
    """Hands out connections that can be broken, and writes down what was done."""

    def __init__(self) -> None:
        self.opened: list[Connection] = []
        self.broken: set[int] = set()
        self.done: list[tuple[int, str]] = []

    def connect(self) -> Connection:
        self.opened.append(Connection(self, len(self.opened)))
        return self.opened[-1]


class Connection:
    def __init__(self, store: Store, number: int) -> None:
        self.store, self.number, self.closed = store, number, False

    def write(self, what: str) -> None:
        if self.number in self.store.broken:
            raise ConnectionError(f"connection {self.number} is gone")
        self.store.done.append((self.number, what))

    def close(self) -> None:
        self.closed = True
        if self.number in self.store.broken:
            raise ConnectionError("it cannot even be closed")


def test_it_is_opened_when_it_is_used_and_stays() -> None:
    store = Store()
    kept = PersistentConnection(store.connect)
    assert (store.opened, kept.settled()) == ([], None)
    kept.use(lambda each: each.write("a"))
    assert kept.settled() is store.opened[0]
    assert kept.settled() is None
    kept.use(lambda each: each.write("b"))
    assert store.done == [(0, "a"), (0, "b")]
    kept.close()
    kept.close()
    assert store.opened[0].closed
    kept.use(lambda each: each.write("c"))
    assert store.done[-1] == (1, "c")


def test_one_that_has_gone_between_epochs_is_replaced_once() -> None:
    store = Store()
    kept = PersistentConnection(store.connect)
    kept.use(lambda each: each.write("a"))
    kept.settled()
    store.broken = {0}
    kept.use(lambda each: each.write("b"))
    assert (store.done, store.opened[0].closed) == ([(0, "a"), (1, "b")], True)
    kept.settled()
    store.broken = {1, 2}
    with pytest.raises(ConnectionError, match="connection 2 is gone"):
        kept.use(lambda each: each.write("c"))


@pytest.mark.parametrize("uses", [0, 1])
def test_one_that_fails_when_it_is_new_or_has_unsettled_work_is_not(uses: int) -> None:
    store = Store()
    kept = PersistentConnection(store.connect)
    for _ in range(uses):
        kept.use(lambda each: each.write("a"))
    store.broken = {0}
    with pytest.raises(ConnectionError, match="connection 0 is gone"):
        kept.use(lambda each: each.write("b"))
    assert len(store.opened) == 1
