"""Lets the tests of this folder import its modules of cases and the slow reference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
