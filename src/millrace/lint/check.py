"""Applies rules to jobs: all rules by code, the project's selection, and comments that suppress a finding.

A project chooses in ``[tool.millrace.lint]`` of pyproject.toml. The comment ``# millrace: ignore[ML003]`` ignores one
rule, ``# millrace: ignore`` all rules.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.lint import function_rules, job_rules, state_rules
from millrace.lint.facts import Finding, Rule, Subject, place_of
from millrace.lint.user_code import tree_of_file

# Comments

_COMMENT = re.compile(r"#.*?\bmillrace:\s*ignore(?:\[(?P<rules>[^\]]*)\])?")


def is_ignored(origin: str, code: str, name: str) -> bool:
    """Whether the finding's line, or another line of the same simple statement, has a comment that suppresses it."""
    file, _, line = origin.rpartition(":")
    if not line.isdigit():
        return False
    return any({"*", code, name} & _ignored(linecache.getline(file, each)) for each in _lines(file, int(line)))


def _ignored(text: str) -> set[str]:
    found = _COMMENT.search(text)
    if found is None:
        return set()
    rules = found["rules"]
    return {"*"} if rules is None else {each.strip() for each in rules.split(",")}


def _lines(file: str, line: int) -> Iterator[int]:
    yield line
    tree = tree_of_file(file)
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.stmt) and not hasattr(each, "body") and not isinstance(each, ast.Match):
            lines = range(each.lineno, (each.end_lineno or each.lineno) + 1)
            yield from lines if line in lines else ()


# All rules

RULES: tuple[Rule, ...] = (
    state_rules.GROWING_STATE,
    state_rules.GROWING_TABLES,
    function_rules.RANDOM_KEY,
    job_rules.NO_WATERMARKS,
    function_rules.LARGE_CLOSURE,
    function_rules.BLOCKING_CALL,
    state_rules.NO_UID,
    job_rules.NEEDLESS_EXCHANGE,
    job_rules.NO_CHECKPOINTS,
    job_rules.ONE_SUBTASK,
    job_rules.LOST_RESULTS,
    function_rules.OUTER_VARIABLE,
    state_rules.ATTRIBUTE_STATE,
    job_rules.JOB_IN_LOOP,
)


# Findings


@dataclass(frozen=True)
class Chosen:
    """A selection of rules, by codes or names."""

    select: tuple[str, ...] = ()
    """rules to apply; empty: all"""
    ignore: tuple[str, ...] = ()
    """rules to leave out"""

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
    """The findings in some jobs of a program, without duplicates, sorted by file and line, without suppressed ones.

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


# pyproject.toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("select", "ignore")


def project_settings(folder: Path) -> Chosen:
    """The selection in the nearest pyproject.toml above a folder; all rules if there is none.

    :raises ValueError: it is wrong; the text names the file.
    """
    files = (each / "pyproject.toml" for each in (folder, *folder.parents))
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return Chosen()
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("millrace", {}).get("lint", {})
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from None
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise ValueError(f"{file}: [tool.millrace.lint] has {' and '.join(_KEYS)}, and no {unknown[0]!r}")
    chosen = Chosen(*(_words(file, table, key) for key in _KEYS))
    try:
        chosen.rules()
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return chosen


def _words(file: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    words = table.get(key, [])
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        raise ValueError(f"{file}: {key} of [tool.millrace.lint] is a list of rules, such as ['ML003']")
    return tuple(words)
