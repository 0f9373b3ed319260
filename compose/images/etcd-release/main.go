// etcd or etcdctl, by the name that the program is called by.
package main

import (
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if filepath.Base(os.Args[0]) == "etcdctl" {
		ctlv3.MustStart()
		return
	}
	etcdmain.Main(os.Args)
}
