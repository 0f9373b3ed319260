# etcd, which listens inside of the container only, and the API server in front of it. Who has the token may do
# everything; without one, the API server would let nobody in. Nothing else of a cluster runs.
set -eu
etcd --log-level error &
echo "only-for-tests,tester,tester,system:masters" > tokens.csv
exec kube-apiserver \
    --etcd-servers=http://127.0.0.1:2379 \
    --secure-port=6443 --cert-dir=certificates \
    --authorization-mode=AlwaysAllow --token-auth-file=tokens.csv \
    --service-account-issuer=https://fencepost \
    --service-account-key-file=/etc/kubernetes/service-accounts.key \
    --service-account-signing-key-file=/etc/kubernetes/service-accounts.key \
    --disable-admission-plugins=ServiceAccount \
    --service-cluster-ip-range=10.0.0.0/24 \
    --enable-priority-and-fairness=false
