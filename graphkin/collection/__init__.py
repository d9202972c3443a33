"""Operations on one open generation, such as search, query, clusters and samples."""
