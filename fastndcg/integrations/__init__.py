"""Adapters that evaluate metrics inside the training loops of other libraries."""

NEEDS = {  # the package without which a module cannot be imported
    "sentence_transformers": "sentence_transformers",
    "torch": "torchmetrics",
}
