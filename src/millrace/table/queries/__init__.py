"""The Table API's expressions and queries, and the plans that they become."""
