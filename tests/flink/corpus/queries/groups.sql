SELECT COUNT(*) FROM orders
SELECT COUNT(amount), COUNT(DISTINCT product), COUNT(*) FROM orders
SELECT user_id, COUNT(*) FROM orders GROUP BY user_id
SELECT user_id, SUM(amount), AVG(amount), MIN(amount), MAX(amount) FROM orders GROUP BY user_id
SELECT product, SUM(price), AVG(price), MIN(price), MAX(price) FROM orders GROUP BY product
SELECT product, COUNT(DISTINCT user_id) FROM orders GROUP BY product
SELECT product, SUM(DISTINCT amount), AVG(DISTINCT amount) FROM orders GROUP BY product
SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id HAVING COUNT(*) > 1
SELECT user_id, SUM(amount) FILTER (WHERE product = 'pen') FROM orders GROUP BY user_id
SELECT COUNT(*) FILTER (WHERE amount > 2), COUNT(DISTINCT product) FILTER (WHERE amount > 2) FROM orders
SELECT product, user_id, COUNT(*) FROM orders GROUP BY GROUPING SETS ((product), (user_id), ())
SELECT product, user_id, COUNT(*), GROUPING(product), GROUPING_ID(product, user_id) FROM orders GROUP BY CUBE (product, user_id)
SELECT product, user_id, SUM(amount) FROM orders GROUP BY ROLLUP (product, user_id)
SELECT k, COUNT(x), COUNT(*), SUM(x), AVG(x) FROM numbers GROUP BY k
SELECT k, SUM(y), MIN(y), MAX(y) FROM numbers GROUP BY k
SELECT k, AVG(y) FROM numbers GROUP BY k
SELECT k, SUM(z), AVG(z), MIN(z), MAX(z) FROM numbers GROUP BY k
SELECT k, MIN(w), MAX(w) FROM numbers GROUP BY k
SELECT STDDEV_POP(x), STDDEV_SAMP(x), VAR_POP(x), VAR_SAMP(x) FROM numbers WHERE k = 1
SELECT k, STDDEV_POP(y), VAR_SAMP(y) FROM numbers GROUP BY k
SELECT k, STDDEV(z), VARIANCE(z) FROM numbers WHERE k IS NOT NULL GROUP BY k
SELECT LISTAGG(w) FROM numbers
SELECT LISTAGG(w, ';') FROM numbers
SELECT k, LISTAGG(w, '|') FROM numbers GROUP BY k
SELECT k, LISTAGG(DISTINCT w) FROM numbers WHERE k = 1 GROUP BY k
SELECT k, COLLECT(w) FROM numbers GROUP BY k
SELECT k, FIRST_VALUE(x), LAST_VALUE(x) FROM numbers GROUP BY k
SELECT k, ARRAY_AGG(x) FROM numbers GROUP BY k
SELECT k, ARRAY_AGG(DISTINCT w) FROM numbers WHERE k = 3 OR k = 1 GROUP BY k
SELECT k, JSON_ARRAYAGG(w) FROM numbers GROUP BY k
SELECT k, JSON_ARRAYAGG(w NULL ON NULL) FROM numbers GROUP BY k
SELECT JSON_OBJECTAGG(KEY name VALUE city) FROM users
SELECT JSON_OBJECTAGG(KEY name VALUE city ABSENT ON NULL) FROM users
SELECT k, PERCENTILE(x, 0.5) FROM numbers GROUP BY k
SELECT k, PERCENTILE(y, ARRAY[0.25, 0.75]) FROM numbers WHERE k IS NOT NULL GROUP BY k
SELECT k % 2, COUNT(*) FROM numbers GROUP BY k % 2
SELECT UPPER(product) AS p, SUM(amount) AS s FROM orders GROUP BY UPPER(product)
SELECT CASE WHEN amount > 2 THEN 'many' ELSE 'few' END AS size, COUNT(*) FROM orders GROUP BY CASE WHEN amount > 2 THEN 'many' ELSE 'few' END
SELECT MAX(n) FROM (SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id)
SELECT n, COUNT(*) FROM (SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id) GROUP BY n
SELECT user_id, MAX(ts), MIN(ts) FROM orders GROUP BY user_id
SELECT city, COUNT(*) FROM users GROUP BY city
SELECT SUM(x), SUM(CAST(x AS BIGINT)) FROM numbers
SELECT SUM(CAST(x AS SMALLINT)) FROM numbers WHERE x < 100
SELECT AVG(CAST(x AS TINYINT)), SUM(CAST(x AS TINYINT)) FROM numbers WHERE x < 100
SELECT AVG(x), AVG(CAST(x AS DOUBLE)), AVG(CAST(x AS FLOAT)), AVG(CAST(x AS DECIMAL(10, 1))) FROM numbers WHERE k = 1
SELECT SUM(amount * price) FROM orders
SELECT COUNT(*), k FROM numbers WHERE x IS NOT NULL GROUP BY k HAVING SUM(x) > 10
SELECT BITMAP_TO_STRING(BITMAP_BUILD_AGG(amount)) FROM orders WHERE amount IS NOT NULL
SELECT product, SUM(amount) * 2 + COUNT(*) FROM orders GROUP BY product
SELECT DISTINCT COUNT(*) FROM orders GROUP BY product
SELECT user_id, product, COUNT(*) FROM orders GROUP BY user_id, product
SELECT COUNT(DISTINCT user_id), COUNT(DISTINCT product), SUM(DISTINCT amount) FROM orders
SELECT SUM(a) FROM (SELECT SUM(amount) AS a FROM orders GROUP BY user_id)
SELECT MIN(product), MAX(product) FROM orders
SELECT b, COUNT(*) FROM t GROUP BY b
SELECT COUNT(DISTINCT r), COUNT(DISTINCT ts), COUNT(DISTINCT dc) FROM t
SELECT MIN(dt), MAX(ts6), MIN(tm), MAX(ltz) FROM t
SELECT MAX(b), MIN(b) FROM t WHERE FALSE
SELECT 1 FROM orders GROUP BY user_id
SELECT SUM(amount) FROM orders WHERE id > 100
SELECT user_id FROM orders WHERE id > 100 GROUP BY user_id
SELECT k, JSON_ARRAYAGG(y) FROM numbers GROUP BY k
SELECT JSON_OBJECTAGG(KEY w VALUE y) FROM numbers WHERE w IS NOT NULL AND x = 7
SELECT k, COUNT(DISTINCT 1), COUNT(DISTINCT 'a') FILTER (WHERE x > 10) FROM numbers GROUP BY k
SELECT COLLECT(c), LISTAGG(c) FROM nothing
