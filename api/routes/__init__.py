"""Routes by subject. Each module has a `router` and imports no other route module."""
