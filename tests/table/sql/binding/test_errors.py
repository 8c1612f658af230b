"""Queries that mean nothing: what is said, and which part of the text is marked."""

from __future__ import annotations

import pytest
from tests.corpus import corpus
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.table.sql.binding import UserFunction
from millrace.table.sql.text import SqlValidationError


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.declare("bids", "item BIGINT", "price INT", "who STRING", "ts TIMESTAMP(3)", watermark="ts AS ts")
    session.declare("asks", "item BIGINT", "ask INT", "ts TIMESTAMP(3)")
    session.declare("clicks", "item BIGINT", "p AS PROCTIME()")
    session.declare("goods", "id BIGINT", "label STRING", lookup=lambda key: None)
    text, number = t.string(), t.IntType()
    session.functions["words"] = UserFunction(
        "words", "TABLE", "w", columns=(n.Field("word", text),), arguments=(text,)
    )
    session.functions["twice"] = UserFunction("twice", "SCALAR", "w", result=number, arguments=(number,))
    return session


def test_an_error_shows_the_place(session: Session) -> None:
    with pytest.raises(SqlValidationError) as caught:
        session.bind("SELECT item,\n       prise\nFROM bids")
    assert str(caught.value) == (
        "unknown column 'prise', did you mean 'price'? (columns: item, price, who, ts)\n"
        "at line 2, column 8:\n"
        "         prise\n"
        "         ^^^^^"
    )
    assert (caught.value.line, caught.value.column) == (2, 8)


# query, with the part that is marked between » and «; the message
WRONG = [
    ("SELECT »b.prise« FROM bids AS b", "table 'b' has no column 'prise', did you mean 'price'?"),
    ("SELECT »x.price« FROM bids AS b", "there is no table or column 'x' for 'x.price' here"),
    ("SELECT »item« FROM bids, asks", "column 'item' is ambiguous: 2 columns have this name"),
    ("SELECT »who.x« FROM bids", "'x' is no field: a field can only be read from a ROW, and this is STRING"),
    ("SELECT »*«", "SELECT * needs a FROM"),
    ("SELECT * FROM »bid«", "there is no table or view 'bid', did you mean 'bids'?"),
    ("SELECT * FROM »other.db.bids«", "there is no table or view 'other.db.bids'"),
    ("SELECT »UPER(who)« FROM bids", "unknown function UPER(), did you mean 'UPPER'?"),
    ("SELECT »price + who« FROM bids", "+ does not take (INT, STRING)"),
    ("SELECT »twice(price, 1)« FROM bids", "twice takes 1 arguments (INT), not 2"),
    ("SELECT »words(who)« FROM bids", "words is a table function: call it as LATERAL TABLE(words(...)) in FROM"),
    ("SELECT price FROM bids WHERE »who«", "WHERE needs a BOOLEAN, and this is STRING"),
    ("SELECT CASE WHEN »price« THEN 1 END FROM bids", "WHEN needs a BOOLEAN, and this is INT"),
    ("SELECT »DATE '2024-13-01'«", "DATE '2024-13-01' is no DATE"),
    ("SELECT price FROM bids WHERE »price IN (1, ts)«", "IN cannot compare INT with INT NOT NULL, TIMESTAMP(3)"),
    ("SELECT * FROM bids WHERE »price > 'abc'«", "'abc' cannot be read as INT: compare with a value of that type, or"),
    ("SELECT * FROM bids WHERE »ts BETWEEN '2024-01-01' AND 'now'«", "'now' cannot be read as TIMESTAMP(3)"),
    ("SELECT * FROM bids WHERE »price IN (1, 'x')«", "'x' cannot be read as INT"),
    ("SELECT »NULLIF(price, 'x')« FROM bids", "'x' cannot be read as INT"),
    ("SELECT »CAST('abc' AS INT)« FROM bids", "CAST failed: cannot read 'abc' as INT. TRY_CAST gives NULL instead"),
    ("SELECT »CAST('1x' AS DECIMAL(5, 2))« FROM bids", "CAST failed: cannot read '1x' as DECIMAL(5, 2)"),
    ("SELECT »ROW(item, who)[3]« FROM bids", "the row has 2 fields, counted from 1: there is no 3"),
    ("SELECT »ROW(item, who)['who']« FROM bids", "the row has no field 'who', only EXPR$0, EXPR$1"),
    ("SELECT »ROW(item, who)[price]« FROM bids", "which field of a row is meant must be constant"),
    ("SELECT * FROM bids WHERE »who LIKE 'a!b' ESCAPE '!'«", "escape character '!' stands before nothing to escape"),
    ("SELECT * FROM bids WHERE »who NOT LIKE 'a' ESCAPE 'ab'«", "ESCAPE takes one character, not 'ab'"),
    ("SELECT * FROM bids WHERE »who SIMILAR TO 'a('«", "'a(' is no pattern for SIMILAR TO"),
    # aggregates
    (
        "SELECT price FROM bids WHERE »SUM(price)« > 1",
        "aggregate function SUM is not allowed in WHERE: filter groups with HAVING",
    ),
    ("SELECT »item«, SUM(price) FROM bids", "column 'item' is neither in GROUP BY nor in an aggregate function"),
    ("SELECT item, »price« FROM bids GROUP BY item", "column 'price' is neither in GROUP BY nor in an aggregate"),
    ("SELECT »item« FROM bids GROUP BY 1", "nor in an aggregate function; GROUP BY takes expressions, no positions"),
    ("SELECT item FROM bids GROUP BY item HAVING »price« > 1", "column 'price' is neither in GROUP BY"),
    ("SELECT item FROM bids GROUP BY item ORDER BY »price«", "column 'price' is neither in GROUP BY"),
    ("SELECT item AS i, COUNT(*) FROM bids GROUP BY »i«", "'i' is a name of the SELECT list: GROUP BY must repeat"),
    ("SELECT SUM(»SUM(price)«) FROM bids", "aggregate function SUM is not allowed in the argument of an aggregate"),
    ("SELECT »SUM(who)« FROM bids", "SUM does not take (STRING): it takes (NUMERIC)"),
    ("SELECT price FROM bids »HAVING price > 1«", "HAVING needs GROUP BY or an aggregate function: use WHERE"),
    ("SELECT GROUPING(»price«) FROM bids GROUP BY item", "an argument of GROUPING must be one of the expressions"),
    # OVER
    ("SELECT »ROW_NUMBER()« FROM bids", "ROW_NUMBER needs an OVER clause"),
    ("SELECT »RANK() OVER (PARTITION BY item)« FROM bids", "RANK needs an ORDER BY in its OVER clause"),
    ("SELECT »UPPER(who)« OVER (ORDER BY ts) FROM bids", "UPPER() cannot have an OVER clause"),
    ("SELECT SUM(price) OVER »w« FROM bids", "there is no window 'w' in the WINDOW clause"),
    ("SELECT 1 FROM bids WHERE »SUM(price) OVER (ORDER BY ts)« > 1", "OVER is not allowed in WHERE"),
    ("SELECT COUNT(*) OVER (ORDER BY »SUM(price) OVER ()«) FROM bids", "OVER calls cannot be nested"),
    (
        "SELECT SUM(price) OVER (ORDER BY who RANGE BETWEEN »INTERVAL '1' SECOND« PRECEDING AND CURRENT ROW) FROM bids",
        "a RANGE with an INTERVAL needs an ORDER BY of a DATE or timestamp, and this is STRING",
    ),
    (
        "SELECT SUM(price) OVER (ORDER BY item RANGE »INTERVAL '1' SECOND« PRECEDING) FROM bids",
        "a RANGE with an INTERVAL needs an ORDER BY of a DATE or timestamp, and this is BIGINT",
    ),
    (
        "SELECT SUM(price) OVER (ORDER BY who RANGE BETWEEN »1« PRECEDING AND CURRENT ROW) FROM bids",
        "a RANGE with a number needs an ORDER BY of a number, and this is STRING",
    ),
    (
        "SELECT SUM(price) OVER (ORDER BY ts RANGE BETWEEN »1« PRECEDING AND CURRENT ROW) FROM bids",
        "a RANGE with a number needs an ORDER BY of a number, and this is TIMESTAMP(3): write an INTERVAL",
    ),
    (
        "SELECT SUM(price) OVER (ORDER BY item, price RANGE BETWEEN »1« PRECEDING AND CURRENT ROW) FROM bids",
        "a RANGE with a distance is measured in one column: the ORDER BY has 2",
    ),
    ("SELECT SUM(price) OVER (ORDER BY ts ROWS BETWEEN »1.5« PRECEDING AND CURRENT ROW) FROM bids", "a number of rows"),
    # set operations, order
    (
        "SELECT price FROM bids UNION »SELECT who, item FROM bids«",
        "UNION needs queries with equally many columns: 1 and 2",
    ),
    (
        "SELECT price FROM bids UNION »SELECT ts FROM bids«",
        "column 1 ('price') of UNION has types without a common one",
    ),
    ("SELECT price FROM bids ORDER BY »2«", "ORDER BY 2: the query has 1 columns"),
    ("SELECT DISTINCT price FROM bids ORDER BY »item«", "with SELECT DISTINCT, ORDER BY can only have expressions of"),
    ("VALUES (1), »(2, 3)«", "the rows of VALUES have different lengths: 1 and 2"),
    # windows
    ("SELECT * FROM TABLE(TUMBLE(TABLE asks, »DESCRIPTOR(ts)«, INTERVAL '1' HOUR))", "TUMBLE needs a time attribute"),
    ("SELECT * FROM TABLE(TUMBLE(TABLE bids, »DESCRIPTOR(tz)«, INTERVAL '1' HOUR))", "there is no column 'tz'"),
    ("SELECT * FROM TABLE(»TUMBLE(TABLE bids, DESCRIPTOR(ts))«)", "TUMBLE needs SIZE; usage: TUMBLE(TABLE data,"),
    ("SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), »5«))", "a constant span of time is needed here"),
    (
        "SELECT * FROM TABLE(»HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '7' MINUTE, INTERVAL '1' HOUR)«)",
        "the size of HOP (3600000 ms) must be a multiple of its slide (420000 ms)",
    ),
    ("SELECT »CURRENT_WATERMARK(ts)« FROM asks", "CURRENT_WATERMARK takes an event time attribute"),
    ("SELECT COUNT(*) FROM asks GROUP BY TUMBLE(»ts«, INTERVAL '1' HOUR)", "TUMBLE needs a time attribute"),
    (
        "SELECT »TUMBLE_START(ts, INTERVAL '2' HOUR)« FROM bids GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
        "TUMBLE_START must repeat the arguments of the window in GROUP BY",
    ),
    ("SELECT »TUMBLE_END(ts, INTERVAL '2' HOUR)« FROM bids", "there is no GROUP BY TUMBLE(...) here"),
    # joins
    ("SELECT * FROM bids JOIN »bids« ON TRUE", "two items of FROM are called 'bids': give one an alias with AS"),
    ("SELECT * FROM bids AS b »JOIN asks AS a USING (price)«", "USING (price): the right input has no column"),
    (
        "SELECT * FROM bids AS b JOIN »asks FOR SYSTEM_TIME AS OF b.ts AS a« ON b.item = a.item",
        "'asks' has no versions: it needs a PRIMARY KEY",
    ),
    (
        "SELECT /*+ LOOKUP('table' = 'a', 'async' = 'true') */ * FROM bids AS b "
        "JOIN »asks FOR SYSTEM_TIME AS OF b.ts AS a« ON b.item = a.item",
        "hint LOOKUP: 'asks' is joined by event time",
    ),
    (
        "SELECT * FROM bids AS b JOIN asks FOR SYSTEM_TIME AS OF »b.price« AS a ON b.item = a.item",
        "FOR SYSTEM_TIME AS OF needs a time attribute of the left table",
    ),
    (
        "SELECT * FROM clicks AS c »JOIN goods FOR SYSTEM_TIME AS OF c.p AS g ON c.item > g.id«",
        "a lookup of 'goods' needs a condition column = value",
    ),
    ("SELECT * FROM »ML_PREDICT(TABLE bids, DESCRIPTOR(who))«", "ML_PREDICT is not supported: call the model in a "),
    ("SELECT * FROM bids, »LATERAL TABLE(word(who))«", "there is no table function word, did you mean 'words'?"),
    ("SELECT * FROM bids, »UNNEST(price) AS t (x)«", "UNNEST takes an ARRAY, a MAP or a MULTISET, and this is INT"),
    (
        "WITH c AS (SELECT item FROM bids) SELECT * FROM »c /*+ OPTIONS('k' = 'v') */«",
        "the hint OPTIONS takes tables: 'c' is a query of WITH",
    ),
    ("SELECT * FROM bids »AS b (a, c)«", "2 names for 4 columns (item, price, who, ts)"),
    # subqueries
    ("SELECT »(SELECT item, price FROM bids)« FROM bids", "a subquery inside an expression must have one column"),
    ("SELECT 1 FROM bids WHERE »price IN (SELECT who, item FROM bids)«", "IN compares 1 values with a query of 2"),
    (
        "SELECT 1 FROM bids WHERE »price > ALL (SELECT who, item FROM bids)«",
        "the subquery must have one column, and this has 2",
    ),
    (
        "»SELECT (SELECT 1 FROM asks AS x RIGHT JOIN (SELECT id FROM goods WHERE id = item) AS y ON TRUE) FROM bids«",
        "a correlated subquery cannot have a RIGHT JOIN: use LEFT JOIN",
    ),
    # hints, and what Flink has and we do not
    ("SELECT »/*+ STATE_TTL('x' = '1d') */« * FROM bids", "hint STATE_TTL: there is no table 'x' in FROM"),
    ("SELECT »/*+ LOOKUP('table' = 'x') */« * FROM bids", "hint LOOKUP: there is no table 'x' in FROM"),
    ("SELECT /*+ »STATE_TTL('bids' = '1dd')« */ * FROM bids", "hint STATE_TTL of 'bids': not a span of time: '1dd'"),
    ("SELECT /*+ »STATE_TTL(bids)« */ * FROM bids", "the hint STATE_TTL takes keys with values: STATE_TTL('table' = "),
    ("SELECT /*+ »LOOKUP('tabel' = 'bids')« */ * FROM bids", "no option 'tabel', did you mean 'table'?"),
    ("SELECT /*+ »LOOKUP('async' = 'true')« */ * FROM bids", "the hint LOOKUP names its table"),
    ("SELECT /*+ »BRODCAST(bids)« */ * FROM bids", "unknown hint BRODCAST, did you mean 'BROADCAST'?"),
    ("SELECT /*+ »BROADCAST('bids' = 'x')« */ * FROM bids", "the hint BROADCAST takes names of tables"),
    ("SELECT /*+ »NEST_LOOP« */ * FROM bids", "the hint NEST_LOOP takes names of tables"),
    ("SELECT * FROM bids /*+ »OPTIONS(x)« */", "the hint OPTIONS takes keys with values: OPTIONS('option' = 'value')"),
    ("»WITH RECURSIVE t AS (SELECT 1)« SELECT * FROM t", "WITH RECURSIVE is not supported"),
    (
        "SELECT * FROM »bids FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00'«",
        "reading a table as of a constant time is not supported",
    ),
]


@corpus(("query", "message"), WRONG, 91)
def test_error(query: str, message: str, session: Session) -> None:
    before, rest = query.split("»")
    marked, after = rest.split("«")
    with pytest.raises(SqlValidationError) as caught:
        session.bind(before + marked + after)
    assert message in caught.value.message
    position = caught.value.position
    assert position is not None
    assert position.text == marked
