"""What the commands do; `manifolia.cli` declares them."""
