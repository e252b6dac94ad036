"""A person at the board: a session as a conversation of lines, and its terminal."""
