"""Real servers, faults, and the simulation that explores the algorithms."""
