"""Nodes of trees for what sqlglot has no class for. ``parser.py`` lists where each occurs."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from millrace.relational.types import DataType, YearMonthIntervalType


class TypeName(exp.Expression):
    """A data type in a cast: ``data_type``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}

    @property
    def data_type(self) -> DataType:
        found = self.args["this"]
        assert isinstance(found, DataType)
        return found


class TypedLiteral(exp.Expression):
    """DATE '2024-01-31', TIME '..', TIMESTAMP '..'."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression):
    """INTERVAL '1 02:00' DAY TO MINUTE. ``value``: microseconds, or months if ``data_type`` counts months."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "unit": True,
        "data_type": True,
        "value": True,
        "negative": False,
    }

    @property
    def data_type(self) -> DataType:
        found = self.args["data_type"]
        assert isinstance(found, DataType)
        return found

    @property
    def value(self) -> int:
        return int(self.args["value"])

    @property
    def in_months(self) -> bool:
        return isinstance(self.data_type, YearMonthIntervalType)


class IsJson(exp.Expression):
    """x IS JSON [VALUE | SCALAR | ARRAY | OBJECT]."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class MapConstructor(exp.Expression):
    """MAP[k1, v1, k2, v2]."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class TableFunction(exp.Expression):
    """A call in FROM."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "lateral": False, "alias": False}


class Joined(exp.Expression):
    """A relation with joins of its own: a join in brackets, or a RIGHT or FULL join after a comma."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "joins": True}


class HintCall(exp.Expression):
    """A hint with its name and what stands in its brackets."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


class TableArgument(exp.Expression):
    """TABLE t PARTITION BY .. ORDER BY .. as an argument."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False, "order": False}


class ModelArgument(exp.Expression):
    """MODEL m as an argument."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Descriptor(exp.Expression):
    """DESCRIPTOR(a, b) as an argument."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class JsonValue(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "path": True,
        "returning": False,
        "on_empty": True,
        "empty_default": False,
        "on_error": True,
        "error_default": False,
    }


class JsonQuery(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "path": True,
        "returning": False,
        "wrapper": True,
        "on_empty": True,
        "on_error": True,
    }


class JsonExists(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "path": True, "on_error": True}


class JsonEntry(exp.Expression):
    """A key and its value."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class JsonObject(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": False, "on_null": True}


class JsonObjectAgg(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "on_null": True}


class JsonArray(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": False, "on_null": True}


class JsonArrayAgg(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "on_null": True}


class MatchRecognize(exp.Expression):
    """A search for patterns in the rows of a relation."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition_by": False,
        "order": False,
        "measures": False,
        "rows": True,
        "after": False,
        "pattern": True,
        "anchors": False,
        "within": False,
        "subsets": False,
        "define": True,
        "alias": False,
    }


class AfterMatch(exp.Expression):
    """Where the search goes on: ``mode``, and the variable that TO FIRST and TO LAST name."""

    arg_types: ClassVar[dict[str, bool]] = {"mode": True, "target": False}


class PatternVariable(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class PatternSequence(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class PatternAlternation(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class PatternPermutation(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class PatternQuantifier(exp.Expression):
    """From ``low`` to ``high`` times (None: without end); ``reluctant``: as few as possible."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "low": True, "high": False, "reluctant": False}


class PatternExclusion(exp.Expression):
    """{- part -}: matched, but not among the rows of the match."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Final(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Running(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


NODES = tuple(kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, exp.Expression))
"""All classes of this module."""


def table_path(table: exp.Table) -> tuple[str, ...]:
    """The names of a table as written: one to three."""
    return tuple(part.name for part in (table.args.get("catalog"), table.args.get("db"), table.this) if part)


def column_parts(column: exp.Column | exp.Dot) -> tuple[exp.Identifier, ...]:
    """The names of ``a.b.c`` in their order.

    :raises ValueError: a field of something that is not a name.
    """
    if isinstance(column, exp.Dot):
        if not isinstance(column.this, (exp.Column, exp.Dot)):
            raise ValueError(f"{column.this!r} is not a name")
        return (*column_parts(column.this), column.expression)
    return tuple(column.args[part] for part in ("catalog", "db", "table", "this") if column.args.get(part))


def call_path(call: exp.Anonymous | exp.Dot) -> tuple[str, ...]:
    """The names of ``cat.db.f`` in their order, of a call or of what qualifies one."""
    if isinstance(call, exp.Dot):
        return (*_dotted(call.this), *call_path(call.expression))
    return (call.name,)


def _dotted(node: exp.Expr) -> tuple[str, ...]:
    return (*_dotted(node.this), node.expression.name) if isinstance(node, exp.Dot) else (node.name,)


def hint_options(hint: HintCall) -> dict[str, str]:
    """The keys and values of OPTIONS, STATE_TTL, LOOKUP."""
    pairs = (part for part in hint.expressions if isinstance(part, exp.PropertyEQ))
    return {pair.this.name: pair.expression.name for pair in pairs}


def hint_names(hint: HintCall) -> tuple[str, ...]:
    """The tables that BROADCAST and its like name."""
    return tuple(part.name for part in hint.expressions if not isinstance(part, exp.PropertyEQ))
