"""What unjudged documents could do, what to judge next, and what judges are worth."""
