"""Rules that recognise windows and ranks: aggregates and joins on the bounds of a windowing table function become
``WindowAggregate`` and ``WindowJoin``, filters over ROW_NUMBER, RANK and DENSE_RANK become ``Rank`` or
``Deduplicate``. Also finds the columns that identify a row of a plan, which follow from these nodes."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.nodes.rel import transform
from millrace.relational.rex import AggCall, Call, Literal, Ref, Rex, conjunction, conjuncts, refs, substitute

# Columns that are bounds of windows


def window_columns(plan: n.Rel) -> tuple[int, int] | None:
    """The columns with window_start and window_end; None if the rows of the plan are not in windows, or the columns
    are gone."""
    found = find_window(plan)
    return None if found is None or found[1] is None or found[2] is None else (found[1], found[2])


def find_window(plan: n.Rel) -> tuple[n.WindowSpec, int | None, int | None, int | None] | None:
    """The window that rows are in, and the columns with its start, end and time, each None if it is gone."""
    if isinstance(plan, n.WindowTable):
        width = len(plan.schema)
        return plan.window, width - 3, width - 2, width - 1
    if isinstance(plan, n.WindowAggregate) and plan.attached is not None:
        start = len(plan.keys) + len(plan.aggregates)
        places = {name: start + at for at, name in enumerate(plan.properties)}
        return plan.window, places.get("START"), places.get("END"), places.get("ROWTIME", places.get("PROCTIME"))
    if isinstance(plan, (n.Filter, n.Hinted, n.Over, n.Rank, n.Deduplicate, n.Correlate, n.LookupJoin)):
        return find_window(plan.inputs[0])
    if isinstance(plan, n.WindowJoin):
        return find_window(plan.left)
    if isinstance(plan, n.Project):
        return _projected(plan)
    return None


def _projected(plan: n.Project) -> tuple[n.WindowSpec, int | None, int | None, int | None] | None:
    below = find_window(plan.input)
    if below is None:
        return None
    places = {each.index: at for at, each in reversed(list(enumerate(plan.expressions))) if isinstance(each, Ref)}
    start, end, time = (None if each is None else places.get(each) for each in below[1:])
    return below[0], start, end, time


# Joins on equal windows


def window_join(plan: n.Rel) -> n.Rel:
    """A join whose condition sets window_start and window_end of both inputs equal. The windows must be of one kind and
    size; otherwise it stays a regular join."""
    if not isinstance(plan, n.Join) or plan.null_aware:
        return plan
    left, right = find_window(plan.left), find_window(plan.right)
    if left is None or right is None or left[0] != right[0] or None in (*left[1:3], *right[1:3]):
        return plan
    width = len(plan.left.schema)
    equal = {pair for part in conjuncts(plan.condition) for pair in _equated(part, width)}
    starts, ends = (left[1], right[1]), (left[2], right[2])
    if starts not in equal or ends not in equal:
        return plan
    assert left[1] is not None and left[2] is not None and right[1] is not None and right[2] is not None
    return n.WindowJoin(plan.left, plan.right, plan.kind, plan.condition, (left[1], left[2]), (right[1], right[2]))


def _equated(part: Rex, width: int) -> list[tuple[int | None, int | None]]:
    if not isinstance(part, Call) or part.function != "=":
        return []
    sides = sorted(each.index for each in part.args if isinstance(each, Ref))
    return [(sides[0], sides[1] - width)] if len(sides) == 2 and sides[0] < width <= sides[1] else []


# Aggregates by window


def window_aggregate(plan: n.Rel) -> n.Rel:
    """An ``Aggregate`` whose keys are the bounds of its input's windows becomes an attached ``WindowAggregate``, with
    a projection that puts the columns back in their order. With GROUPING SETS every set must have both bounds."""
    if not isinstance(plan, n.Aggregate):
        return plan
    found = find_window(plan.input)
    if found is None:
        return plan
    window, start, end, time = found
    if start is None or end is None or start not in plan.keys or end not in plan.keys:
        return plan
    properties = {start: "START", end: "END"}
    if time is not None and time in plan.keys:
        properties[time] = plan.input.schema[time].time or "ROWTIME"
    if plan.sets is not None and not _in_every_set(plan, (start, end)):
        return plan
    return _attached(plan, window, (start, end), properties)


def _in_every_set(plan: n.Aggregate, bounds: tuple[int, int]) -> bool:
    positions = [plan.keys.index(each) for each in bounds]
    return all(set(positions) <= set(each) for each in plan.sets or ())


def _attached(plan: n.Aggregate, window: n.WindowSpec, bounds: tuple[int, int], properties: dict[int, str]) -> n.Rel:
    kept = [position for position, key in enumerate(plan.keys) if key not in properties]
    shown = [position for position, key in enumerate(plan.keys) if key in properties]
    calls = range(len(plan.keys), len(plan.schema))
    order = [*kept, *calls, *shown]
    columns = tuple(_with_time(plan, position) for position in order)
    sets = None
    if plan.sets is not None:
        sets = tuple(tuple(kept.index(each) for each in one if each in kept) for one in plan.sets)
    node = n.WindowAggregate(
        plan.input,
        window,
        bounds[1],
        tuple(plan.keys[position] for position in kept),
        plan.aggregates,
        tuple(properties[plan.keys[position]] for position in shown),
        columns,
        bounds,
        sets,
    )
    if order == sorted(order):
        return node
    places = {position: at for at, position in enumerate(order)}
    expressions = tuple(Ref(columns[places[at]].type, places[at]) for at in range(len(order)))
    return n.Project(node, expressions, tuple(columns[places[at]] for at in range(len(order))))


def _with_time(plan: n.Aggregate, position: int) -> n.Field:
    """A column of the result; window_time stays a time attribute, since windows are given out in its order."""
    field = plan.schema[position]
    if position >= len(plan.keys):
        return field
    key = plan.keys[position]
    found = find_window(plan.input)
    is_time = found is not None and found[3] == key
    return replace(field, time=plan.input.schema[key].time if is_time else None)


# Windows whose rows need not be made


def attached_windows(plan: n.Rel) -> n.Rel:
    """An aggregate per window_start and window_end over a ``WindowTable`` assigns the windows itself, where nothing
    else looks at them."""
    return transform(plan, lambda node: _direct(node) if isinstance(node, n.WindowAggregate) else node)


def _direct(node: n.WindowAggregate) -> n.Rel:
    if node.attached is None:
        return node
    columns: tuple[Rex, ...] = tuple(Ref(each.type, index) for index, each in enumerate(node.input.schema))
    conditions: list[Rex] = []
    below = node.input
    while isinstance(below, (n.Project, n.Filter)):
        if isinstance(below, n.Filter):
            conditions.append(below.condition)
        else:
            columns = tuple(substitute(each, below.expressions) for each in columns)
            conditions = [substitute(each, below.expressions) for each in conditions]
        below = below.input
    if not isinstance(below, n.WindowTable):
        return node
    width = len(below.input.schema)
    bounds = [columns[place] for place in node.attached]
    if [each.index if isinstance(each, Ref) else None for each in bounds] != [width, width + 1]:
        return node
    used = {*node.keys, *(place for call in node.aggregates for place in _columns_of(call))}
    if any(_sees_windows(each, width) for each in (*conditions, *(columns[place] for place in used))):
        return node
    if node.window.kind == "SESSION" and not _same_partition(node, columns, below):
        return node
    return _over_rows(node, columns, conditions, below, used)


def _over_rows(
    node: n.WindowAggregate, columns: tuple[Rex, ...], conditions: list[Rex], below: n.WindowTable, used: set[int]
) -> n.Rel:
    source = below.input
    kept = n.Filter(source, conjunction(conditions)) if conditions else source
    expressions = [each if place in used else Literal(each.type.nullable(), None) for place, each in enumerate(columns)]
    time = source.schema[below.time]
    fields = (*(replace(each, time=None) for each in node.input.schema), time)
    projected = n.Project(kept, (*expressions, Ref(time.type, below.time)), fields)
    return replace(node, input=projected, time=len(expressions), attached=None)


def _columns_of(call: AggCall) -> set[int]:
    return {place for each in call.inputs() for place in refs(each)}


def _sees_windows(expression: Rex, width: int) -> bool:
    return max(refs(expression), default=-1) >= width


def _same_partition(node: n.WindowAggregate, columns: tuple[Rex, ...], below: n.WindowTable) -> bool:
    """Whether the sessions of the function are those of the aggregate's keys."""
    keys = [columns[key] for key in node.keys]
    return {each.index for each in keys if isinstance(each, Ref)} == set(below.partition) and all(
        isinstance(each, Ref) for each in keys
    )


# Top-N and deduplication

_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def top_n(plan: n.Rel) -> n.Rel:
    """A filter that bounds the rank of an ``Over`` from above becomes a ``Rank``, or a ``Deduplicate`` for the first
    row in the order of a time attribute. Projections between the two are gone through."""
    if not isinstance(plan, n.Filter):
        return plan
    projects, over = _below(plan.input)
    if over is None:
        return plan
    number = len(over.input.schema)
    column = _trace_up(projects, number)
    if column is None:
        return plan
    first, last, rest = _bounds(plan.condition, column)
    if last is None or last < first:
        return plan
    ranked = _ranked(over, first, last)
    for project in reversed(projects):
        ranked = replace(project, input=ranked)
    return n.Filter(ranked, conjunction(rest)) if rest else ranked


def _below(plan: n.Rel) -> tuple[list[n.Project], n.Over | None]:
    projects: list[n.Project] = []
    while isinstance(plan, n.Project):
        projects.append(plan)
        plan = plan.input
    if isinstance(plan, n.Over) and len(plan.calls) == 1 and plan.calls[0][0].function in _RANKS and plan.order:
        return projects, plan
    return projects, None


def _trace_up(projects: list[n.Project], column: int) -> int | None:
    """The position of a column of the lowest input after the projections; None: one of them drops it."""
    for project in reversed(projects):
        places = [at for at, each in enumerate(project.expressions) if isinstance(each, Ref) and each.index == column]
        if not places:
            return None
        column = places[0]
    return column


def _bounds(condition: Rex, column: int) -> tuple[int, int | None, list[Rex]]:
    """The ranks that a condition lets through, and what else it asks for."""
    first, last, rest = 1, None, []
    for part in conjuncts(condition):
        bound = _bound(part, column)
        if bound is None:
            rest.append(part)
            continue
        low, high = bound
        first = max(first, low)
        if high is not None:
            last = high if last is None else min(last, high)
    return first, last, rest


def _bound(part: Rex, column: int) -> tuple[int, int | None] | None:
    if not isinstance(part, Call) or part.function not in _TURNED:
        return None
    sign, (left, right) = part.function, part.args
    if isinstance(left, Literal) or (isinstance(left, Call) and left.function == "CAST"):
        sign, left, right = _TURNED[sign], right, left
    value = _whole(right)
    if not isinstance(left, Ref) or left.index != column or value is None:
        return None
    return {
        "<": (1, value - 1),
        "<=": (1, value),
        ">": (value + 1, None),
        ">=": (value, None),
        "=": (value, value),
    }[sign]


def _whole(expression: Rex) -> int | None:
    if isinstance(expression, Call) and expression.function == "CAST":
        return _whole(expression.args[0])
    value = expression.value if isinstance(expression, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ranked(over: n.Over, first: int, last: int) -> n.Rel:
    function = over.calls[0][0].function
    window = _window_of(over)
    number = over.produced[0]
    key = over.order[0].expression
    by_time = isinstance(key, Ref) and over.input.schema[key.index].time is not None
    if function == "ROW_NUMBER" and first == last == 1 and by_time and len(over.order) == 1:
        assert isinstance(key, Ref)
        return n.Deduplicate(over.input, over.partition, key.index, over.order[0].descending, window, number)
    return n.Rank(over.input, function, over.partition, over.order, first, last, number, window)


def _window_of(over: n.Over) -> tuple[int, int] | None:
    """The bounds of the window among the columns that are partitioned by."""
    found = window_columns(over.input)
    return found if found is not None and set(found) <= set(over.partition) else None


# Keys of a plan


def row_key(plan: n.Rel) -> tuple[int, ...]:
    """Columns of the result of which no two rows are equal: grouping keys, those of a Top-1 or a table's PRIMARY KEY;
    empty if unknown."""
    return _key(transform(plan, top_n))


def _key(plan: n.Rel) -> tuple[int, ...]:
    if isinstance(plan, n.Scan):
        return tuple(plan.names.index(each) for each in plan.key) if set(plan.key) <= set(plan.names) else ()
    if isinstance(plan, n.Deduplicate):
        return plan.keys
    if isinstance(plan, n.Rank) and plan.first == plan.last == 1 and plan.function == "ROW_NUMBER":
        return plan.partition
    if isinstance(plan, n.Aggregate) and plan.sets is None:
        return tuple(range(len(plan.keys)))
    if isinstance(plan, (n.Filter, n.Watermark, n.Hinted, n.Sort)):
        return _key(plan.input)
    if isinstance(plan, n.Project):
        places = {each.index: at for at, each in reversed(list(enumerate(plan.expressions))) if isinstance(each, Ref)}
        key = _key(plan.input)
        return tuple(places[each] for each in key) if all(each in places for each in key) else ()
    return ()
