"""``millrace test``: programs run with a recorded input, and their results compared with recorded ones."""
