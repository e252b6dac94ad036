"""Connect four: discs fall into columns; a line of four of one's own wins."""
