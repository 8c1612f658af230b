"""OVER windows: the rows that each call sees, and the values computed from them."""
