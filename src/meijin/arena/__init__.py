"""Agents against agents: matches and what they show."""
