"""A package, so that a fixture can live as long as its tests: the browser does."""
