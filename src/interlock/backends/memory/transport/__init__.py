"""What only memory needs: the records of a process, and their mutex."""
