"""What every layer builds on and what knows nothing about maps: validation, random keys, blocks, threads."""
