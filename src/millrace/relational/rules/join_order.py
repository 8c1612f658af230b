"""Inner joins in an order that keeps what is between them small, where it is known how many rows the tables have.

Off unless ``table.optimizer.join-reorder-enabled`` is set, as in Flink: then the order of the query's text is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from millrace.common.config_values import to_boolean
from millrace.relational import nodes as n
from millrace.relational.rex import Call, Ref, Rex, conjunction, conjuncts, refs, remap, shift
from millrace.relational.rules.determinism import is_deterministic
from millrace.relational.rules.estimates import Estimate, estimate
from millrace.util.record import Record

ENABLED = "table.optimizer.join-reorder-enabled"
MOST = 12
"""inputs that are ordered at once; more keep the order of the text"""
_OTHER_CONDITION = 0.5
"""the share of pairs that a condition which is no equality of columns lets through"""


def wants_order(settings: Mapping[str, str]) -> bool:
    """Whether the session has it on."""
    return to_boolean(settings.get(ENABLED, "false"))


def join_order(plan: n.Rel) -> n.Rel:
    """The plan with its inner joins in another order: the same rows and columns."""
    if not _is_inner(plan):
        inputs = plan.inputs
        changed = tuple(map(join_order, inputs))
        return plan if all(a is b for a, b in zip(changed, inputs)) else plan.with_inputs(changed)
    joined = _Joined([], [])
    joined.gather(plan, 0)
    inputs = tuple(map(join_order, joined.inputs))
    order = _best(inputs, joined.conditions)
    if order is None or order == list(range(len(inputs))):
        return plan if all(a is b for a, b in zip(inputs, joined.inputs)) else _in_text_order(plan, iter(inputs))
    return _built(plan, inputs, joined.conditions, order)


def _is_inner(plan: n.Rel) -> bool:
    return isinstance(plan, n.Join) and plan.kind == "INNER" and not plan.null_aware


@dataclass
class _Joined:
    """Inputs of inner joins, and conditions over all their columns one after the other."""

    inputs: list[n.Rel]
    conditions: list[Rex]

    def gather(self, plan: n.Rel, offset: int) -> None:
        if not isinstance(plan, n.Join) or not _is_inner(plan):
            self.inputs.append(plan)
            return
        self.gather(plan.left, offset)
        self.gather(plan.right, offset + len(plan.left.schema))
        self.conditions += [shift(each, offset) for each in conjuncts(plan.condition)]


def _in_text_order(plan: n.Rel, inputs: Iterator[n.Rel]) -> n.Rel:
    """The same joins over inputs that were changed."""
    if not isinstance(plan, n.Join) or not _is_inner(plan):
        return next(inputs)
    return plan.with_inputs((_in_text_order(plan.left, inputs), _in_text_order(plan.right, inputs)))


class _Condition(Record):
    sides: frozenset[int]
    """the inputs whose columns it reads"""
    equal: bool
    """a column of one is one of the other"""


def _best(inputs: Sequence[n.Rel], conditions: Sequence[Rex]) -> list[int] | None:
    """The order with the fewest rows between the joins, of those that always take the best next one; None: there is
    nothing to choose, or nothing to choose by."""
    if not 2 < len(inputs) <= MOST or any(isinstance(each, n.Hinted) for each in inputs):
        return None
    if not all(map(is_deterministic, conditions)):
        return None
    sizes = [found for each in inputs if (found := estimate(each)) is not None]
    if len(sizes) < len(inputs):
        return None
    owners = [at for at, each in enumerate(inputs) for _ in each.schema]
    known = [_condition(each, owners) for each in conditions]
    orders = [_from(first, sizes, known) for first in range(len(inputs))]
    # The order of the text wins where nothing is better.
    text = (_cost(list(range(len(inputs))), sizes, known), list(range(len(inputs))))
    return min([text, *orders], key=lambda each: each[0])[1]


def _condition(condition: Rex, owners: Sequence[int]) -> _Condition:
    sides = frozenset(owners[column] for column in refs(condition))
    parts = condition.args if isinstance(condition, Call) and condition.function == "=" else ()
    equal = bool(parts) and all(isinstance(each, Ref) for each in parts)
    return _Condition(sides, equal and len(sides) == 2)


def _from(first: int, sizes: Sequence[Estimate], conditions: Sequence[_Condition]) -> tuple[float, list[int]]:
    order, rows, cost = [first], sizes[first].rows, 0.0
    rest = [at for at in range(len(sizes)) if at != first]
    while rest:
        # What nothing connects comes last: it multiplies.
        size = {at: _rows_with(rows, order, at, sizes, conditions) for at in rest}
        found = min(rest, key=lambda at: (not _connected(order, at, conditions), size[at], at))
        rows = size[found]
        cost += rows
        order.append(found)
        rest.remove(found)
    return cost, order


def _cost(order: Sequence[int], sizes: Sequence[Estimate], conditions: Sequence[_Condition]) -> float:
    rows, cost = sizes[order[0]].rows, 0.0
    for place, at in enumerate(order[1:], 1):
        rows = _rows_with(rows, order[:place], at, sizes, conditions)
        cost += rows
    return cost


def _connected(before: Sequence[int], at: int, conditions: Sequence[_Condition]) -> bool:
    return any(at in each.sides and each.sides <= {*before, at} and len(each.sides) > 1 for each in conditions)


def _rows_with(
    rows: float, before: Sequence[int], at: int, sizes: Sequence[Estimate], conditions: Sequence[_Condition]
) -> float:
    """The rows of what was joined before with one input more. Equal columns are taken for the key of one of the tables
    and a reference to it in the other one; of several equalities between two tables the first says all."""
    found = rows * sizes[at].rows
    keys: set[int] = set()
    for each in conditions:
        if at not in each.sides or not each.sides <= {*before, at}:
            continue
        if not each.equal:
            found *= _OTHER_CONDITION
            continue
        (other,) = each.sides - {at}
        if other not in keys:
            keys.add(other)
            found /= max(min(sizes[at].table, sizes[other].table), 1.0)
    return max(found, 1.0)


def _built(plan: n.Rel, inputs: Sequence[n.Rel], conditions: Sequence[Rex], order: Sequence[int]) -> n.Rel:
    """The joins in an order, and above them the columns as they were."""
    starts = [sum(len(each.schema) for each in inputs[:at]) for at in range(len(inputs))]
    places: dict[int, int] = {}
    rest = list(conditions)
    made: n.Rel | None = None
    for at in order:
        width = len(places)
        places |= {starts[at] + column: width + column for column in range(len(inputs[at].schema))}
        now = [each for each in rest if refs(each) <= places.keys()] if made is not None else []
        rest = [each for each in rest if each not in now]
        condition = conjunction([remap(each, places) for each in now])
        made = inputs[at] if made is None else n.Join(made, inputs[at], "INNER", condition)
    assert made is not None
    columns = plan.schema
    return n.Project(made, tuple(Ref(each.type, places[at]) for at, each in enumerate(columns)), columns)
