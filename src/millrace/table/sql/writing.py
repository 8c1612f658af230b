"""Trees back to Flink SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp, generator

from millrace.table.sql.nodes import (
    NODES,
    Descriptor,
    Final,
    HintCall,
    IntervalLiteral,
    IsJson,
    Joined,
    MapConstructor,
    ModelArgument,
    Running,
    TableArgument,
    TableFunction,
    TypedLiteral,
    TypeName,
)
from millrace.table.sql.writing_json import JsonWriter
from millrace.table.sql.writing_patterns import PatternWriter

_BARE = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}


def _writer(kind: type[exp.Expr]) -> Callable[[generator.Generator, exp.Expr], str]:
    """sqlglot finds the methods of its own classes only."""

    def write(self: generator.Generator, node: exp.Expr) -> str:
        method: Callable[[exp.Expr], str] = getattr(self, f"{kind.__name__.lower()}_text")
        return method(node)

    return write


class FlinkGenerator(JsonWriter, PatternWriter, generator.Generator):
    """Methods are found by the name of the node's class: ``<name>_sql`` for sqlglot's, ``<name>_text`` for ours."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **generator.Generator.TRANSFORMS,
        **{kind: _writer(kind) for kind in NODES},
    }

    def typename_text(self, node: TypeName) -> str:
        return str(node.data_type)

    def typedliteral_text(self, node: TypedLiteral) -> str:
        return f"{node.args['kind']} {self.sql(exp.Literal.string(node.name))}"

    def intervalliteral_text(self, node: IntervalLiteral) -> str:
        sign = "-" if node.args.get("negative") else ""
        unit = node.args["unit"]
        units = unit if unit in ("WEEK", "QUARTER") else node.data_type.sql().removeprefix("INTERVAL ")
        return f"INTERVAL {sign}{self.sql(node, 'this')} {units}"

    def hexstring_sql(self, expression: exp.HexString, binary_function_repr: str | None = None) -> str:
        return f"x'{expression.this}'"

    def array_sql(self, node: exp.Array) -> str:
        return f"ARRAY[{self.expressions(node, flat=True)}]"

    def mapconstructor_text(self, node: MapConstructor) -> str:
        return f"MAP[{self.expressions(node, flat=True)}]"

    def between_sql(self, expression: exp.Between) -> str:
        symmetric = "SYMMETRIC " if expression.args.get("symmetric") else ""
        low, high = self.sql(expression, "low"), self.sql(expression, "high")
        return f"{self.sql(expression, 'this')} BETWEEN {symmetric}{low} AND {high}"

    def all_sql(self, expression: exp.All) -> str:
        return f"ALL {self.sql(expression, 'this')}"

    def any_sql(self, expression: exp.Any) -> str:
        return f"ANY {self.sql(expression, 'this')}"

    def isjson_text(self, node: IsJson) -> str:
        return f"{self.sql(node, 'this')} IS JSON {node.args['kind']}"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name, arguments = expression.name, [self.sql(argument) for argument in expression.expressions]
        if name.upper() in _BARE and not arguments:
            return name
        form = _FORMS.get(name.upper())
        written = form(name, expression.expressions, arguments) if form else ""
        return written or f"{_quoted_if_odd(name)}({', '.join(arguments)})"

    def hint_sql(self, expression: exp.Hint) -> str:
        return f" /*+ {self.expressions(expression, flat=True)} */"

    def hintcall_text(self, node: HintCall) -> str:
        items = (
            f"{self.sql(item, 'this')} = {self.sql(item, 'expression')}"
            if isinstance(item, exp.PropertyEQ)
            else self.sql(item)
            for item in node.expressions
        )
        return f"{node.name}({', '.join(items)})"

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        parts = [expression.args.get(part) for part in ("catalog", "db", "this")]
        name = ".".join(self.sql(part) for part in parts if part)
        hints = "".join(self.sql(hint) for hint in expression.args.get("hints") or ())
        version = expression.args.get("version")
        moment = f" FOR SYSTEM_TIME AS OF {self.sql(version, 'expression')}" if version else ""
        return f"{name}{hints}{moment}{self._alias(expression)}"

    def joined_text(self, node: Joined) -> str:
        joins = "".join(self.sql(join) for join in node.args["joins"])
        return f"({self.sql(node, 'this')}{joins})"

    def tablefunction_text(self, node: TableFunction) -> str:
        return f"{'LATERAL ' * bool(node.args.get('lateral'))}TABLE({self.sql(node, 'this')}){self._alias(node)}"

    def lateral_sql(self, expression: exp.Lateral) -> str:
        return f"LATERAL {self.sql(expression, 'this')}{self._alias(expression)}"

    def unnest_sql(self, expression: exp.Unnest) -> str:
        ordinality = " WITH ORDINALITY" if expression.args.get("offset") else ""
        return f"UNNEST({self.expressions(expression, flat=True)}){ordinality}{self._alias(expression)}"

    def values_sql(self, expression: exp.Values, values_as_table: bool = True) -> str:
        return self.query_modifiers(expression, f"VALUES {self.expressions(expression, flat=True)}")

    def tableargument_text(self, node: TableArgument) -> str:
        parts = self.expressions(node, key="partition_by", flat=True)
        partition = f" PARTITION BY ({parts})" if parts else ""
        order = node.args.get("order")
        ordered = f" ORDER BY ({self.expressions(order, flat=True)})" if order else ""
        return f"TABLE {self.sql(node, 'this')}{partition}{ordered}"

    def modelargument_text(self, node: ModelArgument) -> str:
        return f"MODEL {self.sql(node, 'this')}"

    def descriptor_text(self, node: Descriptor) -> str:
        return f"DESCRIPTOR({self.expressions(node, flat=True)})"

    def ordered_sql(self, expression: exp.Ordered) -> str:
        nulls_first = expression.args.get("nulls_first")
        nulls = "" if nulls_first is None else f" NULLS {'FIRST' if nulls_first else 'LAST'}"
        return f"{self.sql(expression, 'this')}{' DESC' * bool(expression.args.get('desc'))}{nulls}"

    def window_sql(self, expression: exp.Window) -> str:
        named = isinstance(expression.this, exp.Identifier)
        alias = self.sql(expression, "alias")
        partition = self.expressions(expression, key="partition_by", flat=True)
        parts = [
            alias,
            f"PARTITION BY {partition}" if partition else "",
            self.sql(expression, "order").strip(),
            self.sql(expression, "spec"),
        ]
        inside = " ".join(filter(None, parts))
        bare = alias and inside == alias and not named
        return f"{self.sql(expression, 'this')} {'AS' if named else 'OVER'} {alias if bare else f'({inside})'}"

    def final_text(self, node: Final) -> str:
        return f"FINAL {self.sql(node, 'this')}"

    def running_text(self, node: Running) -> str:
        return f"RUNNING {self.sql(node, 'this')}"

    def _alias(self, node: exp.Expr) -> str:
        alias = self.sql(node, "alias")
        return f" AS {alias}" if alias else ""


def _quoted_if_odd(name: str) -> str:
    return name if name.isidentifier() else f"`{name.replace('`', '``')}`"


Form = Callable[[str, list[exp.Expr], list[str]], str]
"""A call in its own syntax: from its name, arguments and their texts. Empty if these arguments do not have it."""


def _extract(name: str, nodes: list[exp.Expr], texts: list[str]) -> str:
    return f"{name}({texts[0]} FROM {texts[1]})"


def _rounded(name: str, nodes: list[exp.Expr], texts: list[str]) -> str:
    return f"{name}({' TO '.join(texts)})" if isinstance(nodes[-1], exp.Var) else ""


def _trim(name: str, nodes: list[exp.Expr], texts: list[str]) -> str:
    return f"{name}({texts[0]} {texts[1]} FROM {texts[2]})" if isinstance(nodes[0], exp.Var) else ""


def _position(name: str, nodes: list[exp.Expr], texts: list[str]) -> str:
    return f"{name}({texts[0]} IN {texts[1]})"


def _overlaps(name: str, nodes: list[exp.Expr], texts: list[str]) -> str:
    return f"({texts[0]}, {texts[1]}) OVERLAPS ({texts[2]}, {texts[3]})"


_FORMS: dict[str, Form] = {
    "EXTRACT": _extract,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "CEILING": _rounded,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAPS": _overlaps,
}
