// Command hyperkube is every program of a one-node Kubernetes cluster in one binary: etcd, CoreDNS and the components
// of Kubernetes. The first argument, or the name that it is called by, picks one.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coredns/coredns/coremain"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func(){
	"coredns":                 coremain.Run,
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllermanager.NewControllerManagerCommand),
	"kube-proxy":              component(proxy.NewProxyCommand),
	"kube-scheduler":          component(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 component(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
}

func component(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func main() {
	if run, ok := programs[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := programs[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	names := slices.Sorted(maps.Keys(programs))
	fmt.Fprintf(os.Stderr, "usage: hyperkube %s [flags]\n", strings.Join(names, "|"))
	os.Exit(2)
}
