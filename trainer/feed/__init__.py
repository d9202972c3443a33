"""Sources of training data: the API of a server, or an offline folder with data from a server or a store."""
