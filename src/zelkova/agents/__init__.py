"""Network, model and search policy together: what picks actions for a batch of positions."""
