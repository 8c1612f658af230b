"""What of a pattern its partial matches depend on, as a short text: state goes on only with the same.

Conditions are no part of it, since functions can't be compared: with other conditions partial matches go on.
"""

from __future__ import annotations

import hashlib

from millrace.runtime.cep.description import PatternDescription, Step


def fingerprint(pattern: PatternDescription) -> str:
    """The fingerprint, with the names of the pattern in front for people."""
    digest = hashlib.sha256(repr([_shape(step) for step in pattern.steps]).encode()).hexdigest()[:16]
    return f"{' '.join(map(_name, pattern.steps))} {digest}"


def _shape(step: Step) -> tuple[object, ...]:
    quantifier, times = step.quantifier, step.quantifier.times
    return (
        step.name,
        step.contiguity.value,
        None if times is None else (times.least, times.most, times.window),
        quantifier.optional,
        quantifier.greedy,
        quantifier.inner.value,
        step.until is not None,
        step.within,
        step.within_previous,
        None if step.group is None else [_shape(inner) for inner in step.group],
    )


def _name(step: Step) -> str:
    return step.name if step.group is None else f"({' '.join(map(_name, step.group))})"
