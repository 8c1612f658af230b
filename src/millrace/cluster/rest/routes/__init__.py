"""The operations, a family a file: each names its path, its parameters and the types of request and answer."""
