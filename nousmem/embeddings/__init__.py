"""Text to vectors: the contract and the embedders that ship with nousmem."""
