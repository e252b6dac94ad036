"""Players that need no network: what learning is measured against."""
