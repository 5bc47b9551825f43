"""Algorithms: generators that yield requests and do no I/O of their own."""
