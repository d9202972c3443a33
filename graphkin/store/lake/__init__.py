"""Lakes: one generation each, as files that other programs read too, on any file system that fsspec knows."""
