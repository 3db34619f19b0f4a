"""What runs in worker processes: rules, agents, records and pictures, tournaments, training. See `worker`."""
