"""``millrace doctor``: whether this machine has what Millrace needs, and what to do about what it has not."""
