"""The server of the web app: `meijin serve`.

The server process speaks HTTP and WebSocket and keeps tables in SQLite; it never runs a rule or an agent itself. Those
run in worker processes, where they may hang or crash without taking the server with them.

| module | what is in it |
|---|---|
| `settings` | what the person who starts the server decides |
| `schema`, `schema_jobs`, `messages` | every message, in and out, for REST and WebSocket |
| `app`, `routes`, `socket` | the application, its REST routes and its WebSocket |
| `arena`, `training`, `designer`, `jobs` | tournaments, training runs, games that are being written |
| `guard` | who may ask: host, origin, token, sizes, rates |
| `tables`, `table`, `clock`, `table_store` | live games and where they are kept |
| `lanes`, `wire`, `analyses`, `catalogue` | worker processes, as the server sees them |
| `work` | worker processes, from inside |
"""
