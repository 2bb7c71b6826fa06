"""Reports of a comparison: text formats, plots, and a self-contained HTML page."""
