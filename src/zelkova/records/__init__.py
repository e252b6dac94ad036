"""Games in files: text, JSON records and arrays of self-play become played games, or are refused by name."""
