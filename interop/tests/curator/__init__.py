"""Curator, the peer on ZooKeeper."""
