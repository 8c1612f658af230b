"""Checks settings: wrong values and what can't be ignored are errors, what does nothing is told, typing errors too."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.configuration.declared.rule import Effect
from millrace.configuration.declared.value_types import is_of, said
from millrace.configuration.registry import Option, find, known_names, options
from millrace.util.secrets import mask
from millrace.util.similar import did_you_mean

__all__ = ["ConfigurationError", "Findings", "check", "problem_with", "tell_about"]

logger = logging.getLogger("millrace")

NAMED = 3
"""So many keys without effect are told with the reasons; more of them with their names only."""
ALIKE = 0.9
"""How much like a known key one is that begins in no way of Flink's, and is a typing error nevertheless."""

_told: set[str] = set()
"""Keys that this process has been told about."""


class ConfigurationError(ValueError):
    """A setting that is wrong, or that can't be followed."""


@dataclass
class Findings:
    """What there is to say about settings."""

    errors: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """key -> what may have been meant, as text that goes on with a comma, or empty"""
    without_effect: dict[str, str] = field(default_factory=dict)
    """key -> why it does nothing, and what is nearest"""


def check(settings: Mapping[str, str]) -> Findings:
    """Look at settings. Keys that aren't like Flink's are the user's own: nothing is said about them."""
    found = Findings()
    for key, value in settings.items():
        option = find(key)
        if option is None:
            if _is_meant_for_us(key):
                found.unknown[key] = did_you_mean(key, known_names())
        elif (problem := _problem(key, option, value)) is not None:
            found.errors.append(problem)
        elif option.rule.effect is Effect.IGNORED and not option.is_as_here(value):
            found.without_effect[key] = option.rule.note
    return found


def problem_with(key: str, value: str) -> str | None:
    """What is wrong with a setting, if anything is."""
    option = find(key)
    return None if option is None else _problem(key, option, value)


def _problem(key: str, option: Option, value: str) -> str | None:
    shown = mask(key, repr(value))
    # Of a key that does nothing any value will do: Flink's own files have -1 for a span of time.
    if option.rule.effect is not Effect.IGNORED and not is_of(option.type, value):
        return f"wrong value {shown} for key '{key}': expected is {said(option.type)}"
    if option.rule.effect is Effect.REFUSED and not option.is_as_here(value):
        return f"{key} = {mask(key, value)} is refused: {option.rule.note}"
    return None


def tell_about(settings: Mapping[str, str]) -> None:
    """Check settings, and say what is new to this process: typing errors one by one, the rest in one line.

    :raises ConfigurationError: a value that its key cannot have, or one that it would be wrong to ignore.
    """
    found = check(settings)
    if found.errors:
        raise ConfigurationError("\n".join(found.errors))
    for key, meant in found.unknown.items():
        if key not in _told:
            logger.warning("there is no configuration key %s%s", key, meant)
    new = {key: why for key, why in found.without_effect.items() if key not in _told}
    if 0 < len(new) <= NAMED:
        logger.warning("no effect here: %s", "; ".join(f"{key} ({why})" for key, why in new.items()))
    elif new:
        logger.warning("no effect here (docs/configuration.md says why): %s", ", ".join(sorted(new)))
    _told.update(found.unknown, new)


def _is_meant_for_us(key: str) -> bool:
    """Whether an unknown key begins like Flink's, or looks like one that is misspelt."""
    return _family(key) in _families() or bool(difflib.get_close_matches(key, known_names(), 1, ALIKE))


def _family(key: str) -> str:
    return key.partition(".")[0]


def _families() -> set[str]:
    return {_family(key) for key in options() if "." in key}
