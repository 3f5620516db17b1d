"""The commands, called as a person calls them."""
