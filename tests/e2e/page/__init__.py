"""A package, so that package-scoped fixtures such as the browser span all its tests."""
