"""``HttpLookup``: the rows of keys, by requests of which several are under way at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.connectors.http.caller import Caller, HttpError, HttpRequest
from millrace.connectors.http.key_answers import KeyAnswers, Unreadable
from millrace.connectors.http.key_requests import KeyRequests
from millrace.connectors.http.session import Session
from millrace.connectors.http.settings import CallSettings
from millrace.relational.sources import LookupTableSource

logger = logging.getLogger(__name__)

Row = tuple[Any, ...]


class HttpLookup(LookupTableSource):
    """
    :param concurrency: requests that may be under way at once, unless a hint says another number.
    :param goes_on: whether a row of NULLs stands for what could not be had, with the reason in metadata columns.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        settings: CallSettings,
        requests: KeyRequests,
        answers: KeyAnswers,
        concurrency: int,
        goes_on: bool,
        options: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._requests = requests
        self._answers = answers
        self._concurrency = concurrency
        self._goes_on = goes_on
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._session: Session | None = None

    def open(self) -> None:
        self._session = Session(self._settings, self.capacity or self._concurrency)

    def lookup(self, keys: Sequence[Row]) -> Iterable[Sequence[Row]]:
        assert self._session is not None, "open() comes first"
        calls = [(request, places, [keys[place] for place in places]) for request, places in self._requests.of(keys)]
        found: list[Sequence[Row]] = [()] * len(keys)
        for (_, places, _), rows in zip(calls, self._session.all(self._ask, calls)):
            for place, each in zip(places, rows):
                found[place] = each
        return found

    async def _ask(self, caller: Caller, call: tuple[HttpRequest, range, Sequence[Row]]) -> list[list[Row]]:
        request, _, asked = call
        answer = None
        try:
            answer = await caller.call(request)
            return self._answers.rows(asked, answer)
        except (HttpError, Unreadable) as error:
            if self._goes_on:
                logger.debug("%s: %s; the job goes on", request, error)
            elif isinstance(error, HttpError):
                raise
            else:
                raise ValueError(f"{request}: {error}") from error
            return [[self._answers.failed(error, answer)] for _ in asked]

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
