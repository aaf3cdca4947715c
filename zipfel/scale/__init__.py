"""Work on several machines or processes, by Ray: the extra `scale`. Nothing here is imported unless it is asked for."""
