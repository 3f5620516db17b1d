"""The set-up: what it is locked to, and what it says where it cannot go on."""
