"""``StoreLookup``: base of look-ups in stores, which ask for many keys at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from millrace.connectors.stores.buffered import Buffering, Reachable, Retrying
from millrace.relational.sources import LookupTableSource

MOST = 2_000
"""keys that are asked for together"""

Found = Sequence[tuple[Any, ...]]
"""the rows of a key"""


def by_key(rows: Iterable[tuple[Any, ...]], places: Sequence[int], keys: Sequence[tuple[Any, ...]]) -> list[Found]:
    """The rows of each key; what has none of them is left out.

    :param places: of the key in the rows.
    """
    answers: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {key: [] for key in keys}
    for row in rows:
        key = tuple(row[place] for place in places)
        if key in answers:
            answers[key].append(row)
    return [answers[key] for key in keys]


class StoreLookup(LookupTableSource):
    """Finds rows by a connection that is kept, and replaced when it is lost.

    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(self, store: Reachable, options: Mapping[str, str], buffering: Buffering, most: int = MOST) -> None:
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._store = store
        self._buffering = buffering
        self._most = most
        self._retrying: Retrying | None = None

    @abstractmethod
    def ask(self, connection: Any, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        """The rows of each key, in the order of the keys."""

    def _asked(self, keys: Sequence[tuple[Any, ...]], connection: Any) -> Sequence[Found]:
        return self.ask(connection, keys)

    def described(self, error: Exception) -> Exception:
        """What the user is told when the store refuses."""
        return error

    def open(self) -> None:
        self._retrying = Retrying(self._store, self._buffering)

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Found]:
        assert self._retrying is not None, "open() comes first"
        found: list[Found] = []
        for begin in range(0, len(keys), self._most):
            some = keys[begin : begin + self._most]
            try:
                found += self._retrying.run(partial(self._asked, some))
            except (ImportError, ValueError, LookupError):
                raise
            except Exception as error:
                raise self.described(error) from error
        return found

    def close(self) -> None:
        if self._retrying is not None:
            self._retrying.close()
