"""Where workers of a run live: in this process, in processes of this machine, or on a Ray cluster."""
