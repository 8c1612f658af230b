WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r
WITH a(x, y) AS (SELECT user_id, name FROM users) SELECT y FROM a WHERE x = 1
WITH a AS (VALUES (1), (2)) SELECT * FROM a
TABLE users
SELECT ALL user_id FROM users
SELECT user_id FROM users WHERE (user_id, name) IN ((1, 'Ann'), (2, 'x'))
SELECT user_id FROM users WHERE (user_id, name) IN (SELECT user_id, name FROM users)
SELECT user_id FROM users WHERE (user_id, name) = (1, 'Ann')
SELECT user_id FROM users WHERE name BETWEEN SYMMETRIC 'Z' AND 'A'
SELECT user_id FROM users WHERE name SIMILAR TO '(A|B)%'
SELECT user_id FROM users WHERE name IS DISTINCT FROM 'Ann'
SELECT user_id FROM users TABLESAMPLE BERNOULLI(100)
SELECT user_id FROM users TABLESAMPLE SYSTEM(100)
SELECT SUM(amount) OVER w FROM orders WINDOW w AS (PARTITION BY user_id ORDER BY ts)
SELECT id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ts, id) AS n FROM orders QUALIFY n = 1
SELECT id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ts) = 1
SELECT id, NTILE(2) OVER (ORDER BY id) FROM orders [batch]
SELECT id FROM orders ORDER BY 1 LIMIT 2
SELECT id AS z FROM orders ORDER BY z LIMIT 2
SELECT user_id AS u, COUNT(*) FROM orders GROUP BY u
SELECT user_id, COUNT(*) FROM orders GROUP BY 1
SELECT user_id, COUNT(*) FROM orders GROUP BY DISTINCT ROLLUP (user_id)
SELECT user_id, COUNT(*) FROM orders GROUP BY ALL
SELECT user_id FROM users UNION DISTINCT SELECT user_id FROM orders
SELECT user_id FROM users EXCEPT ALL SELECT user_id FROM orders
SELECT user_id FROM users INTERSECT ALL SELECT user_id FROM orders
SELECT user_id FROM users MINUS SELECT user_id FROM orders
SELECT * FROM users LEFT SEMI JOIN orders ON users.user_id = orders.user_id
SELECT u.name, t.c FROM users u CROSS JOIN UNNEST(ARRAY[1, 2]) AS t(c)
SELECT u.name, t.c, t.o FROM users u CROSS JOIN UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS t(c, o)
SELECT u.name, t.k, t.v FROM users u CROSS JOIN UNNEST(MAP['a', 1]) AS t(k, v)
SELECT u.name, t.c FROM users u LEFT JOIN UNNEST(ARRAY[u.user_id]) AS t(c) ON TRUE
SELECT name, city FROM users WHERE name LIKE '_n%' ESCAPE '!'
SELECT /*+ BROADCAST(users) */ id FROM orders JOIN users ON orders.user_id = users.user_id
SELECT /*+ SHUFFLE_HASH(users) */ id FROM orders JOIN users ON orders.user_id = users.user_id
SELECT /*+ STATE_TTL('orders' = '1d', 'users' = '2d') */ id FROM orders JOIN users ON orders.user_id = users.user_id
SELECT id FROM orders /*+ OPTIONS('json.ignore-parse-errors' = 'true') */
SELECT PIVOTED.* FROM (SELECT product, amount FROM orders) PIVOT (SUM(amount) FOR product IN ('pen', 'ink')) AS PIVOTED
SELECT * FROM users AS u (a, b, c)
SELECT * FROM (users)
SELECT users.* FROM users
SELECT default_catalog.default_database.users.name FROM default_catalog.default_database.users
SELECT COUNT(*) FROM orders FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00'
SELECT CASE user_id WHEN 1, 2 THEN 'low' ELSE 'high' END FROM users
SELECT GROUPING(city), COUNT(*) FROM users GROUP BY CUBE(city)
SELECT city, name, COUNT(*) FROM users GROUP BY GROUPING SETS (ROLLUP(city, name), CUBE(name))
SELECT city, name, COUNT(*) FROM users GROUP BY city, ROLLUP(name)
SELECT user_id FROM users OFFSET 2 ROWS FETCH NEXT 1 ROW ONLY [batch]
SELECT EXISTS (SELECT 1 FROM orders WHERE orders.user_id = users.user_id) FROM users
SELECT ARRAY(SELECT user_id FROM users) FROM (VALUES (1))
SELECT MULTISET(SELECT user_id FROM users) FROM (VALUES (1))
SELECT MAP(SELECT user_id, name FROM users WHERE user_id IS NOT NULL) FROM (VALUES (1))
SELECT MULTISET[1, 2, 2] FROM (VALUES (1))
SELECT LATERAL_ALIAS + 1 FROM (SELECT 1 AS LATERAL_ALIAS)
SELECT amount AS a, a + 1 AS b FROM orders
SELECT * EXCLUDE (city) FROM users
SELECT * EXCEPT (city) FROM users
SELECT * REPLACE (1 AS city) FROM users
SELECT id FROM orders WHERE ts > '2024-05-01 10:01:00'
SELECT TUMBLE(ts, INTERVAL '1' MINUTE) FROM orders
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start
SELECT window_start, COUNT(*) FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end
SELECT window_start, window_end, SUM(amount) FROM TABLE(TUMBLE((SELECT * FROM orders WHERE amount > 1), DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end
SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP(DATA => TABLE orders, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '10' SECOND, SIZE => INTERVAL '20' SECOND)) GROUP BY window_start, window_end
SELECT window_start, window_end, user_id, COUNT(*) FROM TABLE(SESSION(DATA => TABLE orders PARTITION BY user_id, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '10' SECOND)) GROUP BY window_start, window_end, user_id
SELECT window_start, window_end, COUNT(*) FROM TABLE(CUMULATE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL '10' SECOND, SIZE => INTERVAL '20' SECOND)) GROUP BY window_start, window_end
SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end
SELECT * FROM TO_CHANGELOG(input => TABLE changing)
SELECT id, CURRENT_WATERMARK(ts) IS NULL FROM orders [batch]
SELECT u.name, l.product FROM users u CROSS JOIN LATERAL (SELECT product FROM orders o WHERE o.user_id = u.user_id ORDER BY id DESC LIMIT 1) AS l
SELECT u.name, l.s FROM users u, LATERAL (SELECT SUM(amount) AS s FROM orders o WHERE o.user_id = u.user_id) AS l
SELECT u.name FROM users u WHERE (SELECT COUNT(*) FROM orders o WHERE o.user_id = u.user_id) > 1
SELECT o1.id FROM orders o1 WHERE amount = (SELECT MAX(amount) FROM orders o2 WHERE o2.user_id = o1.user_id)
SELECT name FROM users u WHERE user_id IN (SELECT user_id FROM orders o WHERE o.amount > u.user_id)
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.user_id) OR city = 'Rome'
SELECT user_id IN (SELECT user_id FROM orders) FROM users
SELECT (user_id, name) FROM users
SELECT ROW(user_id, name).f0 FROM users
SELECT CAST(user_id AS STRING) || ':' || name FROM users
SELECT user_id::STRING FROM users
SELECT TRY_CAST(name AS INT) FROM users
SELECT U&'\0041' FROM (VALUES (1))
SELECT _UTF8'a' FROM (VALUES (1))
SELECT 'a' 'b' FROM (VALUES (1))
SELECT DATE '2024-01-01' + INTERVAL '1' MONTH FROM (VALUES (1))
SELECT CEIL(1.2), FLOOR(TIMESTAMP '2024-05-01 10:00:00' TO DAY) FROM (VALUES (1))
SELECT COUNT(*) FROM users, orders
SELECT LAST_VALUE(amount) OVER (PARTITION BY user_id ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
SELECT product, COUNT(*) AS n FROM orders GROUP BY product HAVING n > 1
SELECT SUM(amount) FROM orders HAVING COUNT(*) > 1
SELECT DISTINCT ON (user_id) id FROM orders
SELECT user_id FROM users ORDER BY user_id NULLS LAST LIMIT ALL
