"""Rankings: the checked arrays that every input becomes."""
