#!/bin/sh
# Runs a node of a Galera cluster: galera.sh NAME
#
# At its first start, galera-1 begins the cluster, and the others copy its data. A node that restarts
# joins the others. If all were killed, each has a note of the group (gvwstate.dat), and they form it again
# once all are back; the node that has most gives it to the others. A node that has left in an orderly way
# and after all others has noted that too (safe_to_bootstrap), and begins the cluster again.
set -e
name=$1 state=/var/lib/mysql/grastate.dat
port=${GALERA_PORT:-4567} missed=${GALERA_PORT_OF_MISSED:-4568} copies=${GALERA_PORT_OF_COPIES:-4444}
# Galera's cache of what others may miss is 128 MB by default. A node waits for the group longer than the
# default of 30 s, because a killed node that it needs may come back only then.
provider="gcache.size=16M;pc.wait_prim_timeout=PT2M;gmcast.listen_addr=tcp://0.0.0.0:$port"
set -- --bind-address=0.0.0.0 --skip-name-resolve --max-connections=200 \
    --binlog-format=ROW --innodb-autoinc-lock-mode=2 --innodb-flush-log-at-trx-commit="${GALERA_FLUSHING:-1}" \
    --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --wsrep-cluster-name=fencepost \
    --wsrep-cluster-address="$GALERA_GROUP" --wsrep-node-name="$name" --wsrep-node-address="$name:$port" \
    --wsrep-sst-method=rsync --wsrep-sst-receive-address="$name:$copies" \
    --wsrep-provider-options="$provider;ist.recv_addr=$name:$missed;ist.recv_bind=0.0.0.0:$missed"
if [ ! -e $state ]; then
    [ "$name" != galera-1 ] || set -- "$@" --wsrep-new-cluster
else
    log=$(mktemp)
    mariadbd --wsrep-recover --log-error="$log" "$@"
    set -- "$@" --wsrep-start-position="$(sed -n 's/.*WSREP: Recovered position: *//p' "$log" | tail -n 1)"
    ! grep -q '^safe_to_bootstrap: 1' $state || set -- "$@" --wsrep-new-cluster
fi
exec mariadbd "$@"
