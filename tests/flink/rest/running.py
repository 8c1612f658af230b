"""Sending requests in their order, where one may need what the answer to another one said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from tests.flink.rest.answer import NOT_ASKED, Answer, answer_of
from tests.flink.rest.ask import Ask, Request, request_of
from tests.flink.rest.send import Answered, at, send_until
from tests.flink.rest.world import NoValue

NOT_KEPT = "there is no kept."
"""the beginning of why: an answer before did not bring what the request needs"""


class Values(Protocol):
    """Where the values of references come from; the real world, or that of a test."""

    def value(self, name: str) -> str: ...

    def keep(self, name: str, value: object) -> None: ...

    def file(self, name: str) -> tuple[str, bytes]: ...


def ask_all(asks: Iterable[Ask], bases: Mapping[str, str], values: Values) -> Iterator[tuple[Ask, Answer]]:
    """Each request with its answer, from the servers that there are."""
    for ask in asks:
        if ask.surface in bases:
            yield ask, _ask(ask, bases[ask.surface], values)


def _ask(ask: Ask, base: str, values: Values) -> Answer:
    def request(page: str) -> Request:
        return request_of(ask, lambda name: page if name == "next" else values.value(name), values.file)

    try:
        answered: Answered = send_until(base, request, ask.until)
    except NoValue as error:
        for name in ask.keep:
            values.keep(name, None)
        return Answer(NOT_ASKED, why=f"there is no {error}")
    except OSError as error:
        return Answer(NOT_ASKED, why=f"no answer: {type(error).__name__}")
    for name, place in ask.keep.items():
        values.keep(name, at(answered.body, place))
    return answer_of(ask, answered)
