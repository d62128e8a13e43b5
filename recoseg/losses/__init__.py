"""Tensors in, one differentiable number out."""
