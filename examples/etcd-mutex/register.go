package main

import (
	"encoding/binary"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// register is a fenced register: a key whose content is the mark and the token, 8 bytes each, and
// the value. etcd compares contents byte by byte, so a lower mark is a lower content.
type register struct {
	client  *clientv3.Client
	timeout time.Duration
}

func newRegister(endpoints []string, timeout time.Duration) *register {
	return &register{connect(endpoints, timeout), timeout}
}

// newer says that a token is above the register's mark.
func (r *register) newer(resource string, token int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(key(resource)), "<", bytes(token))
}

// write writes in a transaction, if the fence holds in it.
func (r *register) write(resource string, token int64, value string, fence clientv3.Cmp) error {
	ctx, cancel := within(r.timeout)
	defer cancel()
	key, mark := key(resource), bytes(token)
	done, err := r.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(key), ">", 0), fence).
		Then(clientv3.OpPut(key, mark+mark+value)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil || done.Succeeded {
		return err
	}
	if done.Responses[0].GetResponseRange().Count == 0 {
		return failed{"no key for " + resource}
	}
	return errStale
}

func (r *register) read(resource string) (any, int64, error) {
	ctx, cancel := within(r.timeout)
	defer cancel()
	found, err := r.client.Get(ctx, key(resource))
	if err != nil {
		return nil, 0, err
	}
	if len(found.Kvs) == 0 {
		return nil, 0, failed{"no key for " + resource}
	}
	content := found.Kvs[0].Value
	if len(content) < 16 { // before the first write
		return nil, -1, nil
	}
	return string(content[16:]), int64(binary.BigEndian.Uint64(content[8:16])), nil
}

func key(resource string) string { return "fencepost-register/" + resource }

func bytes(token int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(token)))
}
