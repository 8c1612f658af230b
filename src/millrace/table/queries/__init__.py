"""The Table API's expressions and queries, and what they are as plans."""
