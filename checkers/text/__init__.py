"""The ground floor: text of strangers made safe, names and places in sentences, limits and errors."""
