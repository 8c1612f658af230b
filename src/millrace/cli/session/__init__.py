"""``millrace session``: a Spark that stays for a while, for the programs of one user."""
