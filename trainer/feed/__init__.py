"""Sources of training data: the API of a server, or a folder that was fetched from it."""
