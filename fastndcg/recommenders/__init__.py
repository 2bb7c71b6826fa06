"""Items that users like, recommended items, models that score all items, and which of these count for each user."""
