// What programs in Go do with client-go, controller-runtime and Flux's server-side apply.
package main

import "coppice.dev/test/clients/checks"

func main() {
	var all []checks.Check
	for _, part := range [][]checks.Check{typed, discovered, informed, elected, recorded, controlled, fluxed} {
		all = append(all, part...)
	}
	checks.Run(all...)
}
