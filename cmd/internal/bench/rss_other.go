//go:build !unix

package main

import "os"

// shrink has nothing to do here.
func shrink() {}

// maxRSS is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }
