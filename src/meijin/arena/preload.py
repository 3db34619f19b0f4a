"""What the fork server imports last: nothing but an effect, as it began with Ctrl-C blocked (see `pool`)."""

from meijin.arena.worker import heed_interrupts

heed_interrupts()  # or whatever anybody forks from it would never hear of Ctrl-C
