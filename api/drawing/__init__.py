"""Pictures: who has them drawn, and the tasks that draw them."""
