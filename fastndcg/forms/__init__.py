"""The forms of data: which reader each value has, and how truth and predictions of these forms go together."""
