SELECT o.id, u.name FROM orders o JOIN users u ON o.user_id = u.user_id
SELECT o.id, u.name FROM orders o LEFT JOIN users u ON o.user_id = u.user_id
SELECT o.id, u.name FROM orders o RIGHT JOIN users u ON o.user_id = u.user_id
SELECT o.id, u.name FROM orders o FULL JOIN users u ON o.user_id = u.user_id
SELECT o.id, u.name FROM orders o, users u WHERE o.user_id = u.user_id AND u.city = 'Berlin'
SELECT o.id, u.name FROM orders o CROSS JOIN users u WHERE o.id < 3
SELECT o.id, u.name FROM orders o JOIN users u ON o.user_id = u.user_id AND o.amount > u.user_id
SELECT o.id, u.name FROM orders o LEFT JOIN users u ON o.user_id = u.user_id AND o.amount > 2
SELECT o.id, u.name FROM orders o FULL JOIN users u ON o.user_id = u.user_id AND o.amount > 2
SELECT o.id, u.name FROM orders o LEFT JOIN users u ON o.user_id = u.user_id WHERE u.name IS NULL
SELECT * FROM orders NATURAL JOIN users
SELECT id, name FROM orders JOIN users USING (user_id)
SELECT a.id, b.id FROM orders a JOIN orders b ON a.product = b.product AND a.id < b.id
SELECT u1.name, u2.name FROM users u1 JOIN users u2 ON u1.city = u2.city AND u1.user_id <> u2.user_id
SELECT o.id, u.name, c.page FROM orders o JOIN users u ON o.user_id = u.user_id JOIN clicks c ON c.user_id = u.user_id WHERE o.id < 4
SELECT o.id, u.name, c.page FROM orders o LEFT JOIN users u ON o.user_id = u.user_id LEFT JOIN clicks c ON c.user_id = o.user_id WHERE o.id > 5
SELECT id FROM orders WHERE user_id IN (SELECT user_id FROM users WHERE city = 'Berlin')
SELECT id FROM orders WHERE user_id NOT IN (SELECT user_id FROM users WHERE user_id IS NOT NULL)
SELECT id FROM orders WHERE user_id NOT IN (SELECT user_id FROM users)
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.user_id AND o.amount > 3)
SELECT name FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.user_id)
SELECT u.name, s.total FROM users u JOIN (SELECT user_id, SUM(amount) AS total FROM orders GROUP BY user_id) s ON u.user_id = s.user_id
SELECT u.name, s.total FROM users u LEFT JOIN (SELECT user_id, SUM(amount) AS total FROM orders GROUP BY user_id) s ON u.user_id = s.user_id
SELECT u.city, SUM(o.amount) FROM orders o JOIN users u ON o.user_id = u.user_id GROUP BY u.city
SELECT u.city, COUNT(DISTINCT o.product) FROM users u LEFT JOIN orders o ON o.user_id = u.user_id GROUP BY u.city
SELECT o.id, c.page FROM orders o JOIN clicks c ON o.user_id = c.user_id AND c.ts BETWEEN o.ts - INTERVAL '10' SECOND AND o.ts
SELECT o.id, c.page FROM orders o LEFT JOIN clicks c ON o.user_id = c.user_id AND c.ts BETWEEN o.ts - INTERVAL '5' SECOND AND o.ts + INTERVAL '5' SECOND
SELECT o.id, c.page FROM orders o FULL JOIN clicks c ON o.user_id = c.user_id AND c.ts >= o.ts - INTERVAL '10' SECOND AND c.ts < o.ts
SELECT o.id, o.price, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON r.currency = CASE WHEN o.id < 6 THEN 'EUR' ELSE 'JPY' END [streaming]
SELECT o.id, r.rate FROM (SELECT *, CASE product WHEN 'pen' THEN 'EUR' WHEN 'ink' THEN 'JPY' ELSE 'GBP' END AS currency FROM orders) o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON r.currency = o.currency [streaming]
SELECT n.k, x.k FROM numbers n LEFT JOIN numbers x ON n.x = x.x AND n.k = x.k
SELECT a.k, b.k FROM numbers a JOIN numbers b ON a.k IS NOT DISTINCT FROM b.k AND a.w = b.w
SELECT a.x FROM numbers a JOIN numbers b ON a.x = b.y
SELECT a.x, b.z FROM numbers a JOIN numbers b ON a.z = b.z
SELECT u.name, p.product FROM users u, LATERAL (SELECT product FROM orders o WHERE o.user_id = u.user_id) AS p
SELECT u.name, p.product FROM users u LEFT JOIN LATERAL (SELECT product FROM orders o WHERE o.user_id = u.user_id) AS p ON TRUE
SELECT o.id, n.a FROM orders o LEFT JOIN nothing n ON o.id = n.k
SELECT o.id, n.a FROM nothing n FULL JOIN orders o ON o.id = n.k WHERE o.id < 3
SELECT u.name FROM users u WHERE u.user_id > (SELECT AVG(user_id) FROM orders)
SELECT u.name FROM users u WHERE u.user_id IN (SELECT user_id FROM orders) AND u.user_id NOT IN (SELECT user_id FROM clicks WHERE user_id IS NOT NULL AND page = '/pen')
SELECT a.name, b.c FROM users a JOIN changing b ON a.user_id = b.k
SELECT a.name, b.c FROM users a LEFT JOIN changing b ON a.user_id = b.k
SELECT a.name, b.c FROM users a FULL JOIN changing b ON a.user_id = b.k
SELECT b.k, b.a FROM changing b WHERE b.k IN (SELECT user_id FROM users WHERE city = 'Berlin')
SELECT name FROM users WHERE user_id NOT IN (SELECT k FROM changing WHERE k IS NOT NULL)
SELECT a.k, a.c, b.c FROM changing a JOIN changing b ON a.k = b.k
