SELECT id FROM orders WHERE amount > ALL (SELECT user_id FROM users WHERE user_id IS NOT NULL)
SELECT id FROM orders WHERE amount >= ALL (SELECT user_id FROM users)
SELECT id FROM orders WHERE amount > ALL (SELECT user_id FROM users WHERE user_id > 100)
SELECT id FROM orders WHERE amount > ANY (SELECT user_id FROM users WHERE user_id > 100)
SELECT id FROM orders WHERE amount < ANY (SELECT user_id FROM users)
SELECT id FROM orders WHERE amount <= SOME (SELECT user_id FROM users WHERE city = 'Berlin')
SELECT id FROM orders WHERE amount = ANY (SELECT user_id FROM users)
SELECT id FROM orders WHERE amount = ALL (SELECT user_id FROM users WHERE user_id = 2)
SELECT id FROM orders WHERE amount = ALL (SELECT user_id FROM users WHERE user_id > 1)
SELECT id FROM orders WHERE amount = ALL (SELECT user_id FROM users WHERE user_id > 100)
SELECT id FROM orders WHERE amount <> ANY (SELECT user_id FROM users WHERE user_id = 2)
SELECT id FROM orders WHERE amount <> SOME (SELECT user_id FROM users)
SELECT id FROM orders WHERE amount <> SOME (SELECT user_id FROM users WHERE user_id > 100)
SELECT id FROM orders WHERE amount <> ALL (SELECT user_id FROM users WHERE user_id IS NOT NULL)
SELECT id FROM orders WHERE amount <> ALL (SELECT user_id FROM users)
SELECT id FROM orders WHERE NOT (amount > ALL (SELECT user_id FROM users WHERE user_id IS NOT NULL))
SELECT id FROM orders WHERE NOT (amount < ANY (SELECT user_id FROM users))
SELECT id FROM orders WHERE NOT (amount > ALL (SELECT user_id FROM users WHERE user_id > 100))
SELECT id FROM orders WHERE id < 3 OR amount > ALL (SELECT user_id FROM users WHERE user_id IS NOT NULL)
SELECT id FROM orders o WHERE amount >= ALL (SELECT amount FROM orders i WHERE i.user_id = o.user_id)
SELECT id FROM orders o WHERE amount > ANY (SELECT amount FROM orders i WHERE i.user_id = o.user_id)
SELECT id FROM orders o WHERE amount <> ANY (SELECT amount FROM orders i WHERE i.user_id = o.user_id)
SELECT id FROM orders o WHERE amount = ALL (SELECT amount FROM orders i WHERE i.user_id = o.user_id)
SELECT id, amount > ALL (SELECT user_id FROM users) FROM orders
SELECT id, amount > ANY (SELECT user_id FROM users) FROM orders
SELECT id, amount = ANY (SELECT user_id FROM users) FROM orders
SELECT id, amount = ALL (SELECT user_id FROM users) FROM orders
SELECT id, amount <> ANY (SELECT user_id FROM users) FROM orders
SELECT id, amount <> ALL (SELECT user_id FROM users) FROM orders
SELECT id, amount > ALL (SELECT k FROM nothing), amount > ANY (SELECT k FROM nothing) FROM orders
SELECT id, amount = ALL (SELECT k FROM nothing), amount <> ANY (SELECT k FROM nothing) FROM orders
SELECT id, amount < ALL (SELECT x FROM numbers WHERE x IS NOT NULL) FROM orders
SELECT id FROM orders WHERE price < ALL (SELECT z FROM numbers WHERE z > 1)
SELECT id FROM orders WHERE product > ANY (SELECT w FROM numbers)
SELECT user_id FROM orders GROUP BY user_id HAVING SUM(amount) >= ALL (SELECT SUM(amount) FROM orders WHERE user_id IS NOT NULL GROUP BY user_id)
SELECT id FROM orders WHERE amount > ALL (1, 2)
SELECT id FROM orders WHERE amount > ANY (1, 2)
SELECT id FROM orders WHERE amount = SOME (1, 2)
SELECT id FROM orders WHERE amount <> ALL (1, 2)
SELECT id FROM orders WHERE amount <> ANY (1, 2)
SELECT id FROM orders WHERE amount = ALL (1, 2)
SELECT id, amount >= ALL (1, NULL) FROM orders
SELECT id FROM orders WHERE amount > ALL (VALUES (1), (2))
SELECT k FROM changing WHERE a >= ALL (SELECT a FROM changing)
SELECT k, a > ANY (SELECT x FROM numbers) FROM changing
