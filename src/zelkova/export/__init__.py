"""Ships rules and search: from the functions that train an agent to WebAssembly that plays in a browser."""
