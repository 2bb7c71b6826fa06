"""Models that score every user against every item: embeddings, and any function. Ranks are counted, not sorted."""
