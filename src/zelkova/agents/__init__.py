"""Who picks actions for a batch of positions: search with a network, and the reference opponent UCT."""
