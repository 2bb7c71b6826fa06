"""Means with their uncertainty: intervals, tests of differences, segments, and systems compared."""
