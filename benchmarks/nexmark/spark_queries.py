"""The queries in plain Spark SQL, as somebody who knows Spark writes them by hand: those that are no valid Spark SQL as
they are, or mean another thing there."""

from __future__ import annotations

from benchmarks.nexmark.queries import QUERIES

_TUMBLE = "window(dateTime, '10 seconds')"
_CHANNEL = "'(&|^)channel_id=([^&]*)'"
_OF_ITS_OWN = {
    # The mean of whole numbers is a whole number in Flink.
    "q4": QUERIES["q4"].replace("AVG(highest)", "SUM(highest) DIV COUNT(highest)"),
    "q5": """
        WITH counted AS (
            SELECT auction, COUNT(*) AS bids, window(dateTime, '10 seconds', '2 seconds') AS w
            FROM bid
            GROUP BY auction, window(dateTime, '10 seconds', '2 seconds'))
        SELECT c.auction, c.bids
        FROM counted AS c
        JOIN (SELECT MAX(bids) AS most, w FROM counted GROUP BY w) AS m ON c.w = m.w AND c.bids >= m.most""",
    "q6": """
        SELECT seller, SUM(price) OVER last_ones DIV COUNT(price) OVER last_ones AS mean
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY price DESC, dateTime) AS place
            FROM (
                SELECT a.id, a.seller, b.price, b.dateTime
                FROM auction AS a JOIN bid AS b ON a.id = b.auction
                WHERE b.dateTime BETWEEN a.dateTime AND a.expires))
        WHERE place <= 1
        WINDOW last_ones AS (PARTITION BY seller ORDER BY dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)""",
    "q7": f"""
        SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
        FROM bid AS b
        JOIN (SELECT MAX(price) AS highest, w.end AS till FROM (SELECT price, {_TUMBLE} AS w FROM bid) GROUP BY w) AS m
        ON b.price = m.highest
        WHERE b.dateTime BETWEEN m.till - INTERVAL '10' SECOND AND m.till""",
    "q8": f"""
        SELECT p.id, p.name, p.w.start
        FROM (SELECT DISTINCT id, name, {_TUMBLE} AS w FROM person) AS p
        JOIN (SELECT DISTINCT seller, {_TUMBLE} AS w FROM auction) AS a
        ON p.id = a.seller AND p.w = a.w""",
    "q11": """
        SELECT bidder, COUNT(*) AS bids, w.start, w.end
        FROM (SELECT bidder, session_window(dateTime, '10 seconds') AS w FROM bid)
        GROUP BY bidder, w""",
    "q12": """
        SELECT bidder, COUNT(*) AS bids, w.start, w.end
        FROM (SELECT bidder, window(p, '10 seconds') AS w FROM (SELECT bidder, LOCALTIMESTAMP() AS p FROM bid))
        GROUP BY bidder, w""",
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.dateTime, s.word
        FROM bid AS b JOIN side AS s ON MOD(b.auction, 10000) = s.number""",
    "q17": QUERIES["q17"].replace("AVG(price)", "SUM(price) DIV COUNT(price)"),
    # What does not match is an empty text in Spark.
    "q21": QUERIES["q21"].replace(f"REGEXP_EXTRACT(url, {_CHANNEL}, 2) IS NOT NULL", f"url RLIKE {_CHANNEL}"),
    "q22": """
        SELECT auction, bidder, price, channel,
            get(parts, 3) AS dir1, get(parts, 4) AS dir2, get(parts, 5) AS dir3
        FROM (SELECT *, SPLIT(url, '/') AS parts FROM bid)""",
}
SPARK_QUERIES = {**QUERIES, **_OF_ITS_OWN}
