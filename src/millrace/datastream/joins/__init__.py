"""Two streams by key: window joins, co-groups and interval joins, from handle to function."""
