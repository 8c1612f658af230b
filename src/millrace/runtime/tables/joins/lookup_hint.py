"""The options of a LOOKUP hint and of the session that control look-ups in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.common.configuration import to_boolean, to_duration, to_int

MODES = ("ordered", "allow_unordered")
_TIMEOUT = "table.exec.async-lookup.timeout"
_CAPACITY = "table.exec.async-lookup.buffer-capacity"


@dataclass(frozen=True)
class Retry:
    """How to retry keys without rows, which may still be on their way."""

    attempts: int
    pause: float
    """pause between two attempts (s)"""

    @staticmethod
    def of(hint: Mapping[str, str]) -> Retry | None:
        """Made from the options of a LOOKUP hint; None: no retries.

        :raises ValueError: an option has an invalid value.
        """
        if hint.get("retry-predicate") is None:
            return None
        if hint["retry-predicate"].lower() != "lookup_miss":
            raise ValueError(f"'retry-predicate' of a LOOKUP hint is lookup_miss, not {hint['retry-predicate']}")
        if hint.get("retry-strategy", "fixed_delay").lower() != "fixed_delay":
            raise ValueError(f"'retry-strategy' of a LOOKUP hint is fixed_delay, not {hint['retry-strategy']}")
        missing = [name for name in ("fixed-delay", "max-attempts") if name not in hint]
        if missing:
            raise ValueError(f"a LOOKUP hint with 'retry-predicate' needs '{missing[0]}', too")
        return Retry(_positive("max-attempts", hint["max-attempts"]), _seconds("fixed-delay", hint["fixed-delay"]))


@dataclass(frozen=True)
class LookupHint:
    """How look-ups in a table are made.

    :ivar timeout: time limit (s) for the rows of a batch, with all attempts; None: no limit. :ivar capacity: the most
        concurrent requests; None: the table's default. :ivar shuffle: whether rows with equal keys are sent to one
        subtask.
    """

    retry: Retry | None = None
    timeout: float | None = None
    capacity: int | None = None
    shuffle: bool = False

    @staticmethod
    def of(hint: Mapping[str, str], session: Mapping[str, str] | None = None) -> LookupHint:
        """Made from the options of a hint. 'output-mode' has no effect, since rows stay in their order anyway.

        :param session: the session's configuration, which applies where the hint has no option.
        :raises ValueError: an option of the hint has an invalid value.
        """
        asynchronous, shuffle = (_flag(name, hint) for name in ("async", "shuffle"))
        mode = hint.get("output-mode", MODES[0]).lower()
        if mode not in MODES:
            raise ValueError(f"'output-mode' of a LOOKUP hint is {' or '.join(MODES)}, not {hint['output-mode']}")
        around = {} if session is None else session
        timeout = hint.get("timeout", around.get(_TIMEOUT))
        capacity = hint.get("capacity", around.get(_CAPACITY))
        found = LookupHint(
            Retry.of(hint),
            None if timeout is None else _seconds("timeout", timeout),
            None if capacity is None else _positive("capacity", capacity),
            shuffle is True,
        )
        if asynchronous is False:  # as in Flink the rest of it is about asynchronous calls
            return LookupHint(found.retry, shuffle=found.shuffle)
        return found


def _flag(name: str, hint: Mapping[str, str]) -> bool | None:
    if name not in hint:
        return None
    try:
        return to_boolean(hint[name])
    except ValueError:
        raise ValueError(f"'{name}' of a LOOKUP hint is true or false, not {hint[name]}") from None


def _positive(name: str, text: str) -> int:
    try:
        found = to_int(text)
    except ValueError:
        found = 0
    if found <= 0:
        raise ValueError(f"'{name}' of a LOOKUP hint is a number above 0, not {text}")
    return found


def _seconds(name: str, text: str) -> float:
    try:
        return to_duration(text).to_millis() / 1000
    except ValueError as error:
        raise ValueError(f"'{name}' of a LOOKUP hint: {error}") from None
