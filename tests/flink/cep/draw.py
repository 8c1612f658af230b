"""Patterns and events drawn at random, as cases for Flink: a profile says which features they lean to."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

LETTERS = "abcd"
COMPARISONS = ("<", "<=", ">", ">=", "!=")
Case = dict[str, Any]
Calls = list[list[Any]]


@dataclass(frozen=True)
class Profile:
    """How likely a drawn pattern has each feature."""

    name: str
    stages: tuple[int, ...] = (2, 3, 3, 4)
    loop: float = 0.0
    """that a stage has a quantifier"""
    greedy: float = 0.0
    """that a loop is greedy"""
    group: float = 0.0
    """that a stage is a group"""
    nested: float = 0.0
    """that a stage of a group is a group"""
    negated: float = 0.0
    until: float = 0.0
    """that a loop without an upper bound has an end"""
    window: float = 0.0
    """that a quantifier has a window"""
    within: float = 0.0
    step: float = 0.0
    """that a window is one between two steps"""
    iterative: float = 0.0
    skip: float = 0.0
    extra: float = 0.1
    """that a condition is more than a name"""
    watermarks: tuple[int | None, ...] = (0, 0, 0, None, 1000)
    unordered: float = 0.0
    equal: float = 0.1
    """that two events have one timestamp"""
    processing: float = 0.0
    keyed: float = 0.1
    comparator: float = 0.0


PROFILES = (
    Profile("contiguity", stages=(1, 2, 3, 3, 4)),
    Profile("loops", loop=0.7),
    Profile("negation", stages=(3, 3, 4), negated=0.45, loop=0.2, within=0.6),
    Profile("until", loop=0.8, until=0.8),
    Profile("within", loop=0.35, within=0.95, step=0.45),
    Profile("iterative", loop=0.6, iterative=0.7),
    Profile("skips", loop=0.7, skip=0.95),
    Profile(
        "time", loop=0.3, unordered=0.5, watermarks=(0, 1000, 2000), equal=0.3, comparator=0.4, keyed=0.3, within=0.4
    ),
    Profile("processing", loop=0.4, within=0.5, processing=1.0),
    Profile("greedy", stages=(2, 2, 3, 3), loop=0.8, greedy=0.85),
    Profile(
        "greedy-more", loop=0.7, greedy=0.7, negated=0.15, within=0.4, step=0.3, skip=0.3, until=0.2, iterative=0.15
    ),
    Profile("groups", stages=(1, 2, 2, 3), group=0.6, loop=0.6),
    Profile("groups-more", stages=(1, 2, 2, 3), group=0.6, nested=0.25, loop=0.6, within=0.3, skip=0.3, until=0.2),
    Profile("groups-greedy", stages=(1, 2, 2, 3), group=0.5, loop=0.7, greedy=0.4, nested=0.1),
    Profile("windows", loop=0.9, window=0.8, within=0.2),
    Profile("windows-more", loop=0.9, window=0.6, within=0.3, greedy=0.3, group=0.2, skip=0.2),
    Profile(
        "all", loop=0.6, greedy=0.3, group=0.25, nested=0.15, negated=0.12, until=0.3, window=0.2, within=0.4, step=0.3,
        iterative=0.2, skip=0.3, unordered=0.2, keyed=0.2, comparator=0.1,
    ),
)  # fmt: skip


def draw(profile: Profile, seed: int) -> Case:
    """A case without its answer; the same for the same seed."""
    return drawn(profile, random.Random(f"{profile.name} {seed}"), f"{profile.name}-{seed:04}")


def drawn(profile: Profile, rng: random.Random, name: str) -> Case:
    """A case without its answer, by these random numbers."""
    maker = _Maker(rng, profile)
    pattern = maker.chain(rng.choice(profile.stages), 0)
    case: Case = {"id": name, "events": [], "pattern": pattern}
    case["skip"] = maker.skip() if rng.random() < profile.skip else None
    case["time"] = "processing" if rng.random() < profile.processing else "event"
    case["keyed"] = rng.random() < profile.keyed
    delay = rng.choice(profile.watermarks)
    if delay is not None and case["time"] == "event":
        case["delay"] = delay
    if rng.random() < profile.comparator and case["time"] == "event":
        case["comparator"] = "price"
    case["events"] = maker.events(case)
    return case


class _Maker:
    def __init__(self, rng: random.Random, profile: Profile) -> None:
        self.rng, self.profile = rng, profile
        self.names: list[str] = []
        self.used: list[str] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- patterns -----------------------------------------------------------------------------------------------------

    def chain(self, count: int, depth: int) -> Calls:
        calls: Calls = []
        limited = depth == 0 and self.chance(self.profile.within)
        at_stage = self.rng.randrange(count) if self.chance(0.3) else count - 1
        for at in range(count):
            calls += self.stage(at, at == count - 1, depth, limited)
            if limited and at == at_stage:
                calls.append(self.within())
        return calls

    def stage(self, at: int, last: bool, depth: int, limited: bool) -> Calls:
        profile, rng = self.profile, self.rng
        if at > 0 and self.chance(profile.negated) and (not last or limited or self.chance(0.4)):
            return self.single(rng.choice(("notNext", "notFollowedBy", "notFollowedBy")), False)
        way = "begin" if at == 0 else rng.choice(("next", "followedBy", "followedBy", "followedByAny"))
        if self.chance(profile.group if depth == 0 else profile.nested) and depth < 2:
            inner = self.chain(rng.choice((1, 2, 2, 2, 3)), depth + 1)
            return [[way, inner], *(self.quantifier(True) if self.chance(max(profile.loop, 0.5)) else [])]
        return self.single(way, self.chance(profile.loop))

    def single(self, way: str, loop: bool) -> Calls:
        name = f"p{len(self.names)}"
        calls: Calls = [[way, name], *self.wheres(name)]
        self.names.append(name)
        if loop:
            calls += self.quantifier(False)
        elif not way.startswith("not") and self.chance(0.12 if self.profile.loop else 0.0):
            calls.append(["optional"])
        return calls

    def wheres(self, name: str) -> Calls:
        fresh = [letter for letter in LETTERS if letter not in self.used]
        letter = self.rng.choice(fresh if fresh and self.chance(0.75) else LETTERS)
        self.used.append(letter)
        calls: Calls = [["where", ["name", letter]]]
        if self.chance(self.profile.extra):
            calls.append(self.more(letter))
        if self.chance(self.profile.iterative):
            calls.append(["where", self.over_matched(name)])
        return calls

    def more(self, letter: str) -> list[Any]:
        bound = self.rng.randrange(2, 11)
        price = ["price", self.rng.choice(COMPARISONS), bound]
        other = self.rng.choice(LETTERS)
        return self.rng.choice(
            (
                ["where", price],
                ["or", ["name", other]],
                ["or", ["and", ["name", other], price]],
                ["subtype", "Big"],
                ["where", ["not", ["and", ["name", letter], price]]],
                ["where", ["or", ["ts", "<", 6000], price]],
            )
        )

    def over_matched(self, name: str) -> list[Any]:
        about = self.rng.choice([name, name, *self.names])
        kind = self.rng.choice(("last", "first", "avg", "count", "sum"))
        if kind == "count":
            return ["count", about, self.rng.choice(("<", "<=", ">", "!=")), self.rng.randrange(4)]
        if kind == "sum":
            return ["sum", about, self.rng.choice(("<", ">", "<=")), self.rng.randrange(5, 30)]
        return [kind, about, self.rng.choice(COMPARISONS)]

    def quantifier(self, group: bool) -> Calls:
        rng, profile = self.rng, self.profile
        low = rng.randrange(1, 4)
        loop: list[Any] = rng.choice(
            (
                ["oneOrMore"],
                ["oneOrMore"],
                ["times", low],
                ["times", low, low + rng.randrange(1, 3)],
                ["timesOrMore", low],
            )
        )
        if self.chance(profile.window):
            loop = [*loop, {"ms": rng.choice((1000, 1500, 2000, 3000, 5000))}]
        calls: Calls = [loop]
        open_ended = loop[0] != "times"
        if self.chance(0.2):
            calls.append(["optional"])
        kind = rng.random()
        if not group and self.chance(profile.greedy):
            calls.append(["greedy"])
            if kind < 0.3:
                calls.insert(1, ["consecutive"])
        elif kind < 0.25:
            calls.append(["consecutive"])
        elif kind < 0.5:
            calls.append(["allowCombinations"])
        if open_ended and self.chance(profile.until):
            letter = rng.choice(LETTERS)
            calls.append(["until", rng.choice((["name", letter], ["and", ["name", letter], ["price", "<", 7]]))])
        return calls

    def within(self) -> list[Any]:
        size = self.rng.choice((1500, 2000, 3000, 4000, 5000, 8000))
        return ["within", size, "PREVIOUS_AND_CURRENT"] if self.chance(self.profile.step) else ["within", size]

    def skip(self) -> list[Any]:
        kind = self.rng.choice(("skipToNext", "skipPastLastEvent", "skipToFirst", "skipToLast", "noSkip"))
        if not kind.startswith(("skipToFirst", "skipToLast")):
            return [kind]
        return [kind, self.rng.choice(self.names), self.chance(0.25)]

    # -- events -------------------------------------------------------------------------------------------------------

    def events(self, case: Case) -> list[list[Any]]:
        """Mostly those that the pattern speaks of, in an order that helps it on."""
        rng = self.rng
        wanted = self.used + self.used[-1:]
        letters: list[str] = []
        for letter in wanted:
            letters += [letter] * rng.choice((1, 1, 2, 3))
        letters += [rng.choice([*self.used, *LETTERS]) for _ in range(rng.randrange(1, 5))]
        if self.chance(0.5):
            for at in range(len(letters) - 1):
                if self.chance(0.25):
                    letters[at], letters[at + 1] = letters[at + 1], letters[at]
        letters = letters[:14]
        rows: list[list[Any]] = []
        ts = 1000
        for letter in letters:
            key = rng.choice("kl") if case["keyed"] else "k"
            rows.append([key, letter, rng.randrange(1, 13), ts])
            ts += 0 if self.chance(self.profile.equal) else rng.choice((500, 1000, 1000, 1000, 2000))
        if case["time"] == "event" and self.chance(self.profile.unordered):
            for at in range(len(rows) - 1):
                if self.chance(0.3):
                    rows[at], rows[at + 1] = rows[at + 1], rows[at]
            if self.chance(0.4):
                rows.insert(rng.randrange(1, len(rows)), rows.pop(0))
        return rows
