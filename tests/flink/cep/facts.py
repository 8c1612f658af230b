"""The odd cases, written by hand: what one would not guess, each under a name that says it."""

from __future__ import annotations

from typing import Any

from tests.flink.cep.draw import Calls, Case


def events(text: str) -> list[list[Any]]:
    """`a b@5000`: names, a second apart or at the time that is told; prices count up."""
    rows: list[list[Any]] = []
    ts = 0
    for number, word in enumerate(text.split()):
        name, _, told = word.partition("@")
        ts = int(told) if told else ts + 1000
        rows.append(["k", name, number + 1, ts])
    return rows


def of(name: str, text: str, *calls: Any, skip: list[Any] | None = None, **others: Any) -> Case:
    case = {"id": f"fact-{name}", "events": events(text), "pattern": [_call(call) for call in calls], "skip": skip}
    return {**case, "time": "event", "keyed": False, "delay": 0, **others}


def _call(call: Any) -> list[Any]:
    """A word is a call without arguments, `=a` a condition on the name."""
    if not isinstance(call, str):
        return list(call)
    return ["where", ["name", call[1:]]] if call.startswith("=") else [call]


def _three(way: str, *quantifier: Any) -> Calls:
    """a, then b by a way with a quantifier, then c."""
    return [["begin", "s"], "=a", [way, "m"], "=b", *quantifier, ["followedBy", "e"], "=c"]


def _group(*calls: Any) -> Calls:
    return [_call(call) for call in calls]


PAIR = _group(["begin", "x"], "=a", ["followedBy", "y"], "=b")
WITHIN = ["within", 3000]
STEP = ["within", 4000, "PREVIOUS_AND_CURRENT"]

FACTS = [
    of("order-of-the-heap", "a b b b c", *_three("followedBy", "oneOrMore")),
    of("next-loop-strict-only-first", "a b d b c", *_three("next", "oneOrMore")),
    of("next-loop-first-must-follow", "a d b b c", *_three("next", "oneOrMore")),
    of("combinations-keep-first", "a b d b d b c", *_three("followedBy", "oneOrMore", "allowCombinations")),
    of("combinations-any-free-first", "a b d b d b c", *_three("followedByAny", "oneOrMore", "allowCombinations")),
    of("begin-loop-starts-at-every", "a a a", ["begin", "s"], "=a", "oneOrMore"),
    of("begin-loop-greedy", "a a a", ["begin", "s"], "=a", "oneOrMore", "greedy"),
    of("end-loop-emits-prefixes", "a b b b", ["begin", "s"], "=a", ["followedBy", "m"], "=b", "oneOrMore"),
    of("end-loop-greedy", "a b b b", ["begin", "s"], "=a", ["followedBy", "m"], "=b", "oneOrMore", "greedy"),
    of(
        "group-loop-doubles",
        "s a b a b e",
        ["begin", "s"],
        "=s",
        ["followedBy", PAIR],
        "oneOrMore",
        ["followedBy", "e"],
        "=e",
    ),
    of(
        "group-loop-combinations",
        "s a b a b e",
        ["begin", "s"],
        "=s",
        ["followedBy", PAIR],
        "oneOrMore",
        "allowCombinations",
        ["followedBy", "e"],
        "=e",
    ),
    of(
        "group-optional-times",
        "s a b d a b e",
        ["begin", "s"],
        "=s",
        ["followedBy", PAIR],
        ["times", 2],
        "optional",
        ["followedBy", "e"],
        "=e",
    ),
    of(
        "group-next-times",
        "s a b a b e",
        ["begin", "s"],
        "=s",
        ["next", PAIR],
        ["times", 2],
        "consecutive",
        ["next", "e"],
        "=e",
    ),
    of(
        "group-in-group",
        "s a b c a b c c e",
        ["begin", "s"],
        "=s",
        ["followedBy", _group(["begin", PAIR], "oneOrMore", ["followedBy", "z"], "=c")],
        ["times", 1, 2],
        ["followedBy", "e"],
        "=e",
    ),
    of("begin-group-loop", "a b a b c", ["begin", PAIR], "oneOrMore", ["followedBy", "e"], "=c"),
    of("greedy-has-no-way-back", "a b b b b c", *_three("followedBy", ["times", 1, 3], "greedy")),
    of("greedy-then-same", "b b b", ["begin", "m"], "=b", ["times", 1, 3], "greedy", ["followedBy", "e"], "=b"),
    of("greedy-consecutive-stops", "a b b d c", *_three("followedBy", "oneOrMore", "consecutive", "greedy")),
    of("greedy-consecutive-broken", "a b b d b c", *_three("followedBy", "oneOrMore", "consecutive", "greedy")),
    of("greedy-relaxed", "a b b d b c", *_three("followedBy", "oneOrMore", "greedy")),
    of("greedy-any", "a b b d b c", *_three("followedByAny", "oneOrMore", "greedy")),
    of("greedy-begin-then-any", "b b c c", ["begin", "m"], "=b", "oneOrMore", "greedy", ["followedByAny", "e"], "=c"),
    of(
        "greedy-lives-on-and-times-out",
        "a b b c d@20000",
        *_three("followedBy", "oneOrMore", "greedy"),
        ["within", 8000],
    ),
    of("greedy-times-or-more", "a b b b c c", *_three("followedBy", ["timesOrMore", 2], "greedy")),
    of("greedy-optional", "a b b c", *_three("followedBy", "oneOrMore", "optional", "greedy")),
    of("greedy-optional-none", "a d c", *_three("followedBy", "oneOrMore", "optional", "greedy")),
    of(
        "greedy-overlapping-condition",
        "a b b c",
        ["begin", "s"],
        "=a",
        ["followedBy", "m"],
        ["where", ["not", ["name", "a"]]],
        "oneOrMore",
        "greedy",
        ["followedBy", "e"],
        "=c",
    ),
    of("greedy-until", "a b b d b c", *_three("followedBy", "oneOrMore", "greedy", ["until", ["name", "d"]])),
    of("not-next-last", "a a b c", ["begin", "s"], "=a", ["notNext", "n"], "=b"),
    of("not-next-last-without-next", "a", ["begin", "s"], "=a", ["notNext", "n"], "=b"),
    of("not-followed-last", "a b a@5000 d@20000", ["begin", "s"], "=a", ["notFollowedBy", "n"], "=b", WITHIN),
    of("not-followed-at-edge", "a b@4000 d@9000", ["begin", "s"], "=a", ["notFollowedBy", "n"], "=b", WITHIN),
    of("not-followed-within-edge", "a b@3999 d@9000", ["begin", "s"], "=a", ["notFollowedBy", "n"], "=b", WITHIN),
    of(
        "not-followed-behind-loop",
        "a a b@9000",
        ["begin", "s"],
        "=a",
        "oneOrMore",
        ["notFollowedBy", "n"],
        "=b",
        WITHIN,
    ),
    of(
        "not-in-the-middle-any",
        "a b c b",
        ["begin", "s"],
        "=a",
        ["followedByAny", "m"],
        "=b",
        ["notFollowedBy", "n"],
        "=c",
        ["followedByAny", "e"],
        "=b",
    ),
    of(
        "not-kills-paths-behind",
        "a b c b d",
        ["begin", "s"],
        "=a",
        ["notFollowedBy", "n"],
        "=c",
        ["followedByAny", "e"],
        "=b",
    ),
    of(
        "not-after-empty-group",
        "a b",
        ["begin", PAIR],
        "optional",
        ["notFollowedBy", "n"],
        "=c",
        ["followedBy", "e"],
        "=b",
    ),
    of("until-not-taken", "a b d b c", *_three("followedBy", "oneOrMore", ["until", ["name", "d"]])),
    of("until-may-match-next", "a b b c", *_three("followedBy", "oneOrMore", ["until", ["name", "c"]])),
    of("until-any-begins-after", "a b d b c", *_three("followedByAny", "oneOrMore", ["until", ["name", "d"]])),
    of(
        "until-on-group",
        "s a b d a b e",
        ["begin", "s"],
        "=s",
        ["followedBy", PAIR],
        "oneOrMore",
        ["until", ["name", "d"]],
        ["followedBy", "e"],
        "=e",
    ),
    of(
        "unknown-name-is-empty",
        "a b",
        ["begin", "s"],
        "=a",
        ["followedBy", "m"],
        ["where", ["and", ["name", "b"], ["count", "nobody", "==", 0]]],
    ),
    of("window-edge-is-time-out", "a c@4000 d@9000", ["begin", "s"], "=a", ["followedBy", "e"], "=c", WITHIN),
    of("window-inside", "a c@3999 d@9000", ["begin", "s"], "=a", ["followedBy", "e"], "=c", WITHIN),
    of(
        "window-on-middle",
        "a b c@9000",
        ["begin", "s"],
        "=a",
        WITHIN,
        ["followedBy", "m"],
        "=b",
        ["followedBy", "e"],
        "=c",
    ),
    of(
        "smallest-window-counts",
        "a b@2500 c@3500",
        ["begin", "s"],
        "=a",
        ["within", 2000],
        ["followedBy", "m"],
        "=b",
        ["followedBy", "e"],
        "=c",
        ["within", 9000],
    ),
    of(
        "step-window",
        "a@10000 b@15000 c@16000",
        ["begin", "s"],
        "=a",
        ["followedBy", "m"],
        "=b",
        ["followedBy", "e"],
        "=c",
        STEP,
    ),
    of(
        "step-window-missed",
        "a@10000 b@15000 c@19000 d@30000",
        ["begin", "s"],
        "=a",
        ["followedBy", "m"],
        "=b",
        ["followedBy", "e"],
        "=c",
        STEP,
    ),
    of(
        "step-window-behind-loop",
        "a@10000 b@15000 b@20000 c@21000 d@40000",
        ["begin", "s"],
        "=a",
        ["followedBy", "m"],
        "=b",
        "oneOrMore",
        ["followedBy", "e"],
        "=c",
        STEP,
    ),
    of("loop-window-first-event", "a b@5000 b@6000 c@7000", *_three("followedBy", ["oneOrMore", {"ms": 3000}])),
    of("loop-window-inside", "a b b@9000 c@9500", *_three("followedBy", ["oneOrMore", {"ms": 3000}])),
    of("loop-window-times", "a b b@9000 c@9500", *_three("followedBy", ["times", 2, {"ms": 3000}])),
    of("loop-window-times-range", "a b b@3500 b@9000 c@9500", *_three("followedBy", ["times", 1, 3, {"ms": 3000}])),
    of("within-nothing", "a b", ["begin", "s"], "=a", ["followedBy", "m"], "=b", ["within", 0]),
    of("skip-to-next", "a a b b", ["begin", "s"], "=a", ["followedByAny", "e"], "=b", skip=["skipToNext"]),
    of(
        "skip-past-last",
        "a b b c b b c",
        ["begin", "s"],
        "=b",
        "oneOrMore",
        ["followedBy", "e"],
        "=c",
        skip=["skipPastLastEvent"],
    ),
    of(
        "skip-to-first-is-start",
        "a b",
        ["begin", "s"],
        "=a",
        ["followedBy", "e"],
        "=b",
        skip=["skipToFirst", "s", False],
    ),
    of(
        "skip-to-first-is-start-thrown",
        "a b",
        ["begin", "s"],
        "=a",
        ["followedBy", "e"],
        "=b",
        skip=["skipToFirst", "s", True],
    ),
    of("skip-to-missing", "a c", *_three("followedBy", "optional"), skip=["skipToFirst", "m", False]),
    of("skip-to-missing-thrown", "a c", *_three("followedBy", "optional"), skip=["skipToFirst", "m", True]),
    of(
        "skip-to-last",
        "b b b c b c",
        ["begin", "s"],
        "=b",
        "oneOrMore",
        ["followedBy", "e"],
        "=c",
        skip=["skipToLast", "s", False],
    ),
    of("skip-into-group", "a b", ["begin", PAIR], skip=["skipToFirst", "y", False]),
    of("late", "a b@9000 c@2000 c", *_three("followedBy")),
    of("equal-times-in-order-of-arrival", "c@1000 a@1000 b@1000 c@1000", *_three("followedBy")),
    of("equal-times-by-comparator", "a@1000 c@1000 b@1000 c@1000", *_three("followedBy"), comparator="price"),
    of(
        "or-takes-all-before",
        "a b@2000 c",
        ["begin", "s"],
        "=a",
        ["where", ["price", ">", 5]],
        ["or", ["name", "b"]],
        ["where", ["price", "<", 9]],
        ["followedBy", "e"],
        "=c",
    ),
]
