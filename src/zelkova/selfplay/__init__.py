"""Plays many games at once with one network and yields finished episodes."""
