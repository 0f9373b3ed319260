"""The pytest plugin: target files as tests, and the fixture `fencepost`.

pytest loads it by its entry point; nothing else of Fencepost imports pytest.
"""
