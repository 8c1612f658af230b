"""All configuration keys (what Flink declares, and what becomes of it here), and the check of settings: wrong values
and what can't be ignored are errors; what does nothing is reported, and so are typing errors. Older names of keys
lead to the new ones.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from millrace.common.configuration import Configuration
from millrace.configuration import cluster_rules, job_rules
from millrace.configuration.own_options import OWN_FACTS
from millrace.configuration.rule import Effect, Fact, Rule, canonical, flink_facts, is_of, said
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask

TOPICS = (
    job_rules.OWN,
    job_rules.JOB,
    job_rules.STATE,
    job_rules.TABLE,
    cluster_rules.CONTROL,
    job_rules.METRIC,
    cluster_rules.RESOURCE,
    cluster_rules.DEPLOYMENT,
    cluster_rules.SECURITY,
)
"""in the order of the page"""


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
    facts = sorted([*flink_facts(), *OWN_FACTS], key=lambda fact: fact.key)
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
    raise LookupError(
        f"nothing says what becomes of {key}: add it to millrace.configuration.job_rules or cluster_rules"
    )


@cache
def _rules() -> dict[str, tuple[Rule, str]]:
    return {key: (rule, topic.title) for topic in TOPICS for rule in topic.rules for key in rule.keys}


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


# Checking settings

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


# Settings of a program


def settled(configuration: Configuration) -> Configuration:
    """A copy in which each value of an older name is there under the new one, too.

    :raises ConfigurationError: a value that its key cannot have, or one that it would be wrong to ignore.
    """
    texts = configuration.to_dict()
    tell_about(texts)
    copy = Configuration(configuration)
    for key, value in with_new_names(texts).items():
        if not copy.contains_key(key):
            copy.set_string(key, value)
    return copy
