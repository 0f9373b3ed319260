#!/bin/sh
# Runs one of two PostgreSQL servers that replicate: replicated.sh ROLE LINK [OPTION OF postgres]…
#
# ROLE is primary or standby at the first start. LINK is a conninfo that leads to the primary,
# also after a failover. A standby copies the primary's data at its first start. So does an old
# primary that restarts after a failover: its own data has diverged. In any other case a server
# starts with the data on its disk.
set -e
role=$1 link=$2
shift 2

primary_answers() {
    pg_isready --quiet --timeout=1 --dbname="$link"
}

if [ ! -e "$PGDATA/standby.signal" ]; then
    until primary_answers || [ "$role" = primary ]; do
        sleep 0.05
    done
    if primary_answers; then
        find "$PGDATA" -mindepth 1 -delete
        pg_basebackup --pgdata="$PGDATA" --dbname="$link" --checkpoint=fast --no-sync --no-password
        touch "$PGDATA/standby.signal"
    fi
fi
# syncfs: see compose/postgres.yaml. Both servers need the same max_connections.
exec postgres -D "$PGDATA" -c "primary_conninfo=$link application_name=$role" \
    -c max_connections=200 -c recovery_init_sync_method=syncfs -c wal_retrieve_retry_interval=100ms "$@"
