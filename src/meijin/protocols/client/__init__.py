"""Other people's engines as agents: `gtp`, `usi`, `ugi`, `cecp`, `nboard` and `pipe`.

    gtp("gnugo --mode gtp --level 1 --chinese-rules --positional-superko")
    usi("fairy-stockfish", variant="minishogi", nodes=10000)

An engine that dies, hangs, floods its output or moves illegally raises `EngineError`, which names it, and is killed;
in a match that costs it the game. The next thought starts it again.
"""
