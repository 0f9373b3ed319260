#!/bin/sh
# Starts Patroni once a URL answers: patroni.sh URL
#
# Patroni sleeps five seconds if it finds no etcd, and whoever starts first with an empty folder
# creates a new cluster. So the first server waits for etcd's /health, and the other one for the
# first one's /primary.
until python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=1)' "$1" 2>/dev/null; do
    sleep 0.1
done
exec patroni
