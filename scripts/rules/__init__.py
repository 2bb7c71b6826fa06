"""The rules of the code base, one module per subject. `scripts/check_rules.py` runs them."""
