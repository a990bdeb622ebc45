"""The parts of `StoreConformance`, one file for each theme of the contract."""
