"""Deep expressions in a form that is not: chains of a thousand ``+``, calls within calls.

What goes over expressions calls itself for their parts, and Python, pickle and Spark allow some hundred calls within
calls. So the deepest way down becomes a list: its innermost value is the first argument of a call of ``STEPS``, the
other arguments of all calls on the way follow, and the option ``steps`` has the calls themselves, innermost first, over
``Ref(0)``, the value so far, and ``Ref(n)``, argument n.
"""

from __future__ import annotations

from collections.abc import Callable

from millrace.relational.rex import Call, Ref, Rex

STEPS = "$STEPS"


def deep(call: Call) -> Rex:
    """What was made into steps, as it was."""
    found = call.args[0]
    for step in call.option("steps"):
        found = step.with_children(tuple(_argument(child, found, call) for child in step.children))
    return found


def steps_text(call: Call, text: Callable[[Rex], str], step_text: Callable[[Rex, Callable[[Rex], str]], str]) -> str:
    """A call of ``STEPS`` as the expression that it was."""
    args = [text(arg) for arg in call.args]

    def part(child: Rex) -> str:
        return args[child.index] if isinstance(child, Ref) else text(child)

    for step in call.option("steps"):
        args[0] = step_text(step, part)
    return args[0]


def _argument(child: Rex, found: Rex, call: Call) -> Rex:
    if not isinstance(child, Ref):
        return child
    return found if child.index == 0 else call.args[child.index]
