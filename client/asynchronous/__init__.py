"""The client as coroutines: what is edited. `make docs` makes `client/synchronous/` from it."""
