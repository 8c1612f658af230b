"""``PatternProcessor``: a pattern as data, with its id, its version and who hears of its matches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from millrace.cep.json_conditions import Named, fields
from millrace.cep.json_form import pattern_to_json
from millrace.cep.pattern import Pattern
from millrace.common.types import Row
from millrace.runtime.cep.updates import PatternUpdate, PatternUpdates

__all__ = ["PatternProcessor"]

_FIELDS = ("id", "version", "pattern", "function")


class PatternProcessor:
    """A version of a pattern.

        >>> processor = PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))
        >>> processor.get_id(), processor.get_version()
        ('large', 1)

    :param pattern: a Pattern or its text in JSON; None: the pattern is not looked for any more.
    :param function: the name of the function that hears of its matches, where there are several.
    :param conditions: names of the conditions, for a Pattern.
    :raises MalformedPatternException: a Pattern has a condition without a name.
    """

    def __init__(
        self,
        id: str,
        version: int,
        pattern: Pattern | str | Mapping[str, Any] | None,
        function: str | None = None,
        conditions: Named | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise TypeError(f"the id of a pattern is a text, not {id!r}")
        if isinstance(version, bool) or not isinstance(version, int):
            raise TypeError(f"the version of pattern {id!r} is a whole number, not {version!r}")
        if function is not None and not isinstance(function, str):
            raise TypeError(f"the function of pattern {id!r} is given by its name, not as {function!r}")
        if isinstance(pattern, Pattern):
            pattern = pattern_to_json(pattern, conditions)
        elif isinstance(pattern, Mapping):
            pattern = json.dumps(pattern)
        elif pattern is not None and not isinstance(pattern, str):
            raise TypeError(f"pattern {id!r} is a Pattern or JSON, not {pattern!r}")
        self._update = PatternUpdate(id, version, pattern, function or "")

    def get_id(self) -> str:
        """The name under which versions replace each other."""
        return self._update.id

    def get_version(self) -> int:
        """The number of the version."""
        return self._update.version

    def get_pattern(self) -> str | None:
        """The text of the pattern."""
        return self._update.pattern

    def get_function(self) -> str | None:
        """The name of the function that hears of its matches."""
        return self._update.function or None

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PatternProcessor) and self._update == other._update

    def __hash__(self) -> int:
        return hash(self._update)

    def __repr__(self) -> str:
        return f"PatternProcessor({self._update.id!r}, version {self._update.version})"


def updates_of(message: Any) -> PatternUpdates:
    """What a message says: processors, or rows, objects or JSON with id, version, pattern and function.

    :raises ValueError: it is none of these.
    """
    if isinstance(message, PatternUpdates):
        return message
    return PatternUpdates((_processor(message)._update,))


def _processor(message: Any) -> PatternProcessor:
    if isinstance(message, PatternProcessor):
        return message
    if isinstance(message, (str, bytes)):
        message = json.loads(message)
    if isinstance(message, Row):
        named = message._fields is not None
        message = message.as_dict() if named else list(message)
    if isinstance(message, (tuple, list)) and len(message) in (len(_FIELDS) - 1, len(_FIELDS)):
        message = dict(zip(_FIELDS, message))
    given = fields(message, "a message about patterns", _FIELDS)
    try:
        return PatternProcessor(given["id"], given["version"], given.get("pattern"), given.get("function"))
    except KeyError as error:
        raise ValueError(f"a message about patterns has {', '.join(_FIELDS)}; {error} is missing") from None
