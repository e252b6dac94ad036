"""The order of the files: two processes end together when the longest files come first."""

import pytest

LONG = (
    "test_train_learned.py",  # compiles the search
    "games/test_contract.py",  # compiles every game's rules: two processes begin with different code
    "test_offline.py",
    "test_known_values.py",
    "test_learned_hostile.py",
    "cli/test_train.py",
    "test_train.py",
)
"""Files of tests that take longest, longest first; `pytest --durations=50` shows where time goes."""


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Put the long files first."""
    places = {config.rootpath / "tests" / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))
