#!/bin/sh
# Runs PostgreSQL behind PgBouncer, which listens at PostgreSQL's usual port: see pooled.ini.
set -eu
"$@" -p 5433 &
until pg_isready --quiet --port=5433; do
    sleep 0.05
done
exec pgbouncer /pooled.ini
