//go:build !unix

package stdio

import "os"

func forwarded() []os.Signal { return []os.Signal{os.Interrupt} }

// fromTerminal: the console sends an interrupt to all of its processes.
func fromTerminal(os.Signal) bool { return true }
