"""The contract, proved."""
