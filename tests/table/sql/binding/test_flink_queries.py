"""Queries of Flink's own: their plans in text form, and the types and time attributes of their columns."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.nodes.rel import transform
from millrace.relational.rules.plan_text import plan_text
from millrace.relational.rules.window_rules import top_n
from millrace.table.sql.binding import UserFunction


@pytest.fixture
def session() -> Session:
    session = Session()
    session.declare("bids", "item BIGINT", "price INT", "who STRING", "ts TIMESTAMP(3)", watermark="ts AS ts")
    session.declare("asks", "item BIGINT", "ask INT", "ts TIMESTAMP(3)", watermark="ts AS ts")
    session.declare("clicks", "item BIGINT", "p AS PROCTIME()")
    session.declare("rates", "money STRING", "rate INT", "ts TIMESTAMP(3)", watermark="ts AS ts", key=["money"])
    session.declare("goods", "id BIGINT", "label STRING", lookup=lambda key: ("lookup", tuple(key)))
    session.declare("nested", "id INT", "xs ARRAY<INT>", "rs ARRAY<ROW<a INT, b STRING>>", "m MAP<STRING, INT>")
    words = (n.Field("word", t.string()), n.Field("length", t.IntType()))
    session.functions["words"] = UserFunction("words", "TABLE", "wrapper", columns=words, arguments=(t.string(),))
    return session


def _plan(session: Session, sql: str) -> str:
    return plan_text(transform(session.bind(sql), top_n))


WINDOWED = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE))"
BIDS = "Watermark(ts AS ts)\n  Scan(cat.db.bids, [item, price, who, ts])"
ASKS = "Watermark(ts AS ts)\n  Scan(cat.db.asks, [item, ask, ts])"

PLANS = {
    "window aggregate": (
        f"SELECT window_start, window_end, SUM(price) AS s FROM {WINDOWED} GROUP BY window_start, window_end",
        """
        Project(window_start, window_end, EXPR$2 AS s)
          WindowAggregate(TUMBLE(600000 ms), time=window_end, attached=[window_start, window_end], SUM(price), \
properties=[START, END])
            Project(window_start, window_end, price)
              WindowTable(TUMBLE(600000 ms), time=ts)
                {BIDS}
        """,
    ),
    "one bound of a window is a regular aggregate": (
        f"SELECT window_end, COUNT(*) AS n FROM {WINDOWED} GROUP BY window_end",
        """
        Project(window_end, EXPR$1 AS n)
          Aggregate(keys=[window_end], COUNT(*))
            Project(window_end)
              WindowTable(TUMBLE(600000 ms), time=ts)
                {BIDS}
        """,
    ),
    "hop by name, with offset and sets": (
        "SELECT item, COUNT(*) AS n FROM TABLE(HOP(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), "
        "SLIDE => INTERVAL '5' MINUTE, SIZE => INTERVAL '10' MINUTE, `OFFSET` => INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end, ROLLUP (item)",
        """
        Project(item, EXPR$3 AS n)
          WindowAggregate(HOP(600000 ms, slide 300000 ms, offset 60000 ms), time=window_end, keys=[item], \
sets=[[item], []], attached=[window_start, window_end], COUNT(*), properties=[START, END])
            Project(window_start, window_end, item)
              WindowTable(HOP(600000 ms, slide 300000 ms, offset 60000 ms), time=ts)
                {BIDS}
        """,
    ),
    "session window table": (
        "SELECT * FROM TABLE(SESSION(TABLE bids PARTITION BY (item, who), DESCRIPTOR(ts), INTERVAL '5' MINUTE))",
        """
        WindowTable(SESSION(300000 ms), time=ts, partition=[item, who])
          {BIDS}
        """,
    ),
    "cumulating window over a subquery": (
        "SELECT window_time FROM TABLE(CUMULATE(TABLE (SELECT ts FROM bids), DESCRIPTOR(ts), INTERVAL '1' HOUR, "
        "INTERVAL '1' DAY))",
        """
        Project(window_time)
          WindowTable(CUMULATE(86400000 ms, slide 3600000 ms), time=ts)
            Project(ts)
              {BIDS}
        """,
    ),
    "group window": (
        "SELECT item, TUMBLE_START(ts, INTERVAL '1' HOUR) AS s, MAX(price) AS m FROM bids "
        "GROUP BY TUMBLE(ts, INTERVAL '1' HOUR), item HAVING COUNT(*) > 1",
        """
        Project(item, w$start AS s, EXPR$1 AS m)
          Filter((EXPR$2 > CAST(1 AS BIGINT NOT NULL)))
            WindowAggregate(TUMBLE(3600000 ms), time=ts, keys=[item], MAX(price), COUNT(*), properties=[START])
              Project(item, ts, price)
                {BIDS}
        """,
    ),
    "window Top-N": (
        "SELECT * FROM (SELECT item, price, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY price DESC) AS r FROM {WINDOWED}) WHERE r <= 3",
        """
        Project(item, price, w0$o AS r)
          Rank(ROW_NUMBER, from=1, to=3, partition=[window_start, window_end], order=[price DESC], \
window=[window_start, window_end], number=w0$o)
            WindowTable(TUMBLE(600000 ms), time=ts)
              {BIDS}
        """,
    ),
    "deduplication keeps the last row": (
        "SELECT item, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS r FROM bids) "
        "WHERE r = 1",
        """
        Project(item, price)
          Project(item, price, who, ts, w0$o AS r)
            Deduplicate(last, keys=[item], time=ts, number=w0$o)
              {BIDS}
        """,
    ),
    "interval join": (
        "SELECT b.ts FROM bids AS b LEFT JOIN asks AS a ON b.item = a.item AND a.ts > b.ts - INTERVAL '1' SECOND "
        "AND a.ts <= b.ts + INTERVAL '2' SECOND",
        """
        Project(ts$3 AS ts)
          IntervalJoin(LEFT, ((item$0 = item$4) AND (ts$6 > - TIME(ts$3, 0:00:01:INTERVAL SECOND(6))) AND (ts$6 <= \
+ TIME(ts$3, 0:00:02:INTERVAL SECOND(6)))), ts - ts in [-999, 2000] ms)
            {BIDS}
            {ASKS}
        """,
    ),
    "interval join by commas": (
        "SELECT b.item FROM bids AS b, asks AS a WHERE b.item = a.item AND b.ts BETWEEN a.ts AND "
        "a.ts + INTERVAL '1' DAY AND b.price > 1",
        """
        Project(item$0 AS item)
          Filter((price > 1))
            IntervalJoin(INNER, ((item$0 = item$4) AND (ts$3 >= ts$6) AND (ts$3 <= + TIME(ts$6, 1 day, \
0:00:00:INTERVAL DAY(2)))), ts - ts in [-86400000, 0] ms)
              {BIDS}
              {ASKS}
        """,
    ),
    "window join": (
        f"SELECT l.item FROM (SELECT * FROM {WINDOWED}) AS l JOIN (SELECT * FROM {WINDOWED}) AS r "
        "ON l.item = r.item AND l.window_start = r.window_start AND l.window_end = r.window_end",
        """
        Project(item$0 AS item)
          WindowJoin(INNER, ((item$0 = item$7) AND (window_start$4 = window_start$11) AND (window_end$5 = \
window_end$12)), [window_start, window_end] = [window_start, window_end])
            WindowTable(TUMBLE(600000 ms), time=ts)
              {BIDS}
            WindowTable(TUMBLE(600000 ms), time=ts)
              {BIDS}
        """,
    ),
    "temporal join": (
        "SELECT price * rate AS v FROM bids AS b JOIN rates FOR SYSTEM_TIME AS OF b.ts AS r ON b.who = r.money",
        """
        Project((price * rate) AS v)
          TemporalJoin(INNER, (who = money), as of ts, version=ts, key=[money])
            {BIDS}
            Watermark(ts AS ts)
              Scan(cat.db.rates, [money, rate, ts])
        """,
    ),
    "temporal join with a versioned view": (
        "WITH v AS (SELECT item, ask, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS r "
        "FROM asks) WHERE r = 1) SELECT ask FROM bids AS b LEFT JOIN v FOR SYSTEM_TIME AS OF b.ts ON b.item = v.item",
        """
        Project(ask)
          TemporalJoin(LEFT, (item$0 = item$4), as of ts, version=ts, key=[item])
            {BIDS}
            Project(item, ask, ts)
              Project(item, ask, ts, w0$o AS r)
                Deduplicate(last, keys=[item], time=ts, number=w0$o)
                  {ASKS}
        """,
    ),
    "lookup join": (
        "SELECT /*+ LOOKUP('table' = 'g', 'async' = 'true') */ c.item, g.label FROM clicks AS c LEFT JOIN goods "
        "FOR SYSTEM_TIME AS OF c.p AS g ON c.item = g.id AND g.label = 'x' AND c.item > 3",
        """
        Project(item, label)
          LookupJoin(LEFT, cat.db.goods, id = item, label = 'x', (item > CAST(3 AS BIGINT NOT NULL)), \
options={{'async': 'true'}})
            Project(item, PROCTIME() AS p)
              Scan(cat.db.clicks, [item])
        """,
    ),
    "table function": (
        "SELECT item, w, length FROM bids LEFT JOIN LATERAL TABLE(words(who)) AS t (w, length) ON TRUE",
        """
        Project(item, word AS w, length)
          Correlate(LEFT, UDTF(who), produces=[word, length])
            {BIDS}
        """,
    ),
    "unnest rows with ordinality": (
        "SELECT id, a, b, o FROM nested CROSS JOIN UNNEST(rs) WITH ORDINALITY AS t (a, b, o)",
        """
        Project(id, a, b, ORDINALITY AS o)
          Correlate(INNER, UNNEST(rs), produces=[a, b, ORDINALITY], ordinality=True)
            Scan(cat.db.nested, [id, xs, rs, m])
        """,
    ),
    "unnest a map, and an array in EXISTS": (
        "SELECT k, v FROM nested, UNNEST(m) AS t (k, v) WHERE EXISTS (SELECT 1 FROM UNNEST(xs) AS u (x) WHERE x > v)",
        None,
    ),
    "hints": (
        "SELECT /*+ STATE_TTL('b' = '1d', 'a' = '2d'), BROADCAST(a) */ b.item FROM bids AS b JOIN asks AS a "
        "ON b.item = a.item",
        """
        Project(item$0 AS item)
          Join(INNER, (item$0 = item$4))
            Hinted(STATE_TTL(1d))
              {BIDS}
            Hinted(STATE_TTL(2d), BROADCAST())
              {ASKS}
        """,
    ),
    "state of an aggregation": (
        "SELECT /*+ STATE_TTL('bids' = '1h') */ item, COUNT(*) AS n FROM bids GROUP BY item",
        """
        Project(item, EXPR$1 AS n)
          Aggregate(keys=[item], COUNT(*))
            Hinted(STATE_TTL(1h))
              Project(item)
                {BIDS}
        """,
    ),
    "over range": (
        "SELECT SUM(price) OVER w AS s, COUNT(*) OVER w AS n FROM bids WINDOW w AS (PARTITION BY item ORDER BY ts "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
        """
        Project(w0$o AS s, w1$o AS n)
          Over(partition=[item], order=[ts], SUM(price) RANGE BETWEEN 3600000 PRECEDING AND CURRENT ROW AS w0$o, \
COUNT(*) RANGE BETWEEN 3600000 PRECEDING AND CURRENT ROW AS w1$o)
            {BIDS}
        """,
    ),
    "computed values of OVER are columns below it": (
        "SELECT ROW_NUMBER() OVER (PARTITION BY item % 2 ORDER BY price + 1) AS r FROM asks JOIN bids USING (item)",
        None,
    ),
}


def _with_inputs(expected: str) -> str:
    lines = []
    for line in textwrap.dedent(expected).strip("\n").split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        text = line.strip().replace("{{", "{").replace("}}", "}")
        whole = {"{BIDS}": BIDS, "{ASKS}": ASKS}.get(line.strip(), text)
        lines.append(textwrap.indent(whole, indent))
    return "\n".join(lines).rstrip()


@pytest.mark.parametrize("name", [name for name, (_, expected) in PLANS.items() if expected])
def test_plan(name: str, session: Session) -> None:
    sql, expected = PLANS[name]
    assert expected is not None
    assert _plan(session, sql) == _with_inputs(expected)


def test_unnest_in_exists_is_joined_with_the_values_that_it_reads(session: Session) -> None:
    plan = session.bind(PLANS["unnest a map, and an array in EXISTS"][0])
    assert [node.kind for node in n.find(plan, n.Join)] == ["INNER", "SEMI"]
    assert len(n.find(plan, n.Correlate)) == 3  # the outer UNNEST twice: in the query, and in its domain


def test_computed_values_of_over_are_columns(session: Session) -> None:
    (over,) = n.find(session.bind(PLANS["computed values of OVER are columns below it"][0]), n.Over)
    assert [over.input.schema[at].name for at in over.partition] == ["$p7"]
    assert over.order[0].expression.index == 8


TIMES: dict[str, tuple[str, list[str | None]]] = {
    "plain columns keep them": ("SELECT ts, item FROM bids", ["ROWTIME", None]),
    "aliases and subqueries keep them": ("SELECT x FROM (SELECT ts AS x FROM bids) AS t", ["ROWTIME"]),
    "a cast ends one": ("SELECT CAST(ts AS TIMESTAMP(3)) AS x FROM bids", [None]),
    "a computation ends one": ("SELECT ts + INTERVAL '1' DAY AS x FROM bids", [None]),
    "PROCTIME() makes one": ("SELECT PROCTIME() AS p FROM bids", ["PROCTIME"]),
    "computed columns too": ("SELECT p FROM clicks", ["PROCTIME"]),
    "a regular join ends them": ("SELECT b.ts FROM bids AS b JOIN asks AS a ON b.item = a.item", [None]),
    "a grouping ends them": ("SELECT ts, COUNT(*) AS n FROM bids GROUP BY ts", [None, None]),
    "an aggregate is none": ("SELECT MAX(ts) AS m FROM bids", [None]),
    "UNION ALL keeps them": ("SELECT ts FROM bids UNION ALL SELECT ts FROM asks", ["ROWTIME"]),
    "UNION ends them": ("SELECT ts FROM bids UNION SELECT ts FROM asks", [None]),
    "a temporal join keeps them": (
        "SELECT b.ts FROM bids AS b JOIN rates FOR SYSTEM_TIME AS OF b.ts AS r ON b.who = r.money",
        ["ROWTIME"],
    ),
    "window_time is one": (
        f"SELECT window_start, window_time FROM {WINDOWED} GROUP BY window_start, window_end, window_time",
        [None, "ROWTIME"],
    ),
    "so is TUMBLE_ROWTIME": (
        "SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' HOUR) AS r, TUMBLE_END(ts, INTERVAL '1' HOUR) AS e FROM bids "
        "GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
        ["ROWTIME", None],
    ),
    "a semi join ends them": ("SELECT ts FROM bids WHERE item IN (SELECT item FROM asks)", [None]),
    "windows of windows": (
        f"SELECT window_time FROM TABLE(TUMBLE(TABLE (SELECT window_time AS wt FROM {WINDOWED} GROUP BY window_start, "
        "window_end, window_time), DESCRIPTOR(wt), INTERVAL '1' HOUR))",
        ["ROWTIME"],
    ),
}


@pytest.mark.parametrize("name", TIMES)
def test_time_attributes(name: str, session: Session) -> None:
    sql, expected = TIMES[name]
    assert [column.time for column in session.bind(sql).schema] == expected


TYPES = {
    "SELECT 1, 3000000000, 1.50, 1e3, 'abc', TRUE, x'1F'": (
        "INT NOT NULL, BIGINT NOT NULL, DECIMAL(3, 2) NOT NULL, DOUBLE NOT NULL, CHAR(3) NOT NULL, BOOLEAN NOT NULL, "
        "BINARY(1) NOT NULL"
    ),
    "SELECT -2147483648, DATE '2024-05-06', TIME '10:00:00', TIMESTAMP '2024-05-06 10:00:00.123'": (
        "INT NOT NULL, DATE NOT NULL, TIME(0) NOT NULL, TIMESTAMP(3) NOT NULL"
    ),
    "SELECT COUNT(*), SUM(price), MAX(item) FROM bids": "BIGINT NOT NULL, INT, BIGINT",
    "SELECT item, GROUPING(item) FROM bids GROUP BY CUBE (item)": "BIGINT, BIGINT NOT NULL",
    "SELECT xs[1], m['a'], rs[1].b FROM nested": "INT, INT, STRING",
    "SELECT a.item, b.item FROM (SELECT 1 AS item) AS a LEFT JOIN (SELECT 2 AS item) AS b ON TRUE": "INT NOT NULL, INT",
    "SELECT item FROM (VALUES (1), (2.5), (NULL)) AS t (item)": "DECIMAL(11, 1)",
    "SELECT LAG(price, 1, 0) OVER (ORDER BY ts), ROW_NUMBER() OVER (ORDER BY ts) FROM bids": "INT, BIGINT NOT NULL",
    "SELECT 1 UNION ALL SELECT CAST(NULL AS BIGINT)": "BIGINT",
}


@pytest.mark.parametrize("sql", TYPES)
def test_types(sql: str, session: Session) -> None:
    assert ", ".join(str(column.type) for column in session.bind(sql).schema) == TYPES[sql]


NAMES = {
    "SELECT item, item + 1, item, xs[1], COUNT(*) AS n FROM bids, nested GROUP BY item, xs[1]": (
        "item EXPR$1 item0 EXPR$3 n"
    ),
    "VALUES (1, 2)": "EXPR$0 EXPR$1",
    "SELECT b.*, a.item FROM bids AS b, asks AS a": "item price who ts item0",
    "SELECT * FROM bids AS b JOIN asks AS a USING (item)": "item price who ts ask ts0",
    "SELECT cat.db.bids.item, db.asks.ts FROM bids, db.asks": "item ts",
    "SELECT r.* FROM (SELECT ROW(1, 'a') AS r) AS t": "EXPR$0 EXPR$1",
    "TABLE asks": "item ask ts",
}


@pytest.mark.parametrize("sql", NAMES)
def test_names(sql: str, session: Session) -> None:
    assert " ".join(session.bind(sql).names) == NAMES[sql]


def test_options_of_a_table(session: Session) -> None:
    session.bind("SELECT * FROM bids /*+ OPTIONS('a.b' = 'c', 'd' = '1') */ AS b")
    assert session.options == [{"a.b": "c", "d": "1"}]


def test_lookup_source_is_made_for_the_key(session: Session) -> None:
    plan = session.bind("SELECT g.label FROM clicks AS c JOIN goods FOR SYSTEM_TIME AS OF c.p AS g ON c.item = g.id")
    (join,) = n.find(plan, n.LookupJoin)
    assert join.source == ("lookup", (0,))


def test_computed_columns_of_a_lookup_are_computed_after_it(session: Session) -> None:
    session.declare("named", "id BIGINT", "big AS id > 10", "label STRING", lookup=lambda key: tuple(key))
    plan = session.bind(
        "SELECT g.big, g.label FROM clicks AS c JOIN named FOR SYSTEM_TIME AS OF c.p AS g ON g.label = 'x' "
        "AND c.item = g.id AND g.big"
    )
    (join,) = n.find(plan, n.LookupJoin)
    assert join.source == (0, 1)
    assert plan_text(plan).startswith(
        textwrap.dedent(
            """
            Project(big, label)
              Project(item, p, id, (id > CAST(10 AS BIGINT NOT NULL)) AS big, label)
                LookupJoin(INNER, cat.db.named, id = item, label = 'x', (id > CAST(10 AS BIGINT NOT NULL)))
            """
        ).strip()
    )


def test_in_batch_any_timestamp_can_be_windowed() -> None:
    session = Session(streaming=False)
    session.declare("events", "at TIMESTAMP(3)")
    plan = session.bind("SELECT window_time FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '1' HOUR))")
    assert [str(column) for column in plan.schema] == ["window_time TIMESTAMP(3) NOT NULL"]


def test_watermark_of_a_computed_column() -> None:
    session = Session()
    session.declare("events", "ms BIGINT", "at AS TO_TIMESTAMP_LTZ(ms, 3)", watermark="at AS at - INTERVAL '5' SECOND")
    assert [str(column) for column in session.bind("SELECT * FROM events").schema] == [
        "ms BIGINT",
        "at TIMESTAMP_LTZ(3) *ROWTIME*",
    ]


def test_plans_can_be_pickled_and_compared(session: Session) -> None:
    import pickle

    sql = f"SELECT who, (SELECT COUNT(*) FROM asks) AS n FROM {WINDOWED} WHERE price IN (SELECT ask FROM asks)"
    plan: Any = session.bind(sql)
    assert pickle.loads(pickle.dumps(plan)) == plan == session.bind(sql)
    assert hash(plan) == hash(session.bind(sql))
