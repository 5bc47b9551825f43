"""The way to the servers: one kazoo client, its threads, and the requests that travel over it."""
