"""OVER windows: which rows each call sees, and what it makes of them."""
