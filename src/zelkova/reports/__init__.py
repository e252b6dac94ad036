"""What a run looks like: one HTML file with pictures, figures in words, and a board beside its search tree."""
