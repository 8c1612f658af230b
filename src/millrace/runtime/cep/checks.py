"""The rules that a whole pattern must keep; those of single calls are checked where the pattern is built."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.runtime.cep.automaton import Action, Automaton, Kind, State
from millrace.runtime.cep.description import Contiguity, MalformedPatternException, PatternDescription, Step


def check_pattern(pattern: PatternDescription) -> None:
    """Names, and the target of skipping.

    :raises MalformedPatternException: a rule is broken.
    """
    if not pattern.steps:
        raise MalformedPatternException("A pattern needs at least one step")
    seen: set[str] = set()
    for step in single_steps(pattern.steps):
        if step.name in seen:
            raise MalformedPatternException(f"Duplicate pattern name: {step.name}. Names must be unique.")
        seen.add(step.name)
    target = pattern.skip.name
    if target is not None and all(step.group is not None or step.name != target for step in pattern.steps):
        why = f"{target} is inside a group" if target in seen else f"there is no pattern {target}"
        raise MalformedPatternException(
            f"The pattern name specified in AfterMatchSkipStrategy can not be found in the given Pattern: {why}"
        )


def check_windows(pattern: PatternDescription, window: int | None, state_windows: dict[str, int]) -> None:
    """Windows between events against that of the whole match, and what a NOT pattern at the end waits for.

    :raises MalformedPatternException: a rule is broken.
    """
    for name, length in state_windows.items():
        if window is not None and length > window:
            raise MalformedPatternException(
                f"The window between the previous and the current event of {name.partition(':')[0]} ({length} ms) is "
                f"larger than the window between the first and the last event ({window} ms)"
            )
    last = pattern.steps[-1]
    if last.contiguity is Contiguity.NOT_FOLLOW and not (window or state_windows.get(last.name)):
        raise MalformedPatternException(
            f"NotFollowedBy is not supported without windowTime as a last part of a Pattern: {last.name} needs within()"
        )


def check_automaton(automaton: Automaton) -> None:
    """What could not run: a NOT pattern in front of the first event, a loop over nothing.

    :raises MalformedPatternException: a rule is broken.
    """
    for state in _proceeding(automaton.start):
        if state.kind is Kind.STOP:
            raise MalformedPatternException(
                f"The NOT pattern {state.page} may come first, since all that is before it may be left out"
            )
    for state in automaton.states:
        if any(target is state for first in _targets(state) for target in _proceeding(first)):
            raise MalformedPatternException(
                f"A group that repeats must take an event in each round: all of its patterns may be left out, "
                f"{state.page} among them"
            )


def single_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The steps that are no groups, also those in groups."""
    for step in steps:
        if step.group is None:
            yield step
        else:
            yield from single_steps(step.group)


def _targets(state: State) -> list[State]:
    return [each.target for each in state.transitions if each.action is Action.PROCEED]


def _proceeding(state: State) -> Iterator[State]:
    """A state, and those that may look at the same event after it."""
    seen, waiting = {id(state)}, [state]
    while waiting:
        here = waiting.pop()
        yield here
        for target in _targets(here):
            if id(target) not in seen:
                seen.add(id(target))
                waiting.append(target)
