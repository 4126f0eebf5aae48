// Command generate writes what is made from something else: the reference of the command line, man pages and completions
// (docs.go), the table of prices (prices.go), and the list of what is in a release (sbom.go).
package main

import (
	"fmt"
	"os"
)

const usage = `usage: generate docs [DIR]
       generate prices -models-dev DIR -models-dev-source TEXT -litellm FILE -litellm-source TEXT
       generate sbom NAME VERSION CREATED PROGRAM…`

func main() {
	what, args := "", os.Args[1:]
	if len(args) > 0 {
		what, args = args[0], args[1:]
	}
	var err error
	switch {
	case what == "docs" && len(args) < 2:
		err = docs(append(args, "docs")[0])
	case what == "prices":
		err = pricesFrom(args)
	case what == "sbom" && len(args) > 3:
		err = sbom(args[0], args[1], args[2], args[3:])
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "generate %s: error: %v\n", what, err)
		os.Exit(1)
	}
}
