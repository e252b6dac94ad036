"""The compiled part of the search: trees in flat arrays, selection rules, Q transforms, one simulation."""
