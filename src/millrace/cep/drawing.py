"""Patterns as diagrams of Mermaid: the steps as they are written, and the automaton that comes of them."""

from __future__ import annotations

from typing import Any

from millrace.cep.conditions import UnboundCondition
from millrace.runtime.cep.automaton import Action, Kind, Test
from millrace.runtime.cep.compiler import compile_pattern
from millrace.runtime.cep.conditions import (
    AndCondition,
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
    NotCondition,
    OrCondition,
    SubtypeCondition,
)
from millrace.runtime.cep.description import Contiguity, PatternDescription, Quantifier, SkipKind, Step

_CALLS = {
    Contiguity.STRICT: "next",
    Contiguity.RELAXED: "followed_by",
    Contiguity.RELAXED_ANY: "followed_by_any",
    Contiguity.NOT_NEXT: "not_next",
    Contiguity.NOT_FOLLOW: "not_followed_by",
}
_ARROWS = {
    Contiguity.STRICT: "-->",
    Contiguity.RELAXED: "-.->",
    Contiguity.RELAXED_ANY: "==>",
    Contiguity.NOT_NEXT: "--x",
    Contiguity.NOT_FOLLOW: "-.-x",
}
_INNER = {Contiguity.STRICT: "consecutive", Contiguity.RELAXED_ANY: "allow_combinations"}
_SHAPES = {Kind.START: ("([", "])"), Kind.FINAL: ("(((", ")))"), Kind.STOP: ("{{", "}}"), Kind.PENDING: ("[/", "/]")}
_STATE_ARROWS = {Action.TAKE: "-->", Action.IGNORE: "-.->", Action.PROCEED: "==>"}


def pattern_diagram(pattern: PatternDescription) -> str:
    """The steps with what may lie between them, how often they come, and their conditions."""
    lines = ["flowchart LR"]
    last = _sequence(pattern.steps, "s", lines, "    ")
    told = ["match"]
    windows = [step.within for step in pattern.steps if step.within is not None]
    if windows:
        told.append(f"within {_span(min(windows))}")
    if pattern.skip.kind is not SkipKind.NO_SKIP:
        told.append(" ".join(filter(None, (pattern.skip.kind.value.lower().replace("_", " "), pattern.skip.name))))
    lines += [f'    match(["{_label(*told)}"])', f"    {last} --> match"]
    return "\n".join(lines) + "\n"


def automaton_diagram(pattern: PatternDescription) -> str:
    """The states; thick arrows go on with the same event, dotted ones pass over it."""
    automaton = compile_pattern(pattern)
    names = [condition_text(each) for each in automaton.conditions]
    numbers = {id(state): number for number, state in enumerate(automaton.states)}
    lines = ["flowchart LR"]
    for state in automaton.states:
        opening, closing = _SHAPES.get(state.kind, ("[", "]"))
        about = [state.name, *([state.kind.value] if state.kind is not Kind.NORMAL else [])]
        if state.name in automaton.state_windows:
            about.append(f"within {_span(automaton.state_windows[state.name])} of the event before")
        lines.append(f'    s{numbers[id(state)]}{opening}"{_label(*about)}"{closing}')
    for state in automaton.states:
        for way in state.transitions:
            label = _label(f"{way.action.value}{'' if way.test is True else f': {text_of_test(way.test, names)}'}")
            arrow = _STATE_ARROWS[way.action]
            lines.append(f'    s{numbers[id(state)]} {arrow}|"{label}"| s{numbers[id(way.target)]}')
    return "\n".join(lines) + "\n"


def condition_text(condition: IterativeCondition) -> str:
    """What is asked of an event, for people: the text of an expression, else the name of the function or class."""
    if isinstance(condition, (AndCondition, OrCondition)):
        word = "and" if isinstance(condition, AndCondition) else "or"
        return f"({condition_text(condition.left)} {word} {condition_text(condition.right)})"
    if isinstance(condition, NotCondition):
        return f"not {condition_text(condition.negated)}"
    if isinstance(condition, (FunctionCondition, IterativeFunctionCondition)):
        return _function_text(condition.function)
    if isinstance(condition, SubtypeCondition):
        return f"is a {condition.subtype.__name__}"
    if isinstance(condition, UnboundCondition):
        return str(condition.given)
    return str(getattr(condition, "text", None) or type(condition).__name__)


def text_of_test(test: Test, names: list[str]) -> str:
    """When a way can be taken, with names for the conditions."""
    if test is True:
        return "always"
    if isinstance(test, int):
        return names[test]
    if test[0] == "not":
        return f"not {text_of_test(test[1], names)}"
    return f"({text_of_test(test[1], names)} {test[0]} {text_of_test(test[2], names)})"


def _function_text(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    return f"lambda of line {code.co_firstlineno}" if name == "<lambda>" and code is not None else name


def _sequence(steps: tuple[Step, ...], prefix: str, lines: list[str], indent: str) -> str:
    """Draw steps; the name of the last one."""
    before = ""
    for number, step in enumerate(steps):
        name = f"{prefix}{number}"
        if step.group is None:
            opening, closing = ("{{", "}}") if step.contiguity.is_not else ("[", "]")
            lines.append(f'{indent}{name}{opening}"{_label(*_about(step))}"{closing}')
        else:
            lines.append(f'{indent}subgraph {name}["{_label("group", *_about(step)[1:])}"]')
            _sequence(step.group, f"{name}_", lines, indent + "    ")
            lines.append(f"{indent}end")
        if before:
            lines.append(f"{indent}{before} {_ARROWS[step.contiguity]}|{_CALLS[step.contiguity]}| {name}")
        before = name
    return before


def _about(step: Step) -> list[str]:
    found = [f"not {step.name}" if step.contiguity.is_not else step.name]
    if step.condition is not None:
        found.append(condition_text(step.condition))
    often = quantifier_text(step.quantifier)
    if often:
        found.append(often)
    if step.until is not None:
        found.append(f"until {condition_text(step.until)}")
    if step.within_previous is not None:
        found.append(f"within {_span(step.within_previous)} of the event before")
    return found


def quantifier_text(quantifier: Quantifier) -> str:
    """How often a step comes: ``{2,4} greedy``; empty for exactly once."""
    found, times = [], quantifier.times
    if times is not None:
        most = "" if times.most is None else times.most
        found.append(f"{{{times.least}}}" if times.most == times.least else f"{{{times.least},{most}}}")
        if times.window is not None:
            found.append(f"within {_span(times.window)}")
        found += [_INNER[quantifier.inner]] if quantifier.inner in _INNER else []
    found += [word for word, is_so in (("optional", quantifier.optional), ("greedy", quantifier.greedy)) if is_so]
    return " ".join(found)


def _span(millis: int) -> str:
    return f"{millis / 1000:g} s"


def _label(*parts: str) -> str:
    """Text in a label: what Mermaid would read as its own is spelled otherwise."""
    marks = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": " "}
    return "<br/>".join("".join(marks.get(letter, letter) for letter in part) for part in parts)
