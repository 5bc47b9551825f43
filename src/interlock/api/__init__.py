"""What users touch: the two faces of each thing, side by side."""
