"""How many new classes there are, and which rows they hold: from the graph, without a label of any of them.

Communities of the graph of neighbours are candidates for classes. The labels say at which resolution, and which of
them are known; labels that are missing say which are new.
"""

from newfound.discovery.class_tree import ClassTree
from newfound.discovery.discover import Discovery, discover
from newfound.discovery.new_groups import Evidence
from newfound.discovery.selection import Selection

__all__ = ["ClassTree", "Discovery", "Evidence", "Selection", "discover"]
