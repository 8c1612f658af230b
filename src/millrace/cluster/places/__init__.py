"""Where the processes of a cluster find each other and what they leave behind: files in a private folder."""
