"""Ground that every layer stands on and that knows nothing of maps: validation, random keys, blocks, threads."""
