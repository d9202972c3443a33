"""What is learned from: read from the API, or from a folder that was fetched."""
