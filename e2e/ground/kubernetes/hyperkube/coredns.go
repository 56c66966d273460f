package main

import (
	"github.com/coredns/coredns/core/dnsserver"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

// The plugins that are linked in, in the order in which they see a query.
func init() {
	dnsserver.Directives = []string{"bind", "errors", "cache", "kubernetes", "template"}
}
