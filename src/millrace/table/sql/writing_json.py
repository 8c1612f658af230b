"""JSON calls of a tree back to SQL."""

from __future__ import annotations

from sqlglot import exp, generator

from millrace.table.sql.nodes import (
    JsonArray,
    JsonArrayAgg,
    JsonEntry,
    JsonExists,
    JsonObject,
    JsonObjectAgg,
    JsonQuery,
    JsonValue,
)


class JsonWriter(generator.Generator):
    """Everything that has a default is written."""

    def jsonvalue_text(self, node: JsonValue) -> str:
        clauses = [
            self._action(node, node.args[f"on_{event}"], f"{event}_default") + f" ON {event.upper()}"
            for event in ("empty", "error")
        ]
        return f"JSON_VALUE({self._document(node)}{self._returning(node)} {' '.join(clauses)})"

    def jsonquery_text(self, node: JsonQuery) -> str:
        wrapper = node.args["wrapper"]
        wrapped = "WITHOUT ARRAY WRAPPER" if wrapper == "WITHOUT" else f"WITH {wrapper} ARRAY WRAPPER"
        clauses = f"{node.args['on_empty']} ON EMPTY {node.args['on_error']} ON ERROR"
        return f"JSON_QUERY({self._document(node)}{self._returning(node)} {wrapped} {clauses})"

    def jsonexists_text(self, node: JsonExists) -> str:
        return f"JSON_EXISTS({self._document(node)} {node.args['on_error']} ON ERROR)"

    def jsonentry_text(self, node: JsonEntry) -> str:
        return f"KEY {self.sql(node, 'this')} VALUE {self.sql(node, 'expression')}"

    def jsonobject_text(self, node: JsonObject) -> str:
        return f"JSON_OBJECT({self._items(node)}{node.args['on_null']} ON NULL)"

    def jsonobjectagg_text(self, node: JsonObjectAgg) -> str:
        return f"JSON_OBJECTAGG({self.sql(node, 'this')} {node.args['on_null']} ON NULL)"

    def jsonarray_text(self, node: JsonArray) -> str:
        return f"JSON_ARRAY({self._items(node)}{node.args['on_null']} ON NULL)"

    def jsonarrayagg_text(self, node: JsonArrayAgg) -> str:
        return f"JSON_ARRAYAGG({self.sql(node, 'this')} {node.args['on_null']} ON NULL)"

    def _items(self, node: exp.Expr) -> str:
        items = self.expressions(node, flat=True)
        return f"{items} " if items else ""

    def _document(self, node: exp.Expr) -> str:
        return f"{self.sql(node, 'this')}, {self.sql(node, 'path')}"

    def _returning(self, node: exp.Expr) -> str:
        return f" RETURNING {self.sql(node, 'returning')}" if node.args.get("returning") else ""

    def _action(self, node: exp.Expr, action: str, default: str) -> str:
        return f"DEFAULT {self.sql(node, default)}" if action == "DEFAULT" else action
