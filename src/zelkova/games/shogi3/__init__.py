"""Three-player shogi: three armies on one board; the last with a king, or a king that arrives, wins."""
