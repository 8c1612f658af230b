"""Asks Flink the kept cases again, or draws new ones and keeps them.

FLINK_VENV=... python -m tests.flink.cep.record           # are the answers still those that are kept?
FLINK_VENV=... python -m tests.flink.cep.record --keep    # keep them
FLINK_VENV=... python -m tests.flink.cep.record --draw    # draw the cases anew, too
FLINK_VENV=... python -m tests.flink.cep.record --more 100 150    # add those of these seeds that need Flink
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.flink.cep import kept
from tests.flink.cep.ask import ask
from tests.flink.cep.break_rules import broken
from tests.flink.cep.draw import PROFILES, Case, Profile, draw
from tests.flink.cep.facts import FACTS
from tests.flink.cep.tags import AUTOMATON, tags

PLAIN, RICH = 42, 60
"""how many cases of a profile are kept, where answers follow from enumeration and where not"""
SEEDS = 100
"""cases that are drawn of a profile"""
EMPTY = 0.2
"""the share of cases without a match"""
LARGE = 25
"""matches or time-outs of a case"""
SAME_TEXT = 6
"""refused cases with one text"""


def recorded() -> dict[str, list[Case]]:
    """All cases, drawn anew, with Flink's answers, by file."""
    files: dict[str, list[Case]] = {name: [] for name in kept.FILES}
    drawn = (draw(profile, seed) for profile in PROFILES for seed in range(SEEDS))
    found = ask(tagged([*drawn, *broken()]))
    for profile in PROFILES:
        for case in chosen(of(profile, found), profile):
            files["automaton" if AUTOMATON & set(case["tags"]) else "plain"].append(case)
    files["refused"] = of_each_text([case for case in found if "refused" in case["answer"]])
    files["facts"] = ask(tagged(FACTS))
    return files


def more(seeds: range) -> list[Case]:
    """Cases of the profiles whose answers do not follow from enumeration."""
    rich = [profile for profile in PROFILES if wanted(profile) == RICH]
    found = ask(tagged(draw(profile, seed) for profile in rich for seed in seeds))
    kept_now = [case for profile in rich for case in chosen(of(profile, found), profile)]
    return [case for case in kept_now if AUTOMATON & set(case["tags"])]


def of(profile: Profile, found: list[Case]) -> list[Case]:
    return [case for case in found if case["id"].rpartition("-")[0] == profile.name]


def tagged(cases: Iterable[Case]) -> Iterator[Case]:
    for case in cases:
        yield {**case, "tags": tags(case)}


def wanted(profile: Profile) -> int:
    return RICH if profile.greedy or profile.group or profile.window else PLAIN


def chosen(found: list[Case], profile: Profile) -> list[Case]:
    empties = int(wanted(profile) * EMPTY)
    result: list[Case] = []
    for case in found:
        answer = case["answer"]
        if "refused" in answer or len(answer["matches"]) > LARGE or len(answer["timeouts"]) > LARGE:
            continue
        if not answer["matches"]:
            empties -= 1
        if (answer["matches"] or empties >= 0) and len(result) < wanted(profile):
            result.append(case)
    return result


def of_each_text(refused: list[Case]) -> list[Case]:
    count: Counter[str] = Counter()
    result = []
    for case in refused:
        text = "".join(letter for letter in case["answer"]["text"] if not letter.isdigit())[:60]
        count[text] += 1
        if count[text] <= SAME_TEXT and "too large" not in text:
            result.append(case)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the answers")
    parser.add_argument("--draw", action="store_true", help="draw the cases anew and keep them")
    parser.add_argument("--more", nargs=2, type=int, help="add cases of the seeds from .. to ..")
    given = parser.parse_args()
    if given.more:
        before = kept.cases("automaton")
        known = {case["id"] for case in before}
        kept.keep("automaton", before + [case for case in more(range(*given.more)) if case["id"] not in known])
        return 0
    if given.draw:
        for file, found in recorded().items():
            kept.keep(file, found)
            print(f"{file}: {len(found)} cases")
        return 0
    changed = 0
    for file in kept.FILES:
        found = ask(kept.cases(file))
        for case, before in zip(found, kept.cases(file), strict=True):
            if case != before:
                changed += 1
                print(f"Flink answers otherwise than it did: {case['id']}: {json.dumps(case['answer'])}")
        if given.keep:
            kept.keep(file, found)
    return 1 if changed and not given.keep else 0


if __name__ == "__main__":
    raise SystemExit(main())
