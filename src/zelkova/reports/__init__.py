"""What a run looks like: one HTML page, figures in words, a board beside its search tree."""
