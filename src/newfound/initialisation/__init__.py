"""Where the components begin: a pure function of the rows, their labels and one frozen record of settings."""

from newfound.initialisation.clustering import cluster
from newfound.initialisation.components import Assignment, Images, Rows, feature_sets, initialise, projected
from newfound.initialisation.pu import FeatureSets, estimate_class_probabilities

__all__ = [
    "Assignment",
    "FeatureSets",
    "Images",
    "Rows",
    "cluster",
    "estimate_class_probabilities",
    "feature_sets",
    "initialise",
    "projected",
]
