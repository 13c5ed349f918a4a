"""Ground that every layer stands on and that knows nothing of maps: types, validation, random keys, blocks, threads."""
