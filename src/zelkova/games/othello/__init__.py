"""Othello: discs enclosed in a line change their colour; most discs at the end win."""
