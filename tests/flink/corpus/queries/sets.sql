SELECT user_id FROM orders UNION SELECT user_id FROM users
SELECT user_id FROM orders UNION ALL SELECT user_id FROM users
SELECT user_id FROM orders INTERSECT SELECT user_id FROM users
SELECT user_id FROM orders INTERSECT ALL SELECT user_id FROM clicks
SELECT user_id FROM orders EXCEPT SELECT user_id FROM users
SELECT user_id FROM orders EXCEPT ALL SELECT user_id FROM users
SELECT user_id, CAST(1 AS BIGINT) FROM orders UNION ALL SELECT user_id, 2 FROM users
SELECT user_id FROM orders WHERE id > 100 UNION SELECT user_id FROM users WHERE user_id < 3
(SELECT name FROM users WHERE user_id = 1) UNION ALL (SELECT name FROM users WHERE user_id = 2)
SELECT city FROM users UNION SELECT name FROM users
SELECT x FROM numbers INTERSECT SELECT CAST(y AS INT) FROM numbers
SELECT k, w FROM numbers EXCEPT SELECT k, 'a' FROM numbers
SELECT COUNT(*) FROM (SELECT user_id FROM orders UNION SELECT user_id FROM clicks)
SELECT price FROM orders UNION ALL SELECT y FROM numbers
SELECT amount FROM orders UNION SELECT x FROM numbers EXCEPT SELECT 7
SELECT * FROM (VALUES (1), (2)) UNION ALL SELECT * FROM (VALUES (2), (3))
SELECT u.name, e.x FROM users u CROSS JOIN UNNEST(ARRAY[1, 2]) AS e(x)
SELECT i, e.x FROM t CROSS JOIN UNNEST(ai) AS e(x)
SELECT i, e.x FROM t LEFT JOIN UNNEST(ai) AS e(x) ON TRUE
SELECT i, e.k, e.v FROM t CROSS JOIN UNNEST(m) AS e(k, v)
SELECT i, e.x, e.n FROM t CROSS JOIN UNNEST(sa) WITH ORDINALITY AS e(x, n)
SELECT e.a, e.b FROM (SELECT ARRAY[ROW(1, 'x'), ROW(2, 'y')] AS rs) AS s CROSS JOIN UNNEST(rs) AS e(a, b)
SELECT k, w2 FROM (SELECT k, COLLECT(w) AS ws FROM numbers WHERE w IS NOT NULL GROUP BY k) CROSS JOIN UNNEST(ws) AS e(w2)
SELECT x FROM UNNEST(ARRAY[3, 1, 2]) AS e(x)
SELECT e.x, COUNT(*) FROM t CROSS JOIN UNNEST(sa) AS e(x) GROUP BY e.x
