"""Programs in Python that obey lines as the foreign ones do."""
