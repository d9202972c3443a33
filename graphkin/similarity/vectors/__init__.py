"""Items that consist of a dense vector, such as an embedding."""
