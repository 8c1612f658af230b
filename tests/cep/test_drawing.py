"""Diagrams: every step and state once, with arrows that say what may lie between."""

from __future__ import annotations

import re

from millrace.cep import AfterMatchSkipStrategy, Pattern
from millrace.common.time import Time
from millrace.runtime.cep.compiler import compile_pattern


def is_dear(price: int) -> bool:
    return price > 10


def test_a_pattern_is_drawn_step_by_step() -> None:
    pattern = (
        Pattern.begin("start", AfterMatchSkipStrategy.skip_to_last("start"))
        .where(is_dear)
        .next(Pattern.begin("x").followed_by_any("y").where('name <> "a"'))
        .times(2)
        .not_followed_by("n")
        .followed_by("end")
        .times(1, 3)
        .greedy()
        .consecutive()
        .within(Time(1500))
    )
    assert pattern.to_mermaid() == "\n".join(
        [
            "flowchart LR",
            '    s0["start<br/>is_dear"]',
            '    subgraph s1["group<br/>{2}"]',
            '        s1_0["x"]',
            '        s1_1["y<br/>name #lt;#gt; #quot;a#quot;"]',
            "        s1_0 ==>|followed_by_any| s1_1",
            "    end",
            "    s0 -->|next| s1",
            '    s2{{"not n"}}',
            "    s1 -.-x|not_followed_by| s2",
            '    s3["end<br/>{1,3} consecutive greedy"]',
            "    s2 -.->|followed_by| s3",
            '    match(["match<br/>within 1.5 s<br/>skip to last start"])',
            "    s3 --> match",
            "",
        ]
    )


def test_the_automaton_has_all_states_and_transitions() -> None:
    pattern = Pattern.begin("a").where(is_dear).followed_by("b").where(lambda price: price < 3).one_or_more()
    automaton = compile_pattern(pattern.describe())
    lines = pattern.to_mermaid(states=True).splitlines()
    boxes = [line for line in lines if re.match(r"    s\d+[\[({]", line)]
    arrows = [line for line in lines if re.match(r"    s\d+ (-->|==>|-\.->)", line)]
    assert len(boxes) == len(automaton.states)
    assert len(arrows) == sum(len(state.transitions) for state in automaton.states)
    assert any('"take: is_dear"' in line for line in arrows)
    assert any("ignore: not lambda of line" in line for line in arrows)
