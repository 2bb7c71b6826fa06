"""Text files: TREC, svmlight, JSON and CSV."""
