"""Nets without PyTorch: their shape, their stored weights, and a forward pass of our own for the CPU."""
