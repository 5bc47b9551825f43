"""What a client does behind its faces: threads, tasks, forks, logging; never seen by users."""
