"""The generations a server holds open, what it computes once for each, and what it knows to be damaged."""
