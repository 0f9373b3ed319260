"""The bottom layer: untrusted text made safe, names and places in sentences, limits and errors."""
