"""Where rows lie: options, columns in files and folders, partitions."""
