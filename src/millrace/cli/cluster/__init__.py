"""``millrace cluster`` and ``session``, and the processes that run submitted programs."""
