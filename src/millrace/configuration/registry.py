"""All configuration keys, and the check of settings.

A key has its declaration in Flink and its rule in Millrace. Wrong values, and keys that can't be ignored, are errors;
keys without effect and misspelt keys are reported. Deprecated keys lead to the new ones.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from millrace.common.configuration import (
    Configuration,
    split_list,
    to_boolean,
    to_bytes_count,
    to_double,
    to_duration,
    to_int,
    to_long,
    to_map,
)
from millrace.configuration import cluster_rules, job_rules
from millrace.configuration.own_options import OWN, OWN_FACTS
from millrace.configuration.rule import Effect, Fact, Rule, flink_facts
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask

TOPICS = (
    OWN,
    job_rules.JOB,
    job_rules.STATE,
    job_rules.TABLE,
    cluster_rules.CONTROL,
    job_rules.METRIC,
    cluster_rules.RESOURCE,
    cluster_rules.DEPLOYMENT,
    cluster_rules.SECURITY,
)
"""Topics of keys, in the order of the documentation page"""


@dataclass(frozen=True)
class Option:
    """A key with its declaration, its rule and its topic."""

    fact: Fact
    rule: Rule
    topic: str

    @property
    def key(self) -> str:
        return self.fact.key

    @property
    def type(self) -> str:
        """The type of the key's values: Flink's, or a wider one of Millrace."""
        return self.rule.takes or self.fact.type

    def is_as_here(self, value: str) -> bool:
        """Whether a value describes what Millrace does anyway."""
        same = self.rule.same or (self.fact.default,)
        return canonical(self.fact.type, value) in (canonical(self.fact.type, each) for each in same)


@cache
def options() -> dict[str, Option]:
    """Key -> option, in the order of the keys."""
    facts = sorted([*flink_facts(), *OWN_FACTS], key=lambda fact: fact.key)
    return {fact.key: Option(fact, *_decided(fact.key)) for fact in facts}


def _decided(key: str) -> tuple[Rule, str]:
    """The rule and topic of a key: an exact name beats a prefix, a longer prefix beats a shorter one."""
    rules = _rules()
    if key in rules:
        return rules[key]
    for length in range(len(key), 0, -1):
        if (rule := rules.get(f"{key[:length]}*")) is not None:
            return rule
    raise LookupError(
        f"nothing says what becomes of {key}: add it to millrace.configuration.job_rules or cluster_rules"
    )


@cache
def _rules() -> dict[str, tuple[Rule, str]]:
    return {key: (rule, topic.title) for topic in TOPICS for rule in topic.rules for key in rule.keys}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Keys with parts that the user chooses, the most specific first."""
    found = [key for key in options() if "<" in key]
    found.sort(key=lambda key: -len(re.sub(r"<[^>]*>", "", key)))
    return tuple((re.compile(_pattern(key)), key) for key in found)


def _pattern(key: str) -> str:
    return "".join(".+" if part.startswith("<") else re.escape(part) for part in re.split(r"(<[^>]*>)", key))


def find(key: str) -> Option | None:
    """The option of a key, found by its new or a deprecated name."""
    if (option := options().get(key)) is not None:
        return option
    if key in _newer():
        return options()[_newer()[key][0]]
    return next((options()[name] for pattern, name in _patterns() if pattern.fullmatch(key)), None)


@cache
def _newer() -> dict[str, tuple[str, ...]]:
    """Deprecated name -> keys that fall back on it."""
    found: dict[str, tuple[str, ...]] = {}
    for option in options().values():
        for name in option.fact.older:
            found[name] = (*found.get(name, ()), option.key)
    return found


def newer_names(key: str) -> tuple[str, ...]:
    """The keys that a deprecated name leads to."""
    return _newer().get(key, ())


def older_names(key: str) -> tuple[str, ...]:
    """Earlier names of a key, the newest first."""
    option = options().get(key)
    return () if option is None else option.fact.older


def with_new_names(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings in which each value of a deprecated key is also set under the new key, unless that is set itself."""
    found = dict(settings)
    for name in settings:
        for key in newer_names(name):
            if key not in settings:
                # Of several older names the newest counts.
                found[key] = next(settings[each] for each in older_names(key) if each in settings)
    return found


def known_names() -> Iterable[str]:
    """Candidates for a misspelt key: all keys without parts that the user chooses."""
    return (name for name in (*options(), *_newer()) if "<" not in name)


# Types of values

_PORTS = re.compile(r"none|\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*", re.IGNORECASE)


def _to_ports(text: str) -> str:
    if not _PORTS.fullmatch(text):
        raise ValueError(text)
    return text


_PARSERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "boolean": (to_boolean, "true or false"),
    "int": (to_int, "a whole number"),
    "long": (to_long, "a whole number"),
    "double": (to_double, "a number"),
    "float": (to_double, "a number"),
    "duration": (to_duration, "a span of time, as 500 ms, 10 s or 5 min"),
    "memory": (to_bytes_count, "a size, as 512 mb or 2 gb"),
    "ports": (_to_ports, "a port, a range as 8081-8090, or none"),
    "map": (to_map, "key:value pairs with commas between them"),
}
"""Type -> parser of its values, and their description in messages. All other types are text."""


def said(type_: str) -> str:
    """The values of a type, as part of a message."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return f"one of {', '.join(rest.split('|'))}"
    if kind == "list":
        return f"a list with ; between its parts, each {said(rest)}"
    return _PARSERS[type_][1] if type_ in _PARSERS else "text"


def short_name(type_: str) -> str:
    """A type in a word or two, or its possible values."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return ", ".join(f"`{value}`" for value in rest.split("|"))
    if kind == "list":
        return "list" if rest == "string" else f"list of {short_name(rest)}"
    return {"string": "text", "duration": "time", "memory": "size", "int": "number", "long": "number"}.get(
        type_, "number" if type_ in ("double", "float") else type_
    )


def values_of(type_: str) -> tuple[str, ...]:
    """All values of a type, if they are few."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return tuple(rest.split("|"))
    return ("true", "false") if type_ == "boolean" else ()


def is_of(type_: str, value: str) -> bool:
    """Whether a text is a valid value of a type."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return _word(value) in map(_word, rest.split("|"))
    if kind == "list":
        return all(is_of(rest, part) for part in split_list(value))
    if type_ not in _PARSERS:
        return True
    try:
        _PARSERS[type_][0](value.strip())
    except (ValueError, TypeError):
        return False
    return True


def canonical(type_: str, value: str) -> str:
    """The canonical text of a value, equal for equal values: ``1 min`` and ``60 s``, ``True`` and ``true``."""
    kind, _, rest = type_.partition(":")
    if kind == "list":
        return ";".join(canonical(rest, part) for part in split_list(value))
    if kind == "map" or type_ not in _PARSERS or not is_of(type_, value):
        return _word(value)
    return str(_PARSERS[type_][0](value.strip()))


def _word(value: str) -> str:
    return value.strip().lower().replace("-", "_")


# Checking settings

logger = logging.getLogger("millrace")

NAMED = 3
"""Number of keys without effect up to which the reasons are reported; more keys are reported by name only."""
ALIKE = 0.9
"""Similarity to a known key from which a key without any of Flink's prefixes counts as misspelt."""

_told: set[str] = set()
"""Keys that have been reported in this process."""


class ConfigurationError(ValueError):
    """A setting is wrong, or cannot be fulfilled."""


@dataclass
class Findings:
    """The result of a check of settings."""

    errors: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """key -> the similar key as text that begins with a comma, or empty"""
    without_effect: dict[str, str] = field(default_factory=dict)
    """key -> why it has no effect, and the nearest alternative"""


def check(settings: Mapping[str, str]) -> Findings:
    """Check settings. Keys that don't resemble Flink's are the user's own, and not reported."""
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
    """The error in a setting; None if it is right."""
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
    """Check settings, and report findings that are new in this process: misspelt keys one by one, the rest in one
    line.

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
    """Whether an unknown key begins like Flink's keys, or looks like a misspelt one."""
    return _family(key) in _families() or bool(difflib.get_close_matches(key, known_names(), 1, ALIKE))


def _family(key: str) -> str:
    return key.partition(".")[0]


def _families() -> set[str]:
    return {_family(key) for key in options() if "." in key}


# Settings of a program


def settled(configuration: Configuration) -> Configuration:
    """A checked copy in which values of deprecated keys are also set under the new keys.

    :raises ConfigurationError: a value that its key cannot have, or one that it would be wrong to ignore.
    """
    texts = configuration.to_dict()
    tell_about(texts)
    copy = Configuration(configuration)
    for key, value in with_new_names(texts).items():
        if not copy.contains_key(key):
            copy.set_string(key, value)
    return copy
