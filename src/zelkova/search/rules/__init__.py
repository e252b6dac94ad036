"""Selection rules and what they are made of: PUCT, Gumbel, regularised, proven results, Q transforms."""
