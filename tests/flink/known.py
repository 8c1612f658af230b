"""Where Millrace's answers are not Flink's, by reason. A test fails when one of them has become Flink's."""

# ruff: noqa: E501  queries are as long as they are

from __future__ import annotations

from tests.flink import corpus


def _by_text(reasons: dict[str, str]) -> dict[str, str]:
    """text -> reason, of reasons and the texts that they hold for, a line each."""
    return {text.strip(): reason for reason, texts in reasons.items() for text in texts.strip().splitlines()}


AS_THE_STANDARD_SAYS = "MATCH_RECOGNIZE with what Flink refuses has the meaning of the SQL standard"
MATCHES = """
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b, C.id AS c ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B?? C) DEFINE B AS B.price < A.price, C AS C.price > A.price) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b, C.id AS c ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{,2} C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES RUNNING LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) DEFINE B AS B.price < A.price) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*) DEFINE B AS B.price < A.price) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{1,2}) DEFINE B AS B.price < A.price) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A+) DEFINE A AS A.price > 20) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b, C.id AS c, CLASSIFIER() AS k ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a, LAST(B.id) AS b, C.id AS c, MATCH_NUMBER() AS k ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES COUNT(DISTINCT B.price) AS k ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES PREV(B.price) AS k ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS B.price < PREV(B.price), C AS C.price > PREV(C.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS A.price < NEXT(A.price)) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ((A B)+ C) DEFINE C AS C.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A | B) DEFINE B AS B.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A (B | C)) DEFINE B AS B.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (PERMUTE(A, B)) DEFINE B AS B.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A {- B -} C) DEFINE B AS B.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A A) DEFINE A AS A.price > 10) AS m
    SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.id AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B A) DEFINE A AS A.price > 10) AS m
""".strip()
"""texts of MATCH_RECOGNIZE that Flink refuses in both modes"""

EXPRESSIONS = _by_text(
    {
        "Flink cuts the fraction of a second before 1970 towards 1970": """
            CAST(ts AS DATE)
            CAST(ts AS TIME)
            CAST(ts AS TIMESTAMP(0))
            EXTRACT(HOUR FROM ts)
            EXTRACT(MINUTE FROM ts)
            EXTRACT(SECOND FROM ts)
            EXTRACT(MILLISECOND FROM ts)
            EXTRACT(DOW FROM ts)
            HOUR(ts)
            MINUTE(ts)
            SECOND(ts)
            FLOOR(ts TO MONTH)
            FLOOR(ts TO YEAR)
            FLOOR(ts TO QUARTER)
            FLOOR(ts TO DECADE)
        """,
        "Flink takes a local time before 1970 for one of the day after": """
            EXTRACT(HOUR FROM ltz)
            EXTRACT(DAY FROM ltz)
            HOUR(ltz)
            YEAR(ltz)
        """,
        "Flink counts 24 hours for a day on which clocks are changed": """
            CEIL(ltz TO DAY)
        """,
        "Flink's numbers of 32 bits overflow": """
            TIMESTAMPDIFF(WEEK, dt, DATE '2022-01-01')
        """,
        "Flink shows the year 10000 as 0000; the value is beyond Python's": """
            CAST('9999-12-31 23:59:59' AS TIMESTAMP_LTZ(3))
        """,
        "times have microseconds, and intervals, too; Flink's have nanoseconds and milliseconds": """
            TIMESTAMP '2020-01-01 10:11:12.123456789'
            ts6 + INTERVAL '0.000001' SECOND
            (ts - ts6) DAY TO SECOND
        """,
        "Flink's planner takes a comparison of equal constants for TRUE": """
            CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)
        """,
        "Flink's planner cannot hold NaN as a constant": """
            0e0 / 0
            TRY_CAST('NaN' AS FLOAT)
        """,
        "Flink's TRUNCATE fails for large DOUBLEs": """
            TRUNCATE(d, 3)
        """,
        "Flink reads a T as a 0": """
            TRY_CAST('T' AS DECIMAL(5, 1))
        """,
        "Flink compares a BOOLEAN with the text as if it were never TRUE": """
            b = 'true'
        """,
        "Flink fails to compile it, or while it runs": """
            CAST(ARRAY[ROW(1, NULL)] AS STRING)
            CEIL(tm TO MINUTE)
            JSON_ARRAY(JSON_OBJECT('a' VALUE NULL))
            JSON_ARRAY(dt, dc, d)
            JSON_OBJECT('a' VALUE NULL NULL ON NULL)
            JSON_OBJECT('a' VALUE dt)
            JSON_OBJECT('a' VALUE tm)
            JSON_OBJECT('a' VALUE dt, 'b' VALUE ts, 'c' VALUE tm)
            JSON_VALUE('{"a":"5"}', '$.a' RETURNING INT)
            JSON_VALUE('{"a":"x"}', '$.a' RETURNING INT)
            LPAD('hi', 5, '')
            RPAD('hi', 5, '')
            REGEXP_REPLACE('abc', '(', 'x')
            bs || x'00'
            i = '42'
            '42' = i
        """,
        "Flink refuses a NULL without a type": """
            CONCAT('a', NULL)
            CONCAT_WS(',', s, NULL, v)
            CONCAT_WS(NULL, 'a', 'b')
            INSTR(s, NULL)
            MAP['a', NULL, 'b', 2]
            REPLACE(s, 'x', NULL)
            ROW(NULL, 1)
            TRANSLATE('abc', 'b', NULL)
            b AND NULL
            b OR NULL
        """,
        "Flink refuses what can be computed": """
            CAST(INTERVAL '5' DAY AS BIGINT)
            JSON_STRING(12345678901234567890.5)
            JSON_STRING(dt)
            d % 0
            dt < ts
            dt = ts
            i != 42
        """,
        "PRINTF shows values as CAST does; Flink shows its inner numbers of times and nothing of DECIMALs": """
            PRINTF('%.2f', dc)
            PRINTF('%f', 1.5)
            PRINTF('%s', dt)
        """,
        "the order of a map's entries is not defined: Flink's is that of hashes": """
            CAST(m AS STRING)
            MAP_ENTRIES(m)
            MAP_KEYS(m)
            MAP_VALUES(m)
        """,
        "a key of a MAP cannot be NULL in Arrow": """
            MAP[i, s]
        """,
    }
)

TYPES = _by_text(
    {
        "Flink's results have INTERVAL SECOND(3) and INTERVAL MONTH for all intervals": """
            INTERVAL '5' DAY
            INTERVAL '1 02:03:04.567' DAY TO SECOND
            INTERVAL '1-2' YEAR TO MONTH
            INTERVAL '90' MINUTE
            2 * INTERVAL '1' DAY
            INTERVAL '1' DAY + INTERVAL '2' HOUR
            (ts - TIMESTAMP '2021-03-13 00:00:00') HOUR
            (dt - DATE '2021-01-01') DAY
            (dt - DATE '2020-01-01') YEAR
            CAST(5 AS INTERVAL DAY)
            CAST(5 AS INTERVAL YEAR)
            CAST(5 AS INTERVAL HOUR)
        """,
        "the result can be NULL, though Flink says that it cannot": """
            ELEMENT(ARRAY[5])
            LPAD('hi', 5, 'ab')
            REGEXP_REPLACE('abc', '(b)', '[$1]')
            REGEXP_REPLACE('foobar', 'oo|ar', '')
        """,
    }
)

QUERIES = _by_text(
    {
        AS_THE_STANDARD_SAYS: f"""
            {MATCHES}
            SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(A.id) AS a, LAST(A.id) AS l, LAST(B.id) AS b, C.id AS c AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B? C) DEFINE A AS A.amount < 4, B AS B.amount >= 4, C AS C.amount < 3)
            SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a AFTER MATCH SKIP TO LAST U PATTERN (A B C) SUBSET U = (A, B) DEFINE B AS B.amount > A.amount)
            SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a, COUNT(A.*) AS n PATTERN (A B) DEFINE B AS B.amount > A.amount)
        """,
        "an aggregate without GROUP BY over no rows has a row at the end of bounded input, as in batch mode": """
            SELECT COUNT(*) FROM nothing
            SELECT SUM(a), MAX(c), COUNT(k) FROM nothing
            SELECT COLLECT(c), LISTAGG(c) FROM nothing
            SELECT SUM(amount) FROM orders WHERE id > 100
            SELECT COUNT(*) FROM changing WHERE c IS NULL
        """,
        "Flink refuses a NULL without a type": """
            SELECT n + 1 FROM (VALUES (1), (2), (NULL)) AS v(n)
            SELECT id, IF(amount > 2, price, NULL) FROM orders
        """,
        "Flink fails to compile it, or while it runs": """
            SELECT city, name, COUNT(*) FROM users GROUP BY GROUPING SETS (ROLLUP(city, name), CUBE(name))
            SELECT u.name, l.product FROM users u CROSS JOIN LATERAL (SELECT product FROM orders o WHERE o.user_id = u.user_id ORDER BY id DESC LIMIT 1) AS l
            SELECT user_id FROM users ORDER BY user_id NULLS LAST LIMIT ALL
            SELECT COUNT(DISTINCT r), COUNT(DISTINCT ts), COUNT(DISTINCT dc) FROM t
            SELECT JSON_OBJECTAGG(KEY w VALUE y) FROM numbers WHERE w IS NOT NULL AND x = 7
        """,
        "Flink's LAG takes a row of the same time for the one before": """
            SELECT id, LAG(id) OVER (ORDER BY ts) FROM orders
        """,
        "the result can be NULL, though Flink says that it cannot": """
            SELECT id, LAG(amount, 2, -1) OVER (PARTITION BY user_id ORDER BY ts) FROM orders
        """,
        "Flink's streams say nothing of rows that are compared with all or any of no rows, as long as there are none": """
            SELECT id FROM orders WHERE amount > ALL (SELECT user_id FROM users WHERE user_id > 100)
            SELECT id FROM orders WHERE amount = ALL (SELECT user_id FROM users WHERE user_id > 100)
            SELECT id, amount > ALL (SELECT k FROM nothing), amount > ANY (SELECT k FROM nothing) FROM orders
            SELECT id, amount = ALL (SELECT k FROM nothing), amount <> ANY (SELECT k FROM nothing) FROM orders
        """,
        "Flink's ``= ALL`` of a correlated query loses rows whose values are all the same in streaming mode": """
            SELECT id FROM orders o WHERE amount = ALL (SELECT amount FROM orders i WHERE i.user_id = o.user_id)
        """,
        "WITHIN GROUP orders what LISTAGG and ARRAY_AGG put together; Flink refuses that": """
            SELECT LISTAGG(w) WITHIN GROUP (ORDER BY x) FROM numbers WHERE k = 1
            SELECT LISTAGG(w, '-') WITHIN GROUP (ORDER BY x DESC, w) FROM numbers WHERE k IS NOT NULL
            SELECT k, LISTAGG(w, '-') WITHIN GROUP (ORDER BY w, x) FROM numbers GROUP BY k
            SELECT ARRAY_AGG(w) WITHIN GROUP (ORDER BY x) FROM numbers
            SELECT user_id, LISTAGG(product) WITHIN GROUP (ORDER BY id DESC) FROM orders GROUP BY user_id
            SELECT user_id, LISTAGG(product) WITHIN GROUP (ORDER BY product, id) FILTER (WHERE amount > 1) FROM orders GROUP BY user_id
            SELECT user_id, LISTAGG(DISTINCT product) WITHIN GROUP (ORDER BY product) FROM orders GROUP BY user_id
            SELECT window_start, LISTAGG(product) WITHIN GROUP (ORDER BY id DESC) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end
            SELECT c, LISTAGG(CAST(k AS STRING)) WITHIN GROUP (ORDER BY k DESC) FROM changing GROUP BY c
        """,
        "JSON_ARRAYAGG heeds its ORDER BY; Flink does not": """
            SELECT JSON_ARRAYAGG(product) WITHIN GROUP (ORDER BY id DESC) FROM orders
            SELECT JSON_ARRAYAGG(product ORDER BY id DESC) FROM orders
        """,
        "Flink refuses what can be computed": """
            SELECT * FROM (users)
        """,
        "an aggregate without GROUP BY in LATERAL gives a row for no rows; Flink leaves the left row out": """
            SELECT u.name, l.s FROM users u, LATERAL (SELECT SUM(amount) AS s FROM orders o WHERE o.user_id = u.user_id) AS l
        """,
        "the operation of a change is never NULL, though Flink says that it can be": """
            SELECT * FROM TO_CHANGELOG(input => TABLE changing)
        """,
    }
)
"""in streaming mode"""

BATCH_QUERIES = _by_text(
    {
        AS_THE_STANDARD_SAYS: MATCHES,
        "Flink takes MATCH_ROWTIME of a variable's time in streaming mode only": """
            SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES MATCH_ROWTIME(C.ts) AS rt, C.id AS c ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS LAST(B.price, 1) IS NULL AND B.price < A.price OR B.price < LAST(B.price, 1), C AS C.price > LAST(B.price)) AS m
        """,
        "Flink refuses a NULL without a type": """
            SELECT n + 1 FROM (VALUES (1), (2), (NULL)) AS v(n)
            SELECT id, IF(amount > 2, price, NULL) FROM orders
        """,
        "Flink fails to compile it, or while it runs": """
            SELECT JSON_OBJECTAGG(KEY w VALUE y) FROM numbers WHERE w IS NOT NULL AND x = 7
            SELECT BITMAP_TO_STRING(BITMAP_BUILD_AGG(amount)) FROM orders WHERE amount IS NOT NULL
        """,
        "Flink has no such windows in batch mode": """
            SELECT id, COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW) FROM orders
            SELECT id, COUNT(amount) OVER (PARTITION BY product ORDER BY ts RANGE BETWEEN INTERVAL '30' SECOND PRECEDING AND CURRENT ROW) FROM orders
            SELECT id, COUNT(DISTINCT product) OVER (PARTITION BY user_id ORDER BY ts) FROM orders
            SELECT window_start, window_end, user_id, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY user_id, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, user_id
            SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end
            SELECT user_id, SESSION_START(ts, INTERVAL '10' SECOND), SESSION_END(ts, INTERVAL '10' SECOND), COUNT(*) FROM orders GROUP BY user_id, SESSION(ts, INTERVAL '10' SECOND)
        """,
        "Flink's CUME_DIST counts rows of equal value one by one": """
            SELECT id, PERCENT_RANK() OVER (ORDER BY amount), CUME_DIST() OVER (ORDER BY amount) FROM orders
        """,
        "the order of what is aggregated is not defined": """
            SELECT k, ARRAY_AGG(DISTINCT w) FROM numbers WHERE k = 3 OR k = 1 GROUP BY k
        """,
        "the result can be NULL, though Flink says that it cannot": """
            SELECT id, LAG(amount, 2, -1) OVER (PARTITION BY user_id ORDER BY ts) FROM orders
        """,
    }
)
ERRORS: dict[str, str] = {}
STATEMENTS = _by_text(
    {
        "a statement set may begin without EXECUTE": """
            CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; STATEMENT SET BEGIN INSERT INTO x VALUES (1); END
            CREATE TABLE x (a INT) WITH ('connector' = 'blackhole') ;; BEGIN STATEMENT SET; INSERT INTO x VALUES (1); END
        """,
        "SET and RESET are statements here; Flink leaves them to its client": """
            SET 'table.exec.mini-batch.size' = '5'
            SET
            RESET
            RESET 'table.exec.mini-batch.size'
        """,
        "EXPLAIN PLAN_ADVICE says that there is none in batch mode; Flink refuses": """
            EXPLAIN PLAN_ADVICE SELECT user_id, COUNT(*) FROM users GROUP BY user_id
        """,
        "DESCRIBE DATABASE and DESCRIBE FUNCTION are statements of Flink's documentation that it does not read": """
            CREATE DATABASE d ;; ALTER DATABASE d SET ('k' = 'w') ;; DESCRIBE DATABASE d
            CREATE DATABASE d WITH ('k' = 'v') ;; DESCRIBE DATABASE EXTENDED d
            DESCRIBE FUNCTION UPPER
            DESCRIBE FUNCTION EXTENDED upper
        """,
        "a function in Python is looked for when it is created": """
            CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON ;; SHOW USER FUNCTIONS
            CREATE TEMPORARY FUNCTION IF NOT EXISTS f AS 'm.f' LANGUAGE PYTHON ;; SHOW USER FUNCTIONS LIKE 'f'
            CREATE TEMPORARY SYSTEM FUNCTION f AS 'm.f' LANGUAGE PYTHON ;; SHOW USER FUNCTIONS
            CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON ;; ALTER FUNCTION f AS 'm.g' LANGUAGE PYTHON
            CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON ;; DROP FUNCTION f ;; SHOW USER FUNCTIONS
        """,
        "names of the Table API are no functions of SQL": """
            SHOW FUNCTIONS LIKE 'up%'
            SHOW FUNCTIONS FROM default_database ILIKE 'UPPE%'
        """,
        "catalogs have procedures in Python; Flink's own catalog has none": """
            SHOW PROCEDURES
            SHOW PROCEDURES FROM default_database LIKE 'a%'
            SHOW PROCEDURES IN default_catalog.default_database NOT ILIKE 'a%'
        """,
        "SHOW MODELS shows temporary ones": """
            CREATE TEMPORARY MODEL m INPUT (a STRING) OUTPUT (b STRING) WITH ('provider' = 'openai') ;; SHOW MODELS LIKE 'm'
        """,
        "SHOW CREATE MODEL keeps the order of options, and STRING": """
            CREATE MODEL m INPUT (a STRING) OUTPUT (b STRING) WITH ('provider' = 'openai') ;; ALTER MODEL m SET ('k' = 'v') ;; SHOW CREATE MODEL m
        """,
        "materialized tables are not there": """
            CREATE MATERIALIZED TABLE m AS SELECT 1 AS a
            CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT 1 AS a
            CREATE OR ALTER MATERIALIZED TABLE m AS SELECT 1 AS a
            DROP MATERIALIZED TABLE IF EXISTS m
        """,
        "ILIKE works for tables, too": """
            SHOW TABLES ILIKE 'U%'
            SHOW TABLES NOT ILIKE 'U%'
        """,
        "the columns of a PRIMARY KEY are NOT NULL while they are one, whatever they were declared as": """
            CREATE TABLE x (c INT, d AS c + 1, PRIMARY KEY (user_id) NOT ENFORCED) WITH ('connector' = 'blackhole') AS SELECT user_id, name FROM users WHERE user_id IS NOT NULL ;; DESCRIBE x
            CREATE TABLE x (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP PRIMARY KEY ;; DESCRIBE x
            CREATE TABLE x (a INT, CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'blackhole') ;; ALTER TABLE x DROP CONSTRAINT k ;; DESCRIBE x
        """,
        "DESCRIBE shows time attributes in batch mode, too": """
            CREATE TABLE x (a INT NOT NULL, b AS a * 2 COMMENT 'twice', ts TIMESTAMP(3) COMMENT 'when', WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED) COMMENT 'all' WITH ('connector' = 'blackhole') ;; DESCRIBE x
            CREATE TABLE x (a INT, ts TIMESTAMP(3)) WITH ('connector' = 'blackhole') ;; ALTER TABLE x ADD WATERMARK FOR ts AS ts ;; DESCRIBE x
            DESCRIBE orders
        """,
    }
)
PROGRAMS = {
    "timestamps_without_strategy": "an element without a timestamp has None; PyFlink shows the smallest number",
    "sessions_out_of_order": "PyFlink loses the elements of one of three sessions that are merged at once",
}
OF_CHANGES = ("FROM changing", "JOIN changing", "FROM rates")
MODES = {
    **{
        query.sql: "batch mode reads no tables of changes; Flink's neither"
        for query in corpus.queries()
        if any(words in query.sql for words in OF_CHANGES)
    },
    **_by_text(
        {
            "the order of what is aggregated is not defined": """
                SELECT k, ARRAY_AGG(DISTINCT w) FROM numbers WHERE k = 3 OR k = 1 GROUP BY k
            """,
        }
    ),
}
"""where streaming and batch mode differ"""
