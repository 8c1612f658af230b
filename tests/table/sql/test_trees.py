"""The nodes that each construct becomes: what the docstring of ``parser.py`` promises."""

from __future__ import annotations

from typing import Any

import pytest
from tests.corpus import corpus

from millrace.relational import types
from millrace.table.sql import nodes
from millrace.table.sql.grammar.parser import parse_expression, parse_query
from millrace.table.sql.writing import written


def name(text: str, quoted: bool = False) -> nodes.Identifier:
    return nodes.Identifier(this=text, quoted=quoted)


def col(text: str, table: str | None = None) -> nodes.Column:
    return nodes.Column(this=name(text), table=name(table) if table else None)


def call(function: str, *arguments: nodes.Node) -> nodes.Call:
    return nodes.Call(this=function, expressions=arguments)


def op(function: str, *operands: nodes.Node) -> nodes.BuiltIn:
    return nodes.BuiltIn(function, operands)


def num(value: float) -> nodes.Literal:
    return nodes.Literal(this=str(value), is_string=False)


def text(value: str) -> nodes.Literal:
    return nodes.Literal.string(value)


def var(value: str) -> nodes.Var:
    return nodes.Var(this=value)


A, B, C, D = map(col, "abcd")

EXPRESSIONS: dict[str, nodes.Node] = {
    "a.b.c.d": nodes.Column(this=name("d"), table=name("c"), db=name("b"), catalog=name("a")),
    "a.b.c.d.e": nodes.Dot(
        this=nodes.Column(this=name("d"), table=name("c"), db=name("b"), catalog=name("a")), expression=name("e")
    ),
    "`a b`": nodes.Column(this=name("a b", quoted=True)),
    "t.order": nodes.Column(this=name("order"), table=name("t")),
    "f(a).b": nodes.Dot(this=call("f", A), expression=name("b")),
    "a[1].b": nodes.Dot(this=op("ITEM", A, num(1)), expression=name("b")),
    "(a).*": nodes.Dot(this=nodes.Paren(this=A), expression=nodes.Star()),
    "1.50": nodes.Literal(this="1.50", is_string=False),
    "'it''s' ' b'": text("it's b"),
    "U&'\\00e4'": text("ä"),
    "U&'a#263A##' UESCAPE '#'": text("a☺#"),
    "u&'\\+01F600\\D83D\\DE00'": text("😀😀"),
    "x'0aFF'": nodes.HexString(this="0AFF"),
    "-1": nodes.Neg(this=num(1)),
    "+a": A,
    "a <> b": op("<>", A, B),
    "a != b": op("<>", A, B),
    "a || b": op("||", A, B),
    "a % b": op("%", A, B),
    "DATE '2024-02-29'": nodes.TypedLiteral(kind="DATE", this="2024-02-29"),
    "timestamp '2024-02-29 10:00:00'": nodes.TypedLiteral(kind="TIMESTAMP", this="2024-02-29 10:00:00"),
    "a IS NOT NULL": op("IS NOT NULL", A),
    "a IS NOT FALSE": op("IS NOT FALSE", A),
    "a IS UNKNOWN": op("IS UNKNOWN", A),
    "a IS DISTINCT FROM b": op("IS DISTINCT FROM", A, B),
    "a IS NOT DISTINCT FROM b": op("IS NOT DISTINCT FROM", A, B),
    "a IS NOT JSON": nodes.Not(this=op("IS JSON", A, var("VALUE"))),
    "a IS JSON OBJECT": op("IS JSON", A, var("OBJECT")),
    "a NOT BETWEEN SYMMETRIC b AND c": nodes.Not(this=nodes.Between(this=A, low=B, high=C, symmetric=True)),
    "a NOT IN (b, c)": nodes.Not(this=nodes.In(this=A, expressions=(B, C))),
    "a NOT LIKE 'x' ESCAPE '!'": nodes.Not(this=op("LIKE", A, text("x"), text("!"))),
    "a SIMILAR TO b": op("SIMILAR TO", A, B),
    "(a, b) OVERLAPS (c, d)": call("OVERLAPS", A, B, C, D),
    "CASE a WHEN b THEN c ELSE d END": nodes.Case(this=A, ifs=(nodes.If(this=B, true=C),), default=D),
    "CASE a WHEN b, d THEN c END": nodes.Case(this=A, ifs=(nodes.If(this=B, true=C), nodes.If(this=D, true=C))),
    "CAST(a AS INT NOT NULL)": nodes.Cast(this=A, to=nodes.TypeName(data_type=types.IntType(False))),
    "try_cast(a AS STRING)": nodes.TryCast(this=A, to=nodes.TypeName(data_type=types.string())),
    "(a, b)": nodes.Tuple(expressions=(A, B)),
    "ROW(a, b)": call("ROW", A, B),
    "ARRAY[a, b]": op("ARRAY", A, B),
    "MAP[a, b]": op("MAP", A, B),
    "Count(*)": call("Count", nodes.Star()),
    "COUNT(DISTINCT a, b)": call("COUNT", nodes.Distinct(expressions=(A, B))),
    "SUM(ALL a)": call("SUM", A),
    "c.db.f(a)": nodes.Dot(this=nodes.Dot(this=name("c"), expression=name("db")), expression=call("f", A)),
    "f(x => a, DEFAULT)": call("f", nodes.Kwarg(this=name("x"), expression=A), var("DEFAULT")),
    "LEFT(a, 1)": call("LEFT", A, num(1)),
    "CURRENT_DATE": call("CURRENT_DATE"),
    "LOCALTIMESTAMP": call("LOCALTIMESTAMP"),
    "EXTRACT(days FROM a)": call("EXTRACT", var("DAY"), A),
    "FLOOR(a TO HOUR)": call("FLOOR", A, var("HOUR")),
    "CEIL(a)": call("CEIL", A),
    "TIMESTAMPDIFF(SQL_TSI_MONTH, a, b)": call("TIMESTAMPDIFF", var("MONTH"), A, B),
    "TRIM(a)": call("TRIM", A),
    "TRIM(TRAILING FROM a)": call("TRIM", var("TRAILING"), text(" "), A),
    "TRIM('x' FROM a)": call("TRIM", var("BOTH"), text("x"), A),
    "POSITION(a IN b)": call("POSITION", A, B),
    "OVERLAY(a PLACING b FROM 2 FOR 3)": call("OVERLAY", A, B, num(2), num(3)),
    "SUBSTRING(a FROM 2)": call("SUBSTRING", A, num(2)),
    "SUBSTRING(a, 2, 3)": call("SUBSTRING", A, num(2), num(3)),
    "LAST(a) IGNORE NULLS OVER w": nodes.Window(this=nodes.IgnoreNulls(this=call("LAST", A)), alias=name("w")),
    "f(a RESPECT NULLS)": nodes.RespectNulls(this=call("f", A)),
    "f(a) WITHIN GROUP (ORDER BY b) FILTER (WHERE c)": nodes.Filter(
        this=nodes.WithinGroup(this=call("f", A), expression=nodes.Order((nodes.Ordered(B),))),
        expression=nodes.Where(this=C),
    ),
    "f() OVER (w PARTITION BY a ORDER BY b DESC NULLS LAST ROWS 2 PRECEDING)": nodes.Window(
        this=call("f"),
        alias=name("w"),
        partition_by=(A,),
        order=nodes.Order(expressions=(nodes.Ordered(this=B, desc=True, nulls_first=False),)),
        spec=nodes.WindowSpec(kind="ROWS", start=num(2), start_side="PRECEDING", end="CURRENT ROW"),
    ),
    "f() OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)": nodes.Window(
        this=call("f"),
        spec=nodes.WindowSpec("RANGE", "UNBOUNDED", num(1), "PRECEDING", "FOLLOWING"),
    ),
    "JSON_VALUE(a, '$.b')": nodes.JsonValue(this=A, path=text("$.b"), on_empty="NULL", on_error="NULL"),
    "JSON_VALUE(a, '$' RETURNING INT ERROR ON EMPTY DEFAULT 1 ON ERROR)": nodes.JsonValue(
        this=A,
        path=text("$"),
        returning=nodes.TypeName(data_type=types.IntType()),
        on_empty="ERROR",
        on_error="DEFAULT",
        error_default=num(1),
    ),
    **{
        f"JSON_VALUE(a, '$' RETURNING {kind} NULL ON EMPTY ERROR ON ERROR)": nodes.JsonValue(
            this=A, path=text("$"), returning=nodes.TypeName(data_type=found), on_empty="NULL", on_error="ERROR"
        )
        for kind, found in (
            ("INTEGER", types.IntType()),
            ("BOOLEAN NULL", types.BooleanType()),
            ("BIGINT NOT NULL", types.BigIntType(False)),
        )
    },
    "JSON_QUERY(a, '$' RETURNING ARRAY<STRING> NULL ON ERROR)": nodes.JsonQuery(
        this=A,
        path=text("$"),
        returning=nodes.TypeName(data_type=types.ArrayType(types.string())),
        wrapper="WITHOUT",
        on_empty="NULL",
        on_error="NULL",
    ),
    "JSON_QUERY(a, '$' WITH WRAPPER EMPTY OBJECT ON ERROR)": nodes.JsonQuery(
        this=A, path=text("$"), wrapper="UNCONDITIONAL", on_empty="NULL", on_error="EMPTY OBJECT"
    ),
    "JSON_EXISTS(a, '$')": nodes.JsonExists(this=A, path=text("$"), on_error="FALSE"),
    "JSON_OBJECT(KEY a VALUE b, 'c' VALUE d)": nodes.JsonObject(
        expressions=(nodes.JsonEntry(this=A, expression=B), nodes.JsonEntry(this=text("c"), expression=D)),
        on_null="NULL",
    ),
    "JSON_OBJECT(ABSENT ON NULL)": nodes.JsonObject(on_null="ABSENT"),
    "JSON_ARRAY(a)": nodes.JsonArray(expressions=(A,), on_null="ABSENT"),
    "JSON_ARRAY(NULL ON NULL)": nodes.JsonArray(on_null="NULL"),
    "JSON_OBJECTAGG(a VALUE b)": nodes.JsonObjectAgg(this=nodes.JsonEntry(this=A, expression=B), on_null="NULL"),
    "JSON_ARRAYAGG(a NULL ON NULL)": nodes.JsonArrayAgg(this=A, on_null="NULL"),
}


@corpus("written", EXPRESSIONS, 79)
def test_expressions_become_their_nodes(written: str) -> None:
    assert parse_expression(written) == EXPRESSIONS[written]


def test_an_interval_has_its_type_and_value() -> None:
    found = parse_expression("INTERVAL -'1 02:00' DAY(3) TO MINUTE")
    assert isinstance(found, nodes.IntervalLiteral)
    resolution = types.DayTimeIntervalType.DayTimeResolution.DAY_TO_MINUTE
    assert found.data_type == types.DayTimeIntervalType(resolution, 3)
    assert (found.value, found.in_months, found.unit) == (-26 * 3_600_000_000, False, "DAY TO MINUTE")


def table(text: str, **args: Any) -> nodes.Table:
    return nodes.Table(this=name(text), **args)


def alias(text: str, *columns: str) -> nodes.TableAlias:
    return nodes.TableAlias(this=name(text), columns=tuple(name(column) for column in columns))


ONE = nodes.Select(expressions=(num(1),))

RELATIONS: dict[str, nodes.Node] = {
    "c.d.t": nodes.Table(this=name("t"), db=name("d"), catalog=name("c")),
    "t AS u (x, y)": table("t", alias=alias("u", "x", "y")),
    "t /*+ OPTIONS('k' = 'v') */ u": table(
        "t",
        hints=(
            nodes.Hint(
                expressions=(nodes.HintCall("OPTIONS", (nodes.PropertyEQ(this=text("k"), expression=text("v")),)),)
            ),
        ),
        alias=alias("u"),
    ),
    "t FOR SYSTEM_TIME AS OF a AS u": table("t", version=nodes.Version(A), alias=alias("u")),
    "(SELECT 1) u": nodes.Subquery(this=ONE, alias=alias("u")),
    "(VALUES (1), (2)) AS u (x)": nodes.Subquery(
        this=nodes.Values(expressions=(nodes.Tuple(expressions=(num(1),)), nodes.Tuple(expressions=(num(2),)))),
        alias=alias("u", "x"),
    ),
    "LATERAL (SELECT 1) AS u": nodes.Lateral(this=nodes.Subquery(this=ONE), alias=alias("u")),
    "LATERAL TABLE(f(a)) AS u (x)": nodes.TableFunction(this=call("f", A), lateral=True, alias=alias("u", "x")),
    "TABLE(f(TABLE t PARTITION BY a ORDER BY b, DESCRIPTOR(c)))": nodes.TableFunction(
        this=call(
            "f",
            nodes.TableArgument(
                this=table("t"),
                partition_by=(A,),
                order=nodes.Order(expressions=(nodes.Ordered(this=B, desc=False),)),
            ),
            nodes.Descriptor(expressions=(name("c"),)),
        )
    ),
    "f(TABLE (SELECT 1), MODEL d.m)": nodes.TableFunction(
        this=call(
            "f",
            nodes.TableArgument(this=nodes.Subquery(this=ONE)),
            nodes.ModelArgument(this=nodes.Table(this=name("m"), db=name("d"))),
        )
    ),
    "UNNEST(a) WITH ORDINALITY AS u (x, i)": nodes.Unnest(expressions=(A,), offset=True, alias=alias("u", "x", "i")),
    "(t JOIN u USING (a))": nodes.Joined(
        this=table("t"), joins=(nodes.Join(this=table("u"), kind="INNER", using=(name("a"),)),)
    ),
    "t MATCH_RECOGNIZE (PARTITION BY a ORDER BY b MEASURES LAST(X.c) AS l ALL ROWS PER MATCH "
    "AFTER MATCH SKIP TO FIRST X PATTERN (^ X{2,}? (Y | Z)+ {- W -}) WITHIN INTERVAL '1' MONTH "
    "SUBSET S = (X, Y) DEFINE X AS c) AS m": nodes.MatchRecognize(
        this=table("t"),
        partition_by=(A,),
        order=nodes.Order(expressions=(nodes.Ordered(this=B, desc=False),)),
        measures=(nodes.Alias(this=call("LAST", col("c", "X")), alias=name("l")),),
        rows="ALL ROWS PER MATCH",
        after=nodes.AfterMatch(mode="TO FIRST", target=name("X")),
        pattern=nodes.PatternSequence(
            expressions=(
                nodes.PatternQuantifier(this=nodes.PatternVariable(this=name("X")), low=2, reluctant=True),
                nodes.PatternQuantifier(
                    this=nodes.PatternAlternation(
                        expressions=(nodes.PatternVariable(this=name("Y")), nodes.PatternVariable(this=name("Z")))
                    ),
                    low=1,
                ),
                nodes.PatternExclusion(this=nodes.PatternVariable(this=name("W"))),
            )
        ),
        anchors="^",
        within=next(parse_expression("INTERVAL '1' MONTH").find_all(nodes.IntervalLiteral)),
        subsets=(nodes.Alias(this=nodes.Tuple(expressions=(name("X"), name("Y"))), alias=name("S")),),
        define=(nodes.Alias(this=C, alias=name("X")),),
        alias=alias("m"),
    ),
}


@pytest.mark.parametrize("written", RELATIONS)
def test_relations_become_their_nodes(written: str) -> None:
    expected = nodes.Select(expressions=(nodes.Star(),), from_=nodes.From(this=RELATIONS[written]))
    assert parse_query(f"SELECT * FROM {written}") == expected


def select(**args: Any) -> nodes.Select:
    return nodes.Select(expressions=(A,), from_=nodes.From(this=table("t")), **args)


def item(node: nodes.Node, desc: bool = False, nulls_first: bool | None = None) -> nodes.Ordered:
    return nodes.Ordered(this=node, desc=desc, nulls_first=nulls_first)


CLAUSES: dict[str, nodes.Node] = {
    "SELECT DISTINCT a FROM t": select(distinct=nodes.Distinct()),
    "SELECT ALL a FROM t": select(),
    "SELECT /*+ BROADCAST(t, d.u) */ a FROM t": select(
        hint=nodes.Hint(expressions=(nodes.HintCall(this="BROADCAST", expressions=(text("t"), text("d.u"))),))
    ),
    "SELECT a FROM t WHERE b": select(where=nodes.Where(this=B)),
    "SELECT a FROM t GROUP BY a, GROUPING SETS ((b, c), (b), ()), CUBE (c), ROLLUP ((a, b), c)": select(
        group=nodes.Group(
            expressions=(
                A,
                nodes.GroupingSets(
                    expressions=(nodes.Tuple(expressions=(B, C)), nodes.Paren(this=B), nodes.Tuple(expressions=()))
                ),
                nodes.Cube(expressions=(C,)),
                nodes.Rollup(expressions=(nodes.Tuple(expressions=(A, B)), C)),
            )
        )
    ),
    "SELECT a FROM t HAVING b": select(having=nodes.Having(this=B)),
    "SELECT a FROM t QUALIFY b": select(qualify=nodes.Qualify(this=B)),
    "SELECT a FROM t WINDOW w AS (ORDER BY b), x AS (w)": select(
        windows=(
            nodes.Window(this=name("w"), order=nodes.Order(expressions=(item(B),))),
            nodes.Window(this=name("x"), alias=name("w")),
        )
    ),
    "SELECT a FROM t ORDER BY b DESC, c NULLS FIRST LIMIT 3 OFFSET 2": select(
        order=nodes.Order(expressions=(item(B, desc=True), item(C, nulls_first=True))),
        limit=nodes.Limit(expression=num(3)),
        offset=nodes.Offset(expression=num(2)),
    ),
    "SELECT a FROM t OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY": select(
        limit=nodes.Limit(expression=num(3)), offset=nodes.Offset(expression=num(2))
    ),
    "SELECT a FROM t, u LEFT JOIN v ON b, w CROSS JOIN x": select(
        joins=(
            nodes.Join(this=table("u"), kind="CROSS"),
            nodes.Join(this=table("v"), side="LEFT", kind="OUTER", on=B),
            nodes.Join(this=table("w"), kind="CROSS"),
            nodes.Join(this=table("x"), kind="CROSS"),
        )
    ),
    "SELECT a FROM t, u RIGHT JOIN v ON b": select(
        joins=(
            nodes.Join(
                this=nodes.Joined(table("u"), (nodes.Join(this=table("v"), side="RIGHT", kind="OUTER", on=B),)),
                kind="CROSS",
            ),
        )
    ),
    "SELECT a FROM t NATURAL JOIN u": select(joins=(nodes.Join(this=table("u"), kind="INNER", method="NATURAL"),)),
    "SELECT 1 UNION ALL SELECT 1 INTERSECT SELECT 1 EXCEPT SELECT 1 LIMIT 2": nodes.Except(
        this=nodes.Union(this=ONE, expression=nodes.Intersect(this=ONE, expression=ONE, distinct=True), distinct=False),
        expression=ONE,
        distinct=True,
        limit=nodes.Limit(expression=num(2)),
    ),
    "SELECT a FROM TABLE t FETCH FIRST ROW ONLY": select(limit=nodes.Limit(expression=num(1))),
    "(SELECT 1) LIMIT 2": nodes.Subquery(this=ONE, limit=nodes.Limit(expression=num(2))),
    "WITH x (y) AS (SELECT 1) VALUES 1, (2), ROW(3)": nodes.Subquery(
        this=nodes.Values(expressions=tuple(nodes.Tuple(expressions=(num(value),)) for value in (1, 2, 3))),
        with_=nodes.With(expressions=(nodes.CTE(this=ONE, alias=alias("x", "y")),)),
    ),
    "SELECT a FROM t WHERE EXISTS (SELECT 1) AND b = ANY (SELECT 1) AND c IN (SELECT 1)": select(
        where=nodes.Where(
            this=op(
                "AND",
                op("AND", nodes.Exists(this=ONE), op("=", B, nodes.Any(query=nodes.Subquery(this=ONE)))),
                nodes.In(this=C, query=nodes.Subquery(this=ONE)),
            )
        )
    ),
    "TABLE t": nodes.Select(expressions=(nodes.Star(),), from_=nodes.From(this=table("t"))),
}


@pytest.mark.parametrize("written", CLAUSES)
def test_queries_become_their_nodes(written: str) -> None:
    assert parse_query(written) == CLAUSES[written]


def test_items_of_select_have_their_names() -> None:
    found = parse_query("SELECT *, t.*, a b, c AS `order`").expressions
    assert found == (
        nodes.Star(),
        nodes.Column(this=nodes.Star(), table=name("t")),
        nodes.Alias(this=A, alias=name("b")),
        nodes.Alias(this=C, alias=name("order", quoted=True)),
    )


def test_helpers_read_names_and_hints() -> None:
    query = parse_query("SELECT /*+ LOOKUP('table' = 'x', 'async' = 'true'), BROADCAST(a, b.c) */ f.g.h(1) FROM c.d.t")
    lookup, broadcast = query.hint.expressions
    assert nodes.hint_options(lookup) == {"table": "x", "async": "true"}
    assert nodes.hint_names(broadcast) == ("a", "b.c")
    assert nodes.table_path(query.from_.this) == ("c", "d", "t")
    (called,) = query.expressions
    assert isinstance(called, nodes.Dot)
    assert nodes.call_path(called) == ("f", "g", "h")
    dotted = parse_expression("a.b.c.d.e")
    assert isinstance(dotted, nodes.Dot)
    assert [part.name for part in nodes.column_parts(dotted)] == list("abcde")
    field = parse_expression("f(x).a")
    assert isinstance(field, nodes.Dot)
    with pytest.raises(ValueError, match="is not a name"):
        nodes.column_parts(field)


@corpus("expected", EXPRESSIONS.values(), 79)
def test_expressions_say_the_same_when_written(expected: nodes.Node) -> None:
    assert parse_expression(written(expected)) == expected


@pytest.mark.parametrize("keyword", ["select", "from", "order", "a b", "1st", "a`b", "ä"])
def test_names_are_quoted_where_they_have_to_be(keyword: str) -> None:
    tree = nodes.Column(nodes.Identifier(keyword), nodes.Identifier("t"))
    assert parse_expression(written(tree)) == tree
    assert parse_expression(written(nodes.Call(keyword))) == nodes.Call(keyword)
