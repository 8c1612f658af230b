"""What stands in FROM: tables, joins, windows, functions."""
