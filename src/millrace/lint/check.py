"""Looks at jobs with the rules that are wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from millrace.lint.comments import is_ignored
from millrace.lint.facts.finding import Finding, place_of
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.lint.registry import RULES


@dataclass(frozen=True)
class Chosen:
    """Which rules are wanted, by their codes or names."""

    select: tuple[str, ...] = ()
    """only these; empty: all"""
    ignore: tuple[str, ...] = ()
    """not these"""

    def rules(self) -> list[Rule]:
        """The rules, in order.

        :raises ValueError: a word that is no rule.
        """
        known = {word for rule in RULES for word in (rule.code, rule.name)}
        for word in (*self.select, *self.ignore):
            if word not in known:
                codes = ", ".join(f"{rule.code} ({rule.name})" for rule in RULES)
                raise ValueError(f"{word!r} is no rule; there are {codes}")
        wanted = [rule for rule in RULES if not self.select or _is_named(rule, self.select)]
        return [rule for rule in wanted if not _is_named(rule, self.ignore)]


def _is_named(rule: Rule, words: Collection[str]) -> bool:
    return rule.code in words or rule.name in words


def findings(subjects: Iterable[Subject], chosen: Chosen = Chosen()) -> list[Finding]:
    """What the rules find in some jobs of a program: each once, by file and line, without those that a comment on
    their line ignores.

    :raises ValueError: a word that is no rule.
    """
    rules = chosen.rules()
    found = set()
    for subject in subjects:
        for rule in rules:
            for hit in rule.check(subject):
                if not is_ignored(hit.origin, rule.code, rule.name):
                    file, line = place_of(hit.origin)
                    found.add(Finding(file, line, rule.code, rule.name, hit.text, rule.cure))
    return sorted(found)
