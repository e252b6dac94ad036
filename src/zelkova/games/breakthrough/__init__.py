"""Breakthrough: pawns step forward and capture diagonally; the first to reach the far row wins."""
