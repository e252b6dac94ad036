"""Models that a search can ask: tables, your PyTorch functions, sampled actions."""
