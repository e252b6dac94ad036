"""2048: tiles slide and equal ones merge; after every move chance adds a tile."""
