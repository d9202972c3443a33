"""Lakes: one generation each, as files that other programs can read, on any file system that fsspec supports."""
