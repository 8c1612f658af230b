"""Who holds jobs: a cluster, a program in the foreground."""
