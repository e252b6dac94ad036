"""Legal actions and policies of positions, ragged: as many numbers a position as it has legal actions.

A wide game allows a thousand actions somewhere and a hundred in most positions, so rows as long as the
longest are made for a sampled batch only:

* `rows.py`: padded rows become ragged ones and back;
* `ring.py`: those of all positions that the replay holds, in a ring.
"""
