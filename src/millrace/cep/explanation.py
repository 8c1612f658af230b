"""Diagrams of patterns (Mermaid), and explanations of what a pattern does with the events of one key, as data and as
text: live partial matches, and why others ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cmp_to_key
from typing import Any

from millrace.cep.pattern_parts import UnboundCondition
from millrace.runtime.cep.automaton import Action, Kind, Numbering, Outcome, State, Test
from millrace.runtime.cep.compiler import compile_pattern, single_steps
from millrace.runtime.cep.description import (
    AndCondition,
    Contiguity,
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
    NotCondition,
    OrCondition,
    PatternDescription,
    Quantifier,
    SkipKind,
    Step,
    SubtypeCondition,
)
from millrace.runtime.cep.key_state import KeyState, Partial, events_by_name, load
from millrace.runtime.cep.nfa import Answers, Match, Nfa

# Explanations as data and as text


class Why(Enum):
    """Why a partial match ended without having become a match.

    >>> Why.WITHIN.name
    'WITHIN'
    """

    STRICT = "strict contiguity"
    """the event does not match, and strict contiguity allows none in between"""
    CONDITION = "condition"
    """no transition's condition holds for the event"""
    NOT_PATTERN = "not pattern"
    """the event matches a NOT pattern"""
    UNTIL = "until"
    """the until condition has ended the loop, and no other transition is possible"""
    WITHIN = "within"
    """the time of its window has passed"""
    SKIP = "skip"
    """a match was found, and the skip strategy drops partial matches that began before a certain event"""


@dataclass(frozen=True)
class PartialMatch:
    """A partial match: its state in the automaton, and its events.

    >>> PartialMatch("b", {"a": [1]}).events
    {'a': [1]}
    """

    state: str
    """name of the state: that of the step that the partial match waits for, with a number if need be"""
    events: Mapping[str, list[Any]]

    def __str__(self) -> str:
        return f"[{_events(self.events)}] waits for {self.state}"


@dataclass(frozen=True)
class Ended:
    """A partial match that has ended.

    >>> sorted(each.name for each in Why)[:2]
    ['CONDITION', 'NOT_PATTERN']
    """

    partial: PartialMatch
    why: Why
    detail: str

    def __str__(self) -> str:
        return f"[{_events(self.partial.events)}] in {self.partial.state} ended: {self.why.value}: {self.detail}"


@dataclass(frozen=True)
class ExplainedStep:
    """The effects of one event, or of passing time.

    >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b")
    >>> CEP.explain([1, 2], pattern, timestamps=lambda n: n * 1000).steps[0].time
    1000
    """

    time: int
    event: Any
    """the event; None where only time passes"""
    asked: Mapping[str, bool]
    """condition -> its answer for this event, for conditions on the event alone; conditions that were not evaluated are
    missing"""
    matches: tuple[Mapping[str, list[Any]], ...]
    ended: tuple[Ended, ...]
    live: tuple[PartialMatch, ...]
    """partial matches that live after the event"""

    def __str__(self) -> str:
        lines = [f"{self.time}: time passes" if self.event is None else f"{self.time}: {self.event!r}"]
        if self.asked:
            lines.append("  asked: " + ", ".join(f"{text} is {answer}" for text, answer in self.asked.items()))
        lines += [f"  match: [{_events(match)}]" for match in self.matches]
        lines += [f"  {ended}" for ended in self.ended]
        lines += [f"  live: {partial}" for partial in self.live]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """All steps of one key.

    >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b")
    >>> CEP.explain([1, 2], pattern, timestamps=lambda n: n * 1000).matches
    [{'a': [1], 'b': [2]}]
    """

    steps: tuple[ExplainedStep, ...]

    @property
    def matches(self) -> list[Mapping[str, list[Any]]]:
        """All matches, in their order."""
        return [match for step in self.steps for match in step.matches]

    @property
    def ended(self) -> list[Ended]:
        """All partial matches that ended, in their order.

        >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b").where(
        ...     SimpleCondition.of(lambda n: n == 2))
        >>> for ended in CEP.explain([1, 3], pattern, timestamps=lambda n: n * 1000).ended:
        ...     print(ended.why.name)
        STRICT
        """
        return [ended for step in self.steps for ended in step.ended]

    @property
    def live(self) -> tuple[PartialMatch, ...]:
        """The partial matches at the end."""
        return self.steps[-1].live if self.steps else ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def _events(found: Mapping[str, list[Any]]) -> str:
    return ", ".join(f"{name}: {' '.join(map(repr, events))}" for name, events in found.items()) or "nothing"


# Diagrams

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
    """A diagram of the steps, with contiguity, quantifiers and conditions."""
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
    """A diagram of the automaton's states; thick arrows take the event, dotted ones pass over it."""
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
    """A condition as text: the text of an expression, else the name of the function or class."""
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
    """The test of a transition as text, with names for the conditions."""
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
    """Draw steps; returns the name of the last one."""
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
    """A quantifier as text: ``{2,4} greedy``; empty for exactly once."""
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
    """A label's text, in which Mermaid's own syntax is escaped."""
    marks = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": " "}
    return "<br/>".join("".join(marks.get(letter, letter) for letter in part) for part in parts)


# Runs


def explained(
    pattern: PatternDescription,
    events: Iterable[tuple[Any, int]],
    compare: Callable[[Any, Any], int] | None = None,
    until: int | None = None,
) -> Explanation:
    """What a pattern makes of the events of one key.

    :param events: each with its time (ms), in any order: they are sorted as the watermark would let them through.
    :param until: so far time passes after the last event.
    """
    given = list(events)
    if compare is not None:
        order = cmp_to_key(compare)
        given.sort(key=lambda pair: order(pair[0]))
    given.sort(key=lambda pair: pair[1])
    nfa, state = _TracedNfa(pattern), KeyState()
    steps = [nfa.step(state, event, time) for event, time in given]
    if until is not None:
        steps.append(nfa.step(state, None, until))
    return Explanation(tuple(steps))


def partial_matches(pattern: PatternDescription, stored: Any) -> list[PartialMatch]:
    """The partial matches that a stored state contains for one key."""
    nfa, state = _TracedNfa(pattern), load(stored)
    return [nfa.partial_match(partial) for partial in state.partials]


class _TracedNfa(Nfa):
    """The automaton; it records each partial match that ends."""

    def __init__(self, pattern: PatternDescription) -> None:
        super().__init__(pattern)
        self._pattern = pattern
        self._countable = self._only_columns = False  # each partial match is followed, and asked for, by itself
        self._texts = [condition_text(each) for each in self.automaton.conditions]
        numbering = Numbering(pattern.steps)
        self._untils = {step.name: numbering.test(step.until) for step in single_steps(pattern.steps) if step.until}
        self._ended: list[Ended] = []
        self._known: Answers = []
        """the answers of the conditions for the current event"""
        self._outcomes: dict[int, tuple[Outcome, Answers]] = {}
        """outcomes for the current event by state; by identity of the partial match where conditions depend on it"""

    def step(self, state: KeyState, event: Any, time: int) -> ExplainedStep:
        """Process an event (None: only time passes); returns the effects."""
        self._ended, self._known, self._outcomes = [], [], {}
        matches, _ = self.prune(state, time)
        if event is not None:
            before = [(partial, self.partial_match(partial)) for partial in state.partials]
            self._known = self.answers(code := self.codes([event])[0])
            matches += self.advance(state, event, time, code)
            self._ended[:0] = [ended for partial, told in before if (ended := self._note(partial, told)) is not None]
        simple = list(zip(self._texts, self._known))[: self.automaton.simple]
        return ExplainedStep(
            time,
            event,
            {text: answer for text, answer in simple if answer is not None},
            tuple(matches),
            tuple(self._ended),
            tuple(self.partial_match(partial) for partial in state.partials),
        )

    def partial_match(self, partial: Partial) -> PartialMatch:
        """A partial match in readable form."""
        return PartialMatch(self.automaton.states[partial[0]].name, events_by_name(partial[1]))

    def prune(self, state: KeyState, time: int) -> tuple[list[Match], list[tuple[Match, int]]]:
        before = {id(partial): (partial, self.partial_match(partial)) for partial in state.partials}
        found = super().prune(state, time)
        kept = {id(partial) for partial in state.partials}
        of_skip = {id(each.partial) for each in self._ended}
        for place, (partial, told) in before.items():
            if place not in kept and partial[0] not in self._pending and id(told) not in of_skip:
                length = self.state_windows.get(partial[0]) or self.window
                self._ended.append(Ended(told, Why.WITHIN, f"{length} ms have passed at {time}"))
        return found

    def _asked(self, question: Any, number: int, partial: Partial | None) -> Outcome:
        outcome = super()._asked(question, number, partial)
        simple = self.automaton.simple
        self._known[:simple] = question.answers[:simple]
        place = id(partial) if partial is not None and self._iterative[number] else number
        self._outcomes[place] = outcome, list(question.answers)
        return outcome

    def _note(self, partial: Partial, told: PartialMatch) -> Ended | None:
        """Record why the event ends a partial match, if it does."""
        outcome, answers = self._outcomes[id(partial) if self._iterative[partial[0]] else partial[0]]
        stops = [move for move in outcome.moves if move.target_kind is Kind.STOP]
        if stops:
            page = self.automaton.states[stops[0].target].page
            return Ended(told, Why.NOT_PATTERN, f"the event is excluded as {page}")
        if outcome.moves:
            return None
        here = self.automaton.states[partial[0]]
        known = {number: answer for number, answer in enumerate(answers) if answer is not None}
        ways = _ways(here)
        until = self._untils.get(here.page)
        if until is not None and _is_true(until, known):
            why = Why.UNTIL
        elif all(way.action is not Action.IGNORE for _, way in ways):
            why = Why.STRICT
        else:
            why = Why.CONDITION
        tests = (f"{way.action.value} {at.page} needs {text_of_test(way.test, self._texts)}" for at, way in ways)
        return Ended(told, why, "; ".join(dict.fromkeys(tests)))

    def _skip(self, state: KeyState, match: Partial) -> None:
        # Complete matches that are not emitted yet are dropped, too.
        before = {id(partial): self.partial_match(partial) for partial in (*state.partials, *state.completed)}
        super()._skip(state, match)
        kept = {id(partial) for partial in (*state.partials, *state.completed)}
        skip = self._pattern.skip
        words = skip.kind.value.lower().replace("_", " ")
        detail = f"{words} {skip.name}" if skip.kind in (SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST) else words
        self._ended += [Ended(told, Why.SKIP, detail) for place, told in before.items() if place not in kept]


def _ways(state: State) -> Sequence[tuple[State, Any]]:
    """The transitions that take or ignore an event: those of the state itself, and of all states that it proceeds to
    with the same event."""
    found: list[tuple[State, Any]] = []
    waiting, seen = [state], {id(state)}
    while waiting:
        here = waiting.pop()
        for way in here.transitions:
            if way.action is not Action.PROCEED:
                found.append((here, way))
            elif id(way.target) not in seen:
                seen.add(id(way.target))
                waiting.append(way.target)
    return found


def _is_true(test: Any, answers: dict[int, bool]) -> bool:
    """Whether the conditions' answers so far show that a test holds."""
    return _value(test, answers) is True


def _value(test: Any, answers: dict[int, bool]) -> bool | None:
    if test is True or isinstance(test, int):
        return True if test is True else answers.get(test)
    parts = [_value(part, answers) for part in test[1:]]
    if test[0] == "not":
        return None if parts[0] is None else not parts[0]
    decisive = test[0] == "or"
    return decisive if decisive in parts else None if None in parts else not decisive
