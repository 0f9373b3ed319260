#!/bin/sh
# Runs PostgreSQL behind PgBouncer, which listens at PostgreSQL's usual port: see pooled.ini.
set -eu
# A server that was killed leaves its lock files, and its process number may belong to another process now.
rm -f "$PGDATA/postmaster.pid" /var/run/postgresql/.s.PGSQL.5433.lock
"$@" -p 5433 &
until pg_isready --quiet --port=5433; do
    sleep 0.05
done
exec pgbouncer /pooled.ini
