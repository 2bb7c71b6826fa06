"""Results: values by query, their aggregates and tables."""
