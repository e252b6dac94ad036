"""How strong is it: players, matches, Elo ratings, and checks against perfect play."""
