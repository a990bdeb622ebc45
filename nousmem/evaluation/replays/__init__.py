"""Replay: the queries of a sweep asked one after another, each recall moving the clocks."""
