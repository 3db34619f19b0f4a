"""The web app: its pages, its server, and games compiled for browsers."""
