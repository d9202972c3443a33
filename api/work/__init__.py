"""Who does what a request asks for: classes of work with queues of their own, and processes that can be stopped."""
