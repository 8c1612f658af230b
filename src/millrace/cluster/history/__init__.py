"""Jobs that have ended: their archives, and what the history server shows of them."""
