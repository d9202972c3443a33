"""Items that are known by a dense vector each, such as an embedding."""
