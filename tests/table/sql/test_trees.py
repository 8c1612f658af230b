"""The nodes that each construct becomes: what the docstring of ``parser.py`` promises."""

from __future__ import annotations

import pytest
from sqlglot import exp

from millrace.relational import types
from millrace.table.sql import nodes as n
from millrace.table.sql.parser import parse_expression, parse_query


def name(text: str, quoted: bool = False) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=quoted)


def col(text: str, table: str | None = None) -> exp.Column:
    return exp.Column(this=name(text), table=table and name(table))


def call(function: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=function, expressions=list(arguments))


def num(value: float) -> exp.Literal:
    return exp.Literal(this=str(value), is_string=False)


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def var(value: str) -> exp.Var:
    return exp.Var(this=value)


A, B, C, D = map(col, "abcd")

EXPRESSIONS: dict[str, exp.Expr] = {
    "a.b.c.d": exp.Column(this=name("d"), table=name("c"), db=name("b"), catalog=name("a")),
    "a.b.c.d.e": exp.Dot(
        this=exp.Column(this=name("d"), table=name("c"), db=name("b"), catalog=name("a")), expression=name("e")
    ),
    "`a b`": exp.Column(this=name("a b", quoted=True)),
    "t.order": exp.Column(this=name("order"), table=name("t")),
    "f(a).b": exp.Dot(this=call("f", A), expression=name("b")),
    "a[1].b": exp.Dot(this=exp.Bracket(this=A, expressions=[num(1)]), expression=name("b")),
    "(a).*": exp.Dot(this=exp.Paren(this=A), expression=exp.Star()),
    "1.50": exp.Literal(this="1.50", is_string=False),
    "'it''s' ' b'": text("it's b"),
    "U&'\\00e4'": text("ä"),
    "U&'a#263A##' UESCAPE '#'": text("a☺#"),
    "u&'\\+01F600\\D83D\\DE00'": text("😀😀"),
    "x'0aFF'": exp.HexString(this="0AFF"),
    "-1": exp.Neg(this=num(1)),
    "+a": A,
    "a <> b": exp.NEQ(this=A, expression=B),
    "a != b": exp.NEQ(this=A, expression=B),
    "a || b": exp.DPipe(this=A, expression=B),
    "a % b": exp.Mod(this=A, expression=B),
    "DATE '2024-02-29'": n.TypedLiteral(kind="DATE", this="2024-02-29"),
    "timestamp '2024-02-29 10:00:00'": n.TypedLiteral(kind="TIMESTAMP", this="2024-02-29 10:00:00"),
    "a IS NOT NULL": exp.Not(this=exp.Is(this=A, expression=exp.Null())),
    "a IS NOT FALSE": exp.Not(this=exp.Is(this=A, expression=exp.Boolean(this=False))),
    "a IS UNKNOWN": exp.Is(this=A, expression=var("UNKNOWN")),
    "a IS DISTINCT FROM b": exp.NullSafeNEQ(this=A, expression=B),
    "a IS NOT DISTINCT FROM b": exp.NullSafeEQ(this=A, expression=B),
    "a IS NOT JSON": exp.Not(this=n.IsJson(this=A, kind="VALUE")),
    "a IS JSON OBJECT": n.IsJson(this=A, kind="OBJECT"),
    "a NOT BETWEEN SYMMETRIC b AND c": exp.Not(this=exp.Between(this=A, low=B, high=C, symmetric=True)),
    "a NOT IN (b, c)": exp.Not(this=exp.In(this=A, expressions=[B, C])),
    "a NOT LIKE 'x' ESCAPE '!'": exp.Not(
        this=exp.Escape(this=exp.Like(this=A, expression=text("x")), expression=text("!"))
    ),
    "a SIMILAR TO b": exp.SimilarTo(this=A, expression=B),
    "(a, b) OVERLAPS (c, d)": call("OVERLAPS", A, B, C, D),
    "CASE a WHEN b THEN c ELSE d END": exp.Case(this=A, ifs=[exp.If(this=B, true=C)], default=D),
    "CASE a WHEN b, d THEN c END": exp.Case(this=A, ifs=[exp.If(this=B, true=C), exp.If(this=D, true=C)]),
    "CAST(a AS INT NOT NULL)": exp.Cast(this=A, to=n.TypeName(this=types.IntType(False))),
    "try_cast(a AS STRING)": exp.TryCast(this=A, to=n.TypeName(this=types.string())),
    "(a, b)": exp.Tuple(expressions=[A, B]),
    "ROW(a, b)": call("ROW", A, B),
    "ARRAY[a, b]": exp.Array(expressions=[A, B]),
    "MAP[a, b]": n.MapConstructor(expressions=[A, B]),
    "Count(*)": call("Count", exp.Star()),
    "COUNT(DISTINCT a, b)": call("COUNT", exp.Distinct(expressions=[A, B])),
    "SUM(ALL a)": call("SUM", A),
    "c.db.f(a)": exp.Dot(this=exp.Dot(this=name("c"), expression=name("db")), expression=call("f", A)),
    "f(x => a, DEFAULT)": call("f", exp.Kwarg(this=name("x"), expression=A), var("DEFAULT")),
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
    "LAST(a) IGNORE NULLS OVER w": exp.Window(this=exp.IgnoreNulls(this=call("LAST", A)), alias=name("w")),
    "f(a RESPECT NULLS)": exp.RespectNulls(this=call("f", A)),
    "f(a) WITHIN GROUP (ORDER BY b) FILTER (WHERE c)": exp.Filter(
        this=exp.WithinGroup(this=call("f", A), expression=exp.Order(expressions=[exp.Ordered(this=B, desc=False)])),
        expression=exp.Where(this=C),
    ),
    "f() OVER (w PARTITION BY a ORDER BY b DESC NULLS LAST ROWS 2 PRECEDING)": exp.Window(
        this=call("f"),
        alias=name("w"),
        partition_by=[A],
        order=exp.Order(expressions=[exp.Ordered(this=B, desc=True, nulls_first=False)]),
        spec=exp.WindowSpec(kind="ROWS", start=num(2), start_side="PRECEDING", end="CURRENT ROW"),
    ),
    "f() OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)": exp.Window(
        this=call("f"),
        spec=exp.WindowSpec(kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", end=num(1), end_side="FOLLOWING"),
    ),
    "JSON_VALUE(a, '$.b')": n.JsonValue(this=A, path=text("$.b"), on_empty="NULL", on_error="NULL"),
    "JSON_VALUE(a, '$' RETURNING INT ERROR ON EMPTY DEFAULT 1 ON ERROR)": n.JsonValue(
        this=A,
        path=text("$"),
        returning=n.TypeName(this=types.IntType()),
        on_empty="ERROR",
        on_error="DEFAULT",
        error_default=num(1),
    ),
    "JSON_QUERY(a, '$' WITH WRAPPER EMPTY OBJECT ON ERROR)": n.JsonQuery(
        this=A, path=text("$"), wrapper="UNCONDITIONAL", on_empty="NULL", on_error="EMPTY OBJECT"
    ),
    "JSON_EXISTS(a, '$')": n.JsonExists(this=A, path=text("$"), on_error="FALSE"),
    "JSON_OBJECT(KEY a VALUE b, 'c' VALUE d)": n.JsonObject(
        expressions=[n.JsonEntry(this=A, expression=B), n.JsonEntry(this=text("c"), expression=D)], on_null="NULL"
    ),
    "JSON_OBJECT(ABSENT ON NULL)": n.JsonObject(on_null="ABSENT"),
    "JSON_ARRAY(a)": n.JsonArray(expressions=[A], on_null="ABSENT"),
    "JSON_ARRAY(NULL ON NULL)": n.JsonArray(on_null="NULL"),
    "JSON_OBJECTAGG(a VALUE b)": n.JsonObjectAgg(this=n.JsonEntry(this=A, expression=B), on_null="NULL"),
    "JSON_ARRAYAGG(a NULL ON NULL)": n.JsonArrayAgg(this=A, on_null="NULL"),
}


@pytest.mark.parametrize("written", EXPRESSIONS)
def test_expressions_become_their_nodes(written: str) -> None:
    assert parse_expression(written) == EXPRESSIONS[written]


def test_an_interval_has_its_type_and_value() -> None:
    found = parse_expression("INTERVAL -'1 02:00' DAY(3) TO MINUTE")
    assert isinstance(found, n.IntervalLiteral)
    resolution = types.DayTimeIntervalType.DayTimeResolution.DAY_TO_MINUTE
    assert found.data_type == types.DayTimeIntervalType(resolution, 3)
    assert (found.value, found.in_months, found.args["unit"]) == (-26 * 3_600_000_000, False, "DAY TO MINUTE")


def table(text: str, **args: object) -> exp.Table:
    return exp.Table(this=name(text), **args)


def alias(text: str, *columns: str) -> exp.TableAlias:
    return exp.TableAlias(this=name(text), columns=[name(column) for column in columns])


ONE = exp.Select(expressions=[num(1)])

RELATIONS: dict[str, exp.Expr] = {
    "c.d.t": exp.Table(this=name("t"), db=name("d"), catalog=name("c")),
    "t AS u (x, y)": table("t", alias=alias("u", "x", "y")),
    "t /*+ OPTIONS('k' = 'v') */ u": table(
        "t",
        hints=[
            exp.Hint(
                expressions=[
                    n.HintCall(this="OPTIONS", expressions=[exp.PropertyEQ(this=text("k"), expression=text("v"))])
                ]
            )
        ],
        alias=alias("u"),
    ),
    "t FOR SYSTEM_TIME AS OF a AS u": table(
        "t", version=exp.Version(this="TIMESTAMP", kind="AS OF", expression=A), alias=alias("u")
    ),
    "(SELECT 1) u": exp.Subquery(this=ONE, alias=alias("u")),
    "(VALUES (1), (2)) AS u (x)": exp.Subquery(
        this=exp.Values(expressions=[exp.Tuple(expressions=[num(1)]), exp.Tuple(expressions=[num(2)])]),
        alias=alias("u", "x"),
    ),
    "LATERAL (SELECT 1) AS u": exp.Lateral(this=exp.Subquery(this=ONE), alias=alias("u")),
    "LATERAL TABLE(f(a)) AS u (x)": n.TableFunction(this=call("f", A), lateral=True, alias=alias("u", "x")),
    "TABLE(f(TABLE t PARTITION BY a ORDER BY b, DESCRIPTOR(c)))": n.TableFunction(
        this=call(
            "f",
            n.TableArgument(
                this=table("t"),
                partition_by=[A],
                order=exp.Order(expressions=[exp.Ordered(this=B, desc=False)]),
            ),
            n.Descriptor(expressions=[name("c")]),
        )
    ),
    "f(TABLE (SELECT 1), MODEL d.m)": n.TableFunction(
        this=call(
            "f",
            n.TableArgument(this=exp.Subquery(this=ONE)),
            n.ModelArgument(this=exp.Table(this=name("m"), db=name("d"))),
        )
    ),
    "UNNEST(a) WITH ORDINALITY AS u (x, i)": exp.Unnest(expressions=[A], offset=True, alias=alias("u", "x", "i")),
    "(t JOIN u USING (a))": n.Joined(
        this=table("t"), joins=[exp.Join(this=table("u"), kind="INNER", using=[name("a")])]
    ),
    "t MATCH_RECOGNIZE (PARTITION BY a ORDER BY b MEASURES LAST(X.c) AS l ALL ROWS PER MATCH "
    "AFTER MATCH SKIP TO FIRST X PATTERN (^ X{2,}? (Y | Z)+ {- W -}) WITHIN INTERVAL '1' MONTH "
    "SUBSET S = (X, Y) DEFINE X AS c) AS m": n.MatchRecognize(
        this=table("t"),
        partition_by=[A],
        order=exp.Order(expressions=[exp.Ordered(this=B, desc=False)]),
        measures=[exp.Alias(this=call("LAST", col("c", "X")), alias=name("l"))],
        rows="ALL ROWS PER MATCH",
        after=n.AfterMatch(mode="TO FIRST", target=name("X")),
        pattern=n.PatternSequence(
            expressions=[
                n.PatternQuantifier(this=n.PatternVariable(this=name("X")), low=2, reluctant=True),
                n.PatternQuantifier(
                    this=n.PatternAlternation(
                        expressions=[n.PatternVariable(this=name("Y")), n.PatternVariable(this=name("Z"))]
                    ),
                    low=1,
                ),
                n.PatternExclusion(this=n.PatternVariable(this=name("W"))),
            ]
        ),
        anchors="^",
        within=parse_expression("INTERVAL '1' MONTH"),
        subsets=[exp.Alias(this=exp.Tuple(expressions=[name("X"), name("Y")]), alias=name("S"))],
        define=[exp.Alias(this=C, alias=name("X"))],
        alias=alias("m"),
    ),
}


@pytest.mark.parametrize("written", RELATIONS)
def test_relations_become_their_nodes(written: str) -> None:
    expected = exp.Select(expressions=[exp.Star()], from_=exp.From(this=RELATIONS[written]))
    assert parse_query(f"SELECT * FROM {written}") == expected


def select(**args: object) -> exp.Select:
    return exp.Select(expressions=[A], from_=exp.From(this=table("t")), **args)


def item(node: exp.Expr, desc: bool = False, nulls_first: bool | None = None) -> exp.Ordered:
    return exp.Ordered(this=node, desc=desc, nulls_first=nulls_first)


CLAUSES: dict[str, exp.Expr] = {
    "SELECT DISTINCT a FROM t": select(distinct=exp.Distinct()),
    "SELECT ALL a FROM t": select(),
    "SELECT /*+ BROADCAST(t, d.u) */ a FROM t": select(
        hint=exp.Hint(expressions=[n.HintCall(this="BROADCAST", expressions=[text("t"), text("d.u")])])
    ),
    "SELECT a FROM t WHERE b": select(where=exp.Where(this=B)),
    "SELECT a FROM t GROUP BY a, GROUPING SETS ((b, c), (b), ()), CUBE (c), ROLLUP ((a, b), c)": select(
        group=exp.Group(
            expressions=[
                A,
                exp.GroupingSets(
                    expressions=[exp.Tuple(expressions=[B, C]), exp.Paren(this=B), exp.Tuple(expressions=[])]
                ),
                exp.Cube(expressions=[C]),
                exp.Rollup(expressions=[exp.Tuple(expressions=[A, B]), C]),
            ]
        )
    ),
    "SELECT a FROM t HAVING b": select(having=exp.Having(this=B)),
    "SELECT a FROM t QUALIFY b": select(qualify=exp.Qualify(this=B)),
    "SELECT a FROM t WINDOW w AS (ORDER BY b), x AS (w)": select(
        windows=[
            exp.Window(this=name("w"), order=exp.Order(expressions=[item(B)])),
            exp.Window(this=name("x"), alias=name("w")),
        ]
    ),
    "SELECT a FROM t ORDER BY b DESC, c NULLS FIRST LIMIT 3 OFFSET 2": select(
        order=exp.Order(expressions=[item(B, desc=True), item(C, nulls_first=True)]),
        limit=exp.Limit(expression=num(3)),
        offset=exp.Offset(expression=num(2)),
    ),
    "SELECT a FROM t OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY": select(
        limit=exp.Limit(expression=num(3)), offset=exp.Offset(expression=num(2))
    ),
    "SELECT a FROM t, u LEFT JOIN v ON b, w CROSS JOIN x": select(
        joins=[
            exp.Join(this=table("u"), kind="CROSS"),
            exp.Join(this=table("v"), side="LEFT", kind="OUTER", on=B),
            exp.Join(this=table("w"), kind="CROSS"),
            exp.Join(this=table("x"), kind="CROSS"),
        ]
    ),
    "SELECT a FROM t, u RIGHT JOIN v ON b": select(
        joins=[
            exp.Join(
                this=n.Joined(this=table("u"), joins=[exp.Join(this=table("v"), side="RIGHT", kind="OUTER", on=B)]),
                kind="CROSS",
            )
        ]
    ),
    "SELECT a FROM t NATURAL JOIN u": select(joins=[exp.Join(this=table("u"), kind="INNER", method="NATURAL")]),
    "SELECT 1 UNION ALL SELECT 1 INTERSECT SELECT 1 EXCEPT SELECT 1 LIMIT 2": exp.Except(
        this=exp.Union(this=ONE, expression=exp.Intersect(this=ONE, expression=ONE, distinct=True), distinct=False),
        expression=ONE,
        distinct=True,
        limit=exp.Limit(expression=num(2)),
    ),
    "SELECT a FROM TABLE t FETCH FIRST ROW ONLY": select(limit=exp.Limit(expression=num(1))),
    "(SELECT 1) LIMIT 2": exp.Subquery(this=ONE, limit=exp.Limit(expression=num(2))),
    "WITH x (y) AS (SELECT 1) VALUES 1, (2), ROW(3)": exp.Subquery(
        this=exp.Values(expressions=[exp.Tuple(expressions=[num(value)]) for value in (1, 2, 3)]),
        with_=exp.With(expressions=[exp.CTE(this=ONE, alias=alias("x", "y"))]),
    ),
    "SELECT a FROM t WHERE EXISTS (SELECT 1) AND b = ANY (SELECT 1) AND c IN (SELECT 1)": select(
        where=exp.Where(
            this=exp.And(
                this=exp.And(
                    this=exp.Exists(this=ONE),
                    expression=exp.EQ(this=B, expression=exp.Any(this=exp.Subquery(this=ONE))),
                ),
                expression=exp.In(this=C, query=exp.Subquery(this=ONE)),
            )
        )
    ),
    "TABLE t": exp.Select(expressions=[exp.Star()], from_=exp.From(this=table("t"))),
}


@pytest.mark.parametrize("written", CLAUSES)
def test_queries_become_their_nodes(written: str) -> None:
    assert parse_query(written) == CLAUSES[written]


def test_items_of_select_have_their_names() -> None:
    found = parse_query("SELECT *, t.*, a b, c AS `order`").expressions
    assert found == [
        exp.Star(),
        exp.Column(this=exp.Star(), table=name("t")),
        exp.Alias(this=A, alias=name("b")),
        exp.Alias(this=C, alias=name("order", quoted=True)),
    ]


def test_helpers_read_names_and_hints() -> None:
    query = parse_query("SELECT /*+ LOOKUP('table' = 'x', 'async' = 'true'), BROADCAST(a, b.c) */ f.g.h(1) FROM c.d.t")
    lookup, broadcast = query.args["hint"].expressions
    assert n.hint_options(lookup) == {"table": "x", "async": "true"}
    assert n.hint_names(broadcast) == ("a", "b.c")
    assert n.table_path(query.args["from_"].this) == ("c", "d", "t")
    (called,) = query.expressions
    assert isinstance(called, exp.Dot)
    assert n.call_path(called) == ("f", "g", "h")
    dotted = parse_expression("a.b.c.d.e")
    assert isinstance(dotted, exp.Dot)
    assert [part.name for part in n.column_parts(dotted)] == list("abcde")
    field = parse_expression("f(x).a")
    assert isinstance(field, exp.Dot)
    with pytest.raises(ValueError, match="is not a name"):
        n.column_parts(field)
