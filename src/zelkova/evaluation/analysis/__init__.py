"""What a set of played games tells: who wins from which seat, what a lead is worth, how games begin."""
