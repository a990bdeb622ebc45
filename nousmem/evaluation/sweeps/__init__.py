"""Many settings over the same candidates: grids, samplers, the compiled engine, results."""
