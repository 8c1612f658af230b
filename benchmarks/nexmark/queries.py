"""The queries of Nexmark in our own words, after their published descriptions."""

from __future__ import annotations

_COUNTS = """COUNT(*) AS bids,
            COUNT(*) FILTER (WHERE price < 10000) AS low,
            COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
            COUNT(*) FILTER (WHERE price >= 1000000) AS high"""
_DISTINCT_COUNTS = """COUNT(DISTINCT bidder) AS bidders,
            COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders,
            COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bidders,
            COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS high_bidders,
            COUNT(DISTINCT auction) AS auctions,
            COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS low_auctions,
            COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_auctions,
            COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS high_auctions"""

QUERIES: dict[str, str] = {
    # Every bid as it is.
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    # Prices in another currency.
    "q1": "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid",
    # Bids for some auctions.
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    # Who sells in some states, in one category.
    "q3": """
        SELECT p.name, p.city, p.state, a.id
        FROM auction AS a JOIN person AS p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    # The mean of the highest bids, by category.
    "q4": """
        SELECT category, AVG(highest) AS mean
        FROM (
            SELECT a.category, MAX(b.price) AS highest
            FROM auction AS a JOIN bid AS b ON a.id = b.auction
            WHERE b.dateTime BETWEEN a.dateTime AND a.expires
            GROUP BY a.id, a.category)
        GROUP BY category""",
    # The auctions with the most bids, every 2 s for the last 10 s.
    "q5": """
        WITH counted AS (
            SELECT auction, COUNT(*) AS bids, window_start, window_end
            FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
            GROUP BY auction, window_start, window_end)
        SELECT c.auction, c.bids
        FROM counted AS c
        JOIN (
            SELECT MAX(bids) AS most, window_start, window_end FROM counted GROUP BY window_start, window_end) AS m
        ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.bids >= m.most""",
    # The mean of the last 10 winning bids of each seller.
    "q6": """
        SELECT seller, AVG(price) OVER (
            PARTITION BY seller ORDER BY dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS mean
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY price DESC, dateTime) AS place
            FROM (
                SELECT a.id, a.seller, b.price, b.dateTime
                FROM auction AS a JOIN bid AS b ON a.id = b.auction
                WHERE b.dateTime BETWEEN a.dateTime AND a.expires))
        WHERE place <= 1""",
    # The highest bids of each 10 s.
    "q7": """
        SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
        FROM bid AS b
        JOIN (
            SELECT MAX(price) AS highest, window_end AS till
            FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
            GROUP BY window_start, window_end) AS m
        ON b.price = m.highest
        WHERE b.dateTime BETWEEN m.till - INTERVAL '10' SECOND AND m.till""",
    # Persons who sell something within the 10 s in which they came.
    "q8": """
        SELECT p.id, p.name, p.window_start
        FROM (
            SELECT id, name, window_start, window_end
            FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
            GROUP BY id, name, window_start, window_end) AS p
        JOIN (
            SELECT seller, window_start, window_end
            FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
            GROUP BY seller, window_start, window_end) AS a
        ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    # The winning bid of each auction.
    "q9": """
        SELECT id, itemName, seller, category, auction, bidder, price, bidTime
        FROM (
            SELECT a.id, a.itemName, a.seller, a.category, b.auction, b.bidder, b.price, b.dateTime AS bidTime,
                ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) AS place
            FROM auction AS a JOIN bid AS b ON a.id = b.auction
            WHERE b.dateTime BETWEEN a.dateTime AND a.expires)
        WHERE place <= 1""",
    # Bids with the partition that they would be written to.
    "q10": """
        SELECT auction, bidder, price, dateTime, extra,
            DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS dt, DATE_FORMAT(dateTime, 'HH:mm') AS hm
        FROM bid""",
    # Bids per session of a bidder.
    "q11": """
        SELECT bidder, COUNT(*) AS bids, window_start, window_end
        FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end""",
    # Bids of a bidder per 10 s on the clock.
    "q12": """
        SELECT bidder, COUNT(*) AS bids, window_start, window_end
        FROM TABLE(TUMBLE(TABLE bid_now, DESCRIPTOR(p), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end""",
    # Bids with a value from a table outside.
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.dateTime, s.word
        FROM bid_now AS b JOIN side FOR SYSTEM_TIME AS OF b.p AS s ON MOD(b.auction, 10000) = s.number""",
    # Calculations, one of them by a function of the user.
    "q14": """
        SELECT auction, bidder, 0.908 * price AS price,
            CASE
                WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'day'
                WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'night'
                ELSE 'other'
            END AS part,
            dateTime, extra, count_char(extra, 'c') AS cs
        FROM bid
        WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    # Numbers of a day.
    "q15": f"""
        SELECT DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS d,
            {_COUNTS},
            {_DISTINCT_COUNTS}
        FROM bid
        GROUP BY DATE_FORMAT(dateTime, 'yyyy-MM-dd')""",
    # Numbers of a channel and day.
    "q16": f"""
        SELECT channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS d,
            MAX(DATE_FORMAT(dateTime, 'HH:mm')) AS till,
            {_COUNTS},
            {_DISTINCT_COUNTS}
        FROM bid
        GROUP BY channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd')""",
    # Numbers of an auction and day.
    "q17": f"""
        SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS d,
            {_COUNTS},
            MIN(price) AS lowest, MAX(price) AS highest, AVG(price) AS mean, SUM(price) AS total
        FROM bid
        GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd')""",
    # The last bid of each bidder for each auction.
    "q18": """
        SELECT auction, bidder, price, channel, url, dateTime, extra
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS place FROM bid)
        WHERE place <= 1""",
    # The ten highest bids of each auction.
    "q19": """
        SELECT *
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid)
        WHERE place <= 10""",
    # Bids with their auctions of one category.
    "q20": """
        SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, a.itemName, a.description, a.initialBid,
            a.reserve, a.dateTime AS began, a.expires, a.seller, a.category
        FROM bid AS b JOIN auction AS a ON b.auction = a.id
        WHERE a.category = 10""",
    # The number of a channel, from its name or the URL.
    "q21": """
        SELECT auction, bidder, price, channel,
            CASE
                WHEN LOWER(channel) = 'apple' THEN '0'
                WHEN LOWER(channel) = 'google' THEN '1'
                WHEN LOWER(channel) = 'facebook' THEN '2'
                WHEN LOWER(channel) = 'baidu' THEN '3'
                ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)
            END AS channel_id
        FROM bid
        WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
            OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    # The directories of the URL.
    "q22": """
        SELECT auction, bidder, price, channel,
            SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3
        FROM bid""",
}
