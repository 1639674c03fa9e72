"""Who the neighbours of a row are, and what that tells: features, a graph of rows, its eigenvectors, label propagation.

Rows that have many near neighbours in common are joined in a graph. Its eigenvectors are coordinates in which groups of
any shape become round and apart (spectral clustering: Ng, Jordan, Weiss 2002); labels propagate along its edges.
"""

from newfound.graph.hog import hog
from newfound.graph.neighbours import Graph, neighbour_graph
from newfound.graph.projection import pca_projection, whitened
from newfound.graph.propagation import propagate
from newfound.graph.spectral import normalise, spectral_embedding

__all__ = [
    "Graph",
    "hog",
    "neighbour_graph",
    "normalise",
    "pca_projection",
    "propagate",
    "spectral_embedding",
    "whitened",
]
