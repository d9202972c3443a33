"""The client as coroutines: what is edited. `make docs` makes `graphkin/client/synchronous/` from it."""
