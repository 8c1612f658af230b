"""Patterns as JSON and back, in the form of Flink's dynamic CEP: nodes, edges, window, strategy after a match."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from millrace.cep.json_conditions import Named
from millrace.cep.json_reading import pattern_of
from millrace.cep.json_writing import graph_of
from millrace.cep.pattern import Pattern
from millrace.runtime.cep.description import MalformedPatternException

__all__ = ["pattern_from_json", "pattern_to_json"]


def pattern_to_json(pattern: Pattern, conditions: Named | None = None, indent: int | None = None) -> str:
    """The pattern as text.

    :raises MalformedPatternException: a condition is a function that ``conditions`` gives no name to.
    """
    return json.dumps(graph_of(pattern, conditions or {}), indent=indent, ensure_ascii=False)


def pattern_from_json(given: str | Mapping[str, Any], conditions: Named | None = None) -> Pattern:
    """The pattern that a text (or what it was parsed to) describes.

    :raises MalformedPatternException: it is no pattern; what is wrong has its place with it.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_refuse, object_pairs_hook=_once)
        except RecursionError:
            raise MalformedPatternException("the text of the pattern is nested too deeply") from None
        except ValueError as error:
            raise MalformedPatternException(f"the text of the pattern is no JSON: {error}") from None
    return pattern_of(given, conditions or {})


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two fields with one name it would not be known which counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return found
