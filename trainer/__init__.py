"""Learning from the store over HTTP: the public client, and the trainer that it feeds."""
