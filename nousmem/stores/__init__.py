"""Where entries live: the contract and the stores that ship with nousmem."""
