"""All configuration keys: what Flink declares, and what becomes of it here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from millrace.configuration.declared.fact import Fact, flink_facts
from millrace.configuration.declared.rule import Rule
from millrace.configuration.declared.value_types import canonical
from millrace.configuration.rules import control, deployment, jobs, metrics, own, resources, security, state, tables

__all__ = ["Option", "TOPICS", "find", "newer_names", "older_names", "options", "with_new_names"]

TOPICS: tuple[ModuleType, ...] = (own, jobs, state, tables, control, metrics, resources, deployment, security)
"""Each has a TITLE and RULES."""


@dataclass(frozen=True)
class Option:
    """A key, and all that is known about it."""

    fact: Fact
    rule: Rule
    topic: str

    @property
    def key(self) -> str:
        return self.fact.key

    @property
    def type(self) -> str:
        """Of its values here: Flink's, or a wider one."""
        return self.rule.takes or self.fact.type

    def is_as_here(self, value: str) -> bool:
        """Whether a value says what happens anyway."""
        same = self.rule.same or (self.fact.default,)
        return canonical(self.fact.type, value) in (canonical(self.fact.type, each) for each in same)


@cache
def options() -> dict[str, Option]:
    """Key -> option, in the order of the keys."""
    facts = sorted([*flink_facts(), *own.FACTS], key=lambda fact: fact.key)
    return {fact.key: Option(fact, *_decided(fact.key)) for fact in facts}


def _decided(key: str) -> tuple[Rule, str]:
    """The rule for a key and its topic: one that names it counts more than one for many, a longer beginning more than
    a shorter one."""
    rules = _rules()
    if key in rules:
        return rules[key]
    for length in range(len(key), 0, -1):
        if (rule := rules.get(f"{key[:length]}*")) is not None:
            return rule
    raise LookupError(f"nothing says what becomes of {key}: add it to millrace.configuration.rules")


@cache
def _rules() -> dict[str, tuple[Rule, str]]:
    return {key: (rule, topic.TITLE) for topic in TOPICS for rule in topic.RULES for key in rule.keys}


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Keys of which parts are the user's; those that say most come first."""
    found = [key for key in options() if "<" in key]
    found.sort(key=lambda key: -len(re.sub(r"<[^>]*>", "", key)))
    return tuple((re.compile(_pattern(key)), key) for key in found)


def _pattern(key: str) -> str:
    return "".join(".+" if part.startswith("<") else re.escape(part) for part in re.split(r"(<[^>]*>)", key))


def find(key: str) -> Option | None:
    """What is known about a key, under its new name or an older one."""
    if (option := options().get(key)) is not None:
        return option
    if key in _newer():
        return options()[_newer()[key][0]]
    return next((options()[name] for pattern, name in _patterns() if pattern.fullmatch(key)), None)


@cache
def _newer() -> dict[str, tuple[str, ...]]:
    """Older name -> the keys that fall back on it."""
    found: dict[str, tuple[str, ...]] = {}
    for option in options().values():
        for name in option.fact.older:
            found[name] = (*found.get(name, ()), option.key)
    return found


def newer_names(key: str) -> tuple[str, ...]:
    """The keys that an older name leads to."""
    return _newer().get(key, ())


def older_names(key: str) -> tuple[str, ...]:
    """Names that a key had once; the newest comes first."""
    option = options().get(key)
    return () if option is None else option.fact.older


def with_new_names(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings, and each value of an older name under the new one, too, unless that is there itself."""
    found = dict(settings)
    for name in settings:
        for key in newer_names(name):
            if key not in settings:
                # Of several older names the newest counts.
                found[key] = next(settings[each] for each in older_names(key) if each in settings)
    return found


def known_names() -> Iterable[str]:
    """Keys that a user may have meant: all but those with parts of one's own."""
    return (name for name in (*options(), *_newer()) if "<" not in name)
