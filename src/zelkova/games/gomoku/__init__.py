"""Gomoku: stones on an empty board; a line of five of one's own wins."""
