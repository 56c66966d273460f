// Tells what kstatus makes of an object, by which Flux judges whether it is ready: JSON on its standard input,
// "<status> <message>" on its standard output.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(text); err != nil {
		return err
	}
	result, err := status.Compute(&object)
	if err != nil {
		return err
	}
	_, err = fmt.Println(result.Status, result.Message)
	return err
}
