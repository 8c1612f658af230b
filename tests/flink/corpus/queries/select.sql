SELECT * FROM users
SELECT user_id, UPPER(name) AS n FROM users WHERE city = 'Berlin'
SELECT * FROM users WHERE city IS NULL
SELECT * FROM users WHERE city <> 'Berlin'
SELECT * FROM users WHERE NOT (city = 'Berlin')
SELECT DISTINCT city FROM users
SELECT DISTINCT user_id, product FROM orders
SELECT id, amount * price AS total FROM orders
SELECT id FROM orders WHERE amount > 2 AND price < 5
SELECT id FROM orders WHERE amount > 2 OR price < 2
SELECT id FROM orders WHERE amount IN (1, 2, NULL)
SELECT id FROM orders WHERE amount NOT IN (1, 2)
SELECT id FROM orders WHERE amount BETWEEN 2 AND 5
SELECT id FROM orders WHERE product LIKE 'p%'
SELECT id, CASE WHEN amount > 3 THEN 'many' WHEN amount IS NULL THEN 'unknown' ELSE 'few' END AS size FROM orders
SELECT id, COALESCE(product, 'none') FROM orders
SELECT * FROM nothing
SELECT k, a FROM nothing WHERE a > 1
SELECT 1 AS n1, 'x' AS x1
SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (1, 'a')) AS v(n, s)
SELECT n + 1 FROM (VALUES (1), (2), (NULL)) AS v(n)
SELECT * FROM (VALUES (1, 1.5), (2, 22.25)) AS v(n, d)
WITH big AS (SELECT * FROM orders WHERE amount > 2), names AS (SELECT user_id, name FROM users) SELECT b.id, n.name FROM big b JOIN names n ON b.user_id = n.user_id
SELECT id AS `select`, price AS `a b` FROM orders WHERE id < 3
SELECT o.* FROM orders AS o WHERE o.id = 1
SELECT id, ts, EXTRACT(MINUTE FROM ts) AS m FROM orders
SELECT id, price FROM orders ORDER BY price DESC NULLS LAST, id LIMIT 4
SELECT id, price FROM orders ORDER BY price, id LIMIT 3
SELECT id, price FROM orders ORDER BY price DESC, id FETCH FIRST 2 ROWS ONLY
SELECT id FROM orders ORDER BY id LIMIT 3 OFFSET 4
SELECT id FROM orders ORDER BY ts, id
SELECT product FROM orders ORDER BY product NULLS FIRST, id LIMIT 3
SELECT k, w FROM numbers ORDER BY k DESC NULLS FIRST, x, y, z, w LIMIT 5
SELECT name FROM users WHERE user_id = (SELECT MAX(user_id) FROM orders WHERE product = 'pen')
SELECT name, (SELECT COUNT(*) FROM orders o WHERE o.user_id = u.user_id) AS n FROM users u
SELECT CAST(price AS INT), CAST(amount AS STRING) FROM orders
SELECT id, amount / 2, amount % 2, -amount FROM orders
SELECT id, price / 3 FROM orders
SELECT id, IF(amount > 2, price, NULL) FROM orders
SELECT r.x, r.y FROM t
SELECT ai[1], m['a'], CARDINALITY(sa) FROM t
SELECT t.r.* FROM t
SELECT COUNT(*) FROM nothing
SELECT SUM(a), MAX(c), COUNT(k) FROM nothing
SELECT c, COUNT(*) FROM nothing GROUP BY c
SELECT x, y FROM numbers WHERE x > y
SELECT x FROM numbers WHERE y = 0
SELECT x FROM numbers WHERE z IN (10.25, 0.01)
SELECT w || '!' FROM numbers WHERE w <> ''
SELECT k IS NULL, x IS NOT NULL FROM numbers
SELECT id, LAG(id) OVER (ORDER BY ts) FROM orders
SELECT CAST(ROW(id, product) AS ROW<a BIGINT, b STRING>) FROM orders WHERE id < 4
SELECT ARRAY[id, amount] FROM orders WHERE id < 4
SELECT MAP['p', product] FROM orders WHERE id < 4
