"""Joins of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.relational import nodes as n
from millrace.relational.rex import Call, Rex, conjuncts
from millrace.relational.rules.join_rules import most_bytes, sides_of_key
from millrace.relational.types import DataType, DoubleType, FloatType
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute, names, types_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import NOTHING, Part, numbered, query
from millrace.spark.tables.steps.sql_text import near, spark_text

_KINDS = {"INNER": "INNER", "LEFT": "LEFT", "RIGHT": "RIGHT", "FULL": "FULL", "SEMI": "LEFT SEMI", "ANTI": "LEFT ANTI"}
_UNTIL = "valid_until"


@batch_form(n.Join)
def join(node: n.Join, inputs: list[Part], context: Context) -> Part:
    """A regular join."""
    small = _side_to_send(node, context)
    sent = next((name for name, side in (("l", node.left), ("r", node.right)) if side is small), "")
    hint = f"/*+ BROADCAST({sent}) */ " if sent else ""
    return _joined(node, inputs, conjuncts(node.condition), [], context, hint)


def _side_to_send(node: n.Join, context: Context) -> n.Rel | None:
    """The side that every task gets whole instead of both being sent around by key: one that is small by what the
    catalog has counted. Spark itself cannot know how much a source of ours gives. What the user has said of a side is
    left to Spark."""
    if isinstance(node.left, n.Hinted) or isinstance(node.right, n.Hinted):
        return None
    sides = {"INNER": (node.left, node.right), "RIGHT": (node.left,), "FULL": ()}.get(node.kind, (node.right,))
    most = _broadcast_bytes(context)
    sizes = [(size, at, side) for at, side in enumerate(sides) if (size := most_bytes(side)) is not None]
    smallest = min(sizes, key=lambda each: each[:2], default=None)
    return smallest[2] if smallest is not None and smallest[0] <= most else None


def _broadcast_bytes(context: Context) -> int:
    """``spark.sql.autoBroadcastJoinThreshold``; -1 for never."""
    return int(context.session._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold())


@batch_form(n.IntervalJoin)
def interval_join(node: n.IntervalJoin, inputs: list[Part], context: Context) -> Part:
    """A join whose rows are near each other in time."""
    right = len(node.left.schema) + node.right_time
    time = node.left.schema[node.left_time].type
    bounds = near(f"c{node.left_time}", f"c{right}", time, node.lower, node.upper)
    return _joined(node, inputs, conjuncts(node.condition), [bounds], context)


@batch_form(n.WindowJoin)
def window_join(node: n.WindowJoin, inputs: list[Part], context: Context) -> Part:
    """A join of rows in equal windows."""
    offset = len(node.left.schema)
    pairs = zip(node.left_window, node.right_window)
    equal = [f"c{left} = c{offset + right}" for left, right in pairs]
    return _joined(node, inputs, conjuncts(node.condition), equal, context)


@batch_form(n.TemporalJoin)
def temporal_join(node: n.TemporalJoin, inputs: list[Part], context: Context) -> Part:
    """Each left row with the version of the right table that was valid at its time: a version is valid from its time to
    that of the next one with the same key."""
    if node.right_time is None:
        return _joined(node, inputs, conjuncts(node.condition), [], context)
    left, right = inputs
    offset = len(node.left.schema)
    keys = ", ".join(f"c{key}" for key in node.right_key)
    end = f"lead(c{node.right_time}) OVER (PARTITION BY {keys} ORDER BY c{node.right_time})"
    versions = right.plus({_UNTIL: end})
    time = f"c{offset + node.right_time}"
    valid = [f"{time} <= c{node.left_time}", f"({_UNTIL} IS NULL OR c{node.left_time} < {_UNTIL})"]
    return _joined(node, [left, versions], conjuncts(node.condition), valid, context, more_columns=[_UNTIL])


def _joined(
    node: n.Join | n.IntervalJoin | n.WindowJoin | n.TemporalJoin,
    inputs: list[Part],
    condition: list[Rex],
    more: list[str],
    context: Context,
    hint: str = "",
    more_columns: Sequence[str] = (),
) -> Part:
    """The inputs joined.

    :param more: conditions as texts, over the columns of both inputs and ``more_columns``.
    :param more_columns: what else the right input has.
    """
    left, right = inputs
    left_types, right_types = types_of(node.left.schema), types_of(node.right.schema)
    types = [*left_types, *right_types]
    right = right.select([*numbered(names(len(right_types)), len(left_types)), *more_columns])
    null_aware = isinstance(node, n.Join) and node.null_aware
    texts = list(more)
    both: list[Rex] = []
    for part in condition:
        text = _condition_text(part, len(left_types))
        if text is None:
            both.append(part)
        else:
            texts.append(f"({text} OR {text} IS NULL)" if null_aware else text)
    pairs = _Pairs(node.kind, left, right, " AND ".join(texts), hint)
    if both:
        return _with_python(pairs, both, types, len(left_types), context, null_aware)
    return pairs.select(names(len(left_types) if node.kind in ("SEMI", "ANTI") else len(types)))


def _condition_text(part: Rex, width: int) -> str | None:
    """One condition over the columns of both inputs. Keys are equal by Spark's own ``=``, for which NaN equals NaN as
    in GROUP BY; and only by that does Spark bring the rows together by key."""
    sides = sides_of_key(part, width) if isinstance(part, Call) and part.function == "=" else None
    if sides is None or not all(isinstance(side.type, (FloatType, DoubleType)) for side in sides):
        return spark_text(part)
    texts = [spark_text(side) for side in sides]
    return None if None in texts else f"({texts[0]} = {texts[1]})"


@dataclass(frozen=True)
class _Pairs:
    """Rows of two inputs, whose columns have different names, that fit each other."""

    kind: str
    left: Part
    right: Part
    condition: str
    hint: str = ""

    def select(self, columns: Sequence[str]) -> Part:
        """Columns of both; of the left one for SEMI and ANTI."""
        both = f"{self.left.relation} AS l {_KINDS[self.kind]} JOIN {self.right.relation} AS r"
        listed = ", ".join(columns) or NOTHING
        return query(f"SELECT {self.hint}{listed} FROM {both} ON {self.condition or 'TRUE'}", self.left, self.right)


def _with_python(
    pairs: _Pairs, condition: list[Rex], types: list[DataType], offset: int, context: Context, null_aware: bool
) -> Part:
    """A join with a condition that Python checks: on the pairs of all the rest. Rows of an optional side that have no
    pair left are found by a number that every row gets.

    :param offset: the number of columns of the left side.
    :raises NotImplementedError: a FULL join, whose both sides are optional.
    """
    width = len(types)
    if pairs.kind == "INNER":
        computed = compute(pairs.select(names(width)), condition, types, context)
        return computed.part.where(computed.texts).select(names(width))
    if pairs.kind == "FULL":
        raise NotImplementedError(
            "a FULL OUTER JOIN with a function in its condition that only Python can compute: compute the function in "
            "a query below the join, or write it as a UNION ALL of a LEFT JOIN and what is left of the right side"
        )
    # The side whose rows stay is numbered, the optional one marked.
    swapped = pairs.kind == "RIGHT"
    number, mark = {"row_id": "monotonically_increasing_id()"}, {"matched": "TRUE"}
    left, right = pairs.left.plus(mark if swapped else number), pairs.right.plus(number if swapped else mark)
    found = replace(pairs, kind="RIGHT" if swapped else "LEFT", left=left, right=right)
    computed = compute(found.select([*names(width), "row_id", "matched"]), condition, types, context)
    checks = [f"({text} OR {text} IS NULL)" if null_aware else text for text in computed.texts]
    holds = f"coalesce({' AND '.join(['matched IS NOT NULL', *checks])}, FALSE)"
    counted = computed.part.select([*names(width), "row_id", f"{holds} AS holds"]).plus(
        {
            "any_holds": "max(holds) OVER (PARTITION BY row_id)",
            "place": "row_number() OVER (PARTITION BY row_id ORDER BY holds DESC)",
        }
    )
    if pairs.kind in ("SEMI", "ANTI"):
        kept = counted.where([f"place = 1 AND {'NOT ' if pairs.kind == 'ANTI' else ''}any_holds"])
        return kept.select(names(offset))
    kept = counted.where(["(holds OR (place = 1 AND NOT any_holds))"])
    optional = range(offset) if swapped else range(offset, width)
    return kept.select(
        [f"CASE WHEN holds THEN c{at} END AS c{at}" if at in optional else f"c{at}" for at in range(width)]
    )
