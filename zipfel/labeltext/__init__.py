"""Names of labels found in texts: words become stems, names a trie; one pass over a document gives evidence."""

from zipfel.labeltext.matcher import NameMatcher
from zipfel.labeltext.matches import COLUMNS, Matches
from zipfel.labeltext.names import Name

__all__ = ["COLUMNS", "Matches", "Name", "NameMatcher"]
