"""Which tables a rule is for, where they go, and what becomes of their rows."""
