"""States of keys whose entries expire: a value, a list, a map."""
