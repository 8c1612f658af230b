"""``millrace cluster``, and what runs programs for it."""
