"""Worker processes, files and caches: code that every other package may use."""
