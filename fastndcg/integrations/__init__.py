"""Adapters that evaluate metrics inside the training loops of other libraries."""
