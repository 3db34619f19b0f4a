"""Other people's programs: `engine` offers our agents to their boards, `client` makes agents of their engines."""
