"""Work on a Ray cluster: the connection, its nodes, the code that travels to them, and actors that may die at any time.

Ray itself is an optional dependency (the extra `ray`) and is imported only when a cluster is asked for.
"""
